//! 32 bytes at a time, with AVX2.

use std::arch::x86_64::{
    __m256i, _mm_load_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_loadu_si256,
    _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi64,
    _mm256_storeu_si256, _mm256_xor_si256,
};

use super::{Kernel, OUTPUTS_A_PASS, Product, scalar};
use crate::galois::NIBBLES;

/// Bytes of a vector.
const WIDTH: usize = 32;
/// Vectors of each input that are loaded before the next input's. With 4 outputs more would not fit
/// the 16 registers.
const VECTORS: usize = 2;

/// The kernel of processors that have AVX2.
#[derive(Debug)]
pub struct Avx2(());

impl Avx2 {
    /// The kernel, if this processor can run it.
    pub fn detect() -> Option<&'static Self> {
        is_x86_feature_detected!("avx2").then_some(&Self(()))
    }
}

impl Kernel for Avx2 {
    fn name(&self) -> &'static str {
        "avx2"
    }

    fn multiply(&self, mut product: Product<'_, '_>) {
        // SAFETY: `self` only exists if `detect` found AVX2.
        unsafe { in_passes!(product, pass) }
    }
}

/// Computes `ROWS` outputs from the output `first` on.
///
/// # Safety
/// The processor supports AVX2, and the product has at least that many outputs.
#[target_feature(enable = "avx2")]
unsafe fn pass<const ROWS: usize>(product: &mut Product<'_, '_>, first: usize) {
    let (inputs, range, accumulate) = (product.inputs(), product.range(), product.accumulates());
    let tables = product.factors::<_, ROWS>(first, |coefficient| &NIBBLES[coefficient]);
    let outputs = product.pointers::<ROWS>(first);
    let low_nibbles = _mm256_set1_epi8(0x0f);

    let mut at = range.start;
    while range.end - at >= WIDTH * VECTORS {
        // SAFETY: `Product::new` checked that every input and output has at least `range.end`
        // bytes, and at + WIDTH·VECTORS is at most that. These loads and stores need no alignment;
        // the tables' loads do, and `Nibbles` is aligned. Outputs are exclusive borrows, so none is
        // an input.
        unsafe {
            let mut sums = [[_mm256_setzero_si256(); VECTORS]; ROWS];
            if accumulate {
                for row in 0..ROWS {
                    sums[row] = load(outputs[row].add(at));
                }
            }
            for (input, tables) in inputs.iter().zip(&tables) {
                let bytes = load(input.as_ptr().add(at));
                let (mut low, mut high) = (bytes, bytes);
                for vector in 0..VECTORS {
                    low[vector] = _mm256_and_si256(bytes[vector], low_nibbles);
                    let shifted = _mm256_srli_epi64::<4>(bytes[vector]);
                    high[vector] = _mm256_and_si256(shifted, low_nibbles);
                }
                for row in 0..ROWS {
                    let table = tables[row].0.as_ptr();
                    let of_low = _mm256_broadcastsi128_si256(_mm_load_si128(table.cast()));
                    let of_high = _mm256_broadcastsi128_si256(_mm_load_si128(table.add(16).cast()));
                    for vector in 0..VECTORS {
                        let product = _mm256_xor_si256(
                            _mm256_shuffle_epi8(of_low, low[vector]),
                            _mm256_shuffle_epi8(of_high, high[vector]),
                        );
                        sums[row][vector] = _mm256_xor_si256(sums[row][vector], product);
                    }
                }
            }
            for row in 0..ROWS {
                for vector in 0..VECTORS {
                    let to = outputs[row].add(at + vector * WIDTH);
                    _mm256_storeu_si256(to.cast(), sums[row][vector]);
                }
            }
        }
        at += WIDTH * VECTORS;
    }
    scalar::multiply_rows(product, first..first + ROWS, at..range.end);
}

/// # Safety
/// `from` points to at least the size of the vectors in bytes.
#[target_feature(enable = "avx2")]
unsafe fn load(from: *const u8) -> [__m256i; VECTORS] {
    let mut bytes = [_mm256_setzero_si256(); VECTORS];
    for vector in 0..VECTORS {
        // SAFETY: guaranteed by the caller.
        bytes[vector] = unsafe { _mm256_loadu_si256(from.add(vector * WIDTH).cast()) };
    }
    bytes
}
