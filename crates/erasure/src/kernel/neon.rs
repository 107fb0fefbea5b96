//! 16 bytes at a time, with NEON.

use std::arch::aarch64::{
    uint8x16_t, vandq_u8, vdupq_n_u8, veorq_u8, vld1q_u8, vqtbl1q_u8, vshrq_n_u8, vst1q_u8,
};
use std::arch::is_aarch64_feature_detected;

use super::{Kernel, OUTPUTS_A_PASS, Product, scalar};
use crate::galois::NIBBLES;

/// Bytes of a vector.
const WIDTH: usize = 16;
/// Vectors of each input that are loaded before the next input's: 4 outputs fit the 32 registers.
const VECTORS: usize = 4;

/// The kernel of processors that have NEON.
#[derive(Debug)]
pub struct Neon(());

impl Neon {
    /// The kernel, if this processor can run it.
    pub fn detect() -> Option<&'static Self> {
        is_aarch64_feature_detected!("neon").then_some(&Self(()))
    }
}

impl Kernel for Neon {
    fn name(&self) -> &'static str {
        "neon"
    }

    fn multiply(&self, mut product: Product<'_, '_>) {
        // SAFETY: `self` only exists if `detect` found NEON.
        unsafe { in_passes!(product, pass) }
    }
}

/// Computes `ROWS` outputs from the output `first` on.
///
/// # Safety
/// The processor supports NEON, and the product has at least that many outputs.
#[target_feature(enable = "neon")]
unsafe fn pass<const ROWS: usize>(product: &mut Product<'_, '_>, first: usize) {
    let (inputs, range, accumulate) = (product.inputs(), product.range(), product.accumulates());
    let tables = product.factors::<_, ROWS>(first, |coefficient| &NIBBLES[coefficient]);
    let outputs = product.pointers::<ROWS>(first);
    let low_nibbles = vdupq_n_u8(0x0f);

    let mut at = range.start;
    while range.end - at >= WIDTH * VECTORS {
        // SAFETY: `Product::new` checked that every input and output has at least `range.end`
        // bytes, and at + WIDTH·VECTORS is at most that; a table has 32. Loads and stores need no
        // alignment. Outputs are exclusive borrows, so none is an input.
        unsafe {
            let mut sums = [[vdupq_n_u8(0); VECTORS]; ROWS];
            if accumulate {
                for row in 0..ROWS {
                    sums[row] = load(outputs[row].add(at));
                }
            }
            for (input, tables) in inputs.iter().zip(&tables) {
                let bytes = load(input.as_ptr().add(at));
                for row in 0..ROWS {
                    let table = tables[row].0.as_ptr();
                    let (of_low, of_high) = (vld1q_u8(table), vld1q_u8(table.add(16)));
                    for vector in 0..VECTORS {
                        let low = vandq_u8(bytes[vector], low_nibbles);
                        let high = vshrq_n_u8::<4>(bytes[vector]);
                        let product = veorq_u8(vqtbl1q_u8(of_low, low), vqtbl1q_u8(of_high, high));
                        sums[row][vector] = veorq_u8(sums[row][vector], product);
                    }
                }
            }
            for row in 0..ROWS {
                for vector in 0..VECTORS {
                    vst1q_u8(outputs[row].add(at + vector * WIDTH), sums[row][vector]);
                }
            }
        }
        at += WIDTH * VECTORS;
    }
    scalar::multiply_rows(product, first..first + ROWS, at..range.end);
}

/// # Safety
/// `from` points to at least the size of the vectors in bytes.
#[target_feature(enable = "neon")]
unsafe fn load(from: *const u8) -> [uint8x16_t; VECTORS] {
    let mut bytes = [vdupq_n_u8(0); VECTORS];
    for vector in 0..VECTORS {
        // SAFETY: guaranteed by the caller.
        bytes[vector] = unsafe { vld1q_u8(from.add(vector * WIDTH)) };
    }
    bytes
}
