//! Products of a matrix with cells, for each instruction set.
//!
//! A [`Kernel`] computes output i as the sum over j of coefficient (i, j) times input j, byte by
//! byte in GF(2^8). All kernels compute the same bytes; [`Scalar`] is the simple reference.
//!
//! | kernel | how a byte is multiplied | bytes at a time |
//! | --- | --- | --- |
//! | [`Scalar`] | a row of the table of products | 1 |
//! | `avx2` | two shuffles, one for each nibble (Plank, Greenan, Miller: FAST 2013) | 32 |
//! | `avx512-gfni` | an 8×8 bit matrix: `gf2p8affineqb` takes any polynomial | 64 |
//! | `neon` | two table look-ups, one for each nibble | 16 |

// Offsets stay within the range that `Product::new` checked against every buffer.
#![allow(clippy::arithmetic_side_effects)]
// Iterator adapters are compiled without the instruction sets of the kernels.
#![allow(clippy::needless_range_loop)]

/// Computes all outputs of a product with `$pass::<ROWS>(&mut product, first)`, which computes
/// `ROWS` of them from the output `first` on.
///
/// # Safety
/// The requirements of `$pass`; each call has at least `ROWS` outputs from `first` on.
#[allow(unused_macros, reason = "not every architecture has vectors of ours")]
macro_rules! in_passes {
    ($product:ident, $pass:ident) => {
        for first in (0..$product.rows()).step_by(OUTPUTS_A_PASS) {
            match $product.rows() - first {
                1 => $pass::<1>(&mut $product, first),
                2 => $pass::<2>(&mut $product, first),
                3 => $pass::<3>(&mut $product, first),
                _ => $pass::<OUTPUTS_A_PASS>(&mut $product, first),
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
mod product;
mod scalar;

use std::fmt;

pub use product::Product;
pub use scalar::Scalar;

/// Outputs that vector kernels compute in one pass over the inputs: their sums fit into registers.
const OUTPUTS_A_PASS: usize = 4;

/// Computes products with one instruction set.
pub trait Kernel: fmt::Debug + Send + Sync {
    /// Its name in metrics and logs.
    fn name(&self) -> &'static str;

    /// Computes the outputs of `product` in its range.
    fn multiply(&self, product: Product<'_, '_>);
}

/// The kernels supported by this processor, the fastest last.
pub fn supported() -> Vec<&'static dyn Kernel> {
    // Nothing is pushed on an architecture without our vectors.
    #[allow(unused_mut)]
    let mut kernels: Vec<&'static dyn Kernel> = vec![&Scalar];
    #[cfg(target_arch = "x86_64")]
    {
        kernels.extend(avx2::Avx2::detect().map(|kernel| kernel as &dyn Kernel));
        kernels.extend(avx512::Avx512::detect().map(|kernel| kernel as &dyn Kernel));
    }
    #[cfg(target_arch = "aarch64")]
    kernels.extend(neon::Neon::detect().map(|kernel| kernel as &dyn Kernel));
    kernels
}

/// The fastest kernel supported by this processor.
pub fn fastest() -> &'static dyn Kernel {
    supported().pop().unwrap_or(&Scalar)
}
