//! 64 bytes at a time, with AVX-512 and GFNI.

use std::arch::x86_64::{
    __m512i, _mm512_gf2p8affine_epi64_epi8, _mm512_loadu_si512, _mm512_mask_storeu_epi8,
    _mm512_maskz_loadu_epi8, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_storeu_si512,
    _mm512_xor_si512,
};

use super::{Kernel, OUTPUTS_A_PASS, Product};
use crate::galois::BIT_MATRICES;

/// Bytes of a vector.
const WIDTH: usize = 64;
/// Vectors of each input that are loaded before the next input's: long reads of one cell, and a
/// matrix is loaded once for all of them.
const VECTORS: usize = 4;

/// The kernel of processors that have AVX-512 (F, BW) and GFNI.
#[derive(Debug)]
pub struct Avx512(());

impl Avx512 {
    /// The kernel, if this processor can run it.
    pub fn detect() -> Option<&'static Self> {
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("gfni"))
        .then_some(&Self(()))
    }
}

impl Kernel for Avx512 {
    fn name(&self) -> &'static str {
        "avx512-gfni"
    }

    fn multiply(&self, mut product: Product<'_, '_>) {
        // SAFETY: `self` only exists if `detect` found the features.
        unsafe { in_passes!(product, pass) }
    }
}

/// Computes `ROWS` outputs from the output `first` on.
///
/// # Safety
/// The processor supports the features, and the product has at least that many outputs.
#[target_feature(enable = "avx512f,avx512bw,gfni")]
unsafe fn pass<const ROWS: usize>(product: &mut Product<'_, '_>, first: usize) {
    let (inputs, range, accumulate) = (product.inputs(), product.range(), product.accumulates());
    let matrices =
        product.factors::<_, ROWS>(first, |coefficient| BIT_MATRICES[coefficient].cast_signed());
    let outputs = product.pointers::<ROWS>(first);

    let mut at = range.start;
    while range.end - at >= WIDTH * VECTORS {
        // SAFETY: `Product::new` checked that every input and output has at least `range.end`
        // bytes, and at + WIDTH·VECTORS is at most that. Loads and stores need no alignment.
        // Outputs are exclusive borrows, so none is an input.
        unsafe {
            let mut sums = [[_mm512_setzero_si512(); VECTORS]; ROWS];
            if accumulate {
                for row in 0..ROWS {
                    sums[row] = load(outputs[row].add(at));
                }
            }
            for (input, matrices) in inputs.iter().zip(&matrices) {
                let bytes = load(input.as_ptr().add(at));
                for row in 0..ROWS {
                    let matrix = _mm512_set1_epi64(matrices[row]);
                    for vector in 0..VECTORS {
                        let product = _mm512_gf2p8affine_epi64_epi8::<0>(bytes[vector], matrix);
                        sums[row][vector] = _mm512_xor_si512(sums[row][vector], product);
                    }
                }
            }
            for row in 0..ROWS {
                for vector in 0..VECTORS {
                    let to = outputs[row].add(at + vector * WIDTH);
                    _mm512_storeu_si512(to.cast(), sums[row][vector]);
                }
            }
        }
        at += WIDTH * VECTORS;
    }
    while at < range.end {
        let bytes = WIDTH.min(range.end - at);
        let mask = u64::MAX >> (WIDTH - bytes);
        // SAFETY: as above; the mask has only the bytes before `range.end`, and masked bytes are
        // neither read nor written.
        unsafe {
            let mut sums = [_mm512_setzero_si512(); ROWS];
            if accumulate {
                for row in 0..ROWS {
                    sums[row] = _mm512_maskz_loadu_epi8(mask, outputs[row].add(at).cast());
                }
            }
            for (input, matrices) in inputs.iter().zip(&matrices) {
                let bytes = _mm512_maskz_loadu_epi8(mask, input.as_ptr().add(at).cast());
                for row in 0..ROWS {
                    let matrix = _mm512_set1_epi64(matrices[row]);
                    let product = _mm512_gf2p8affine_epi64_epi8::<0>(bytes, matrix);
                    sums[row] = _mm512_xor_si512(sums[row], product);
                }
            }
            for row in 0..ROWS {
                _mm512_mask_storeu_epi8(outputs[row].add(at).cast(), mask, sums[row]);
            }
        }
        at += bytes;
    }
}

/// # Safety
/// `from` points to at least the size of the vectors in bytes.
#[target_feature(enable = "avx512f")]
unsafe fn load(from: *const u8) -> [__m512i; VECTORS] {
    let mut bytes = [_mm512_setzero_si512(); VECTORS];
    for vector in 0..VECTORS {
        // SAFETY: guaranteed by the caller.
        bytes[vector] = unsafe { _mm512_loadu_si512(from.add(vector * WIDTH).cast()) };
    }
    bytes
}
