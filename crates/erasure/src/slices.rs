//! Long cells are processed in slices that stay in a core's L2 cache, so that repeated reads (for
//! more outputs than one pass computes, for verification) are served from there. Short cells count
//! as if zeros followed, which are never read or multiplied.

use std::ops::Range;

use smallvec::SmallVec;

use crate::kernel::{Kernel, Product};

/// Maximum size of one slice of all cells together: half of the L2 cache of the smallest servers.
const SLICE_BYTES: usize = 256 << 10;
/// A slice of one cell is a multiple of this: whole pages, whole vectors.
const SLICE_UNIT: usize = 4 << 10;

/// Buffers that need no memory of their own for Ozone's schemes.
type Few<T> = SmallVec<[T; 16]>;

/// Splits cells of these lengths into ranges, each of which lies completely within a cell or
/// completely after its end, and is no longer than a slice.
pub fn slices(lengths: impl Iterator<Item = usize>) -> Slices {
    let mut ends: Few<usize> = lengths.collect();
    let units = SLICE_BYTES.checked_div(ends.len()).unwrap_or(0) / SLICE_UNIT;
    ends.sort_unstable();
    ends.dedup();
    Slices { ends, length: units.max(1).saturating_mul(SLICE_UNIT), at: 0 }
}

/// The slices of some cells, in order.
#[derive(Debug)]
pub struct Slices {
    /// Lengths of cells, the shortest first.
    ends: Few<usize>,
    /// Maximum length of a slice.
    length: usize,
    at: usize,
}

impl Iterator for Slices {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let end = self.ends.iter().copied().find(|&end| end > self.at)?;
        let range = self.at..end.min(self.at.saturating_add(self.length));
        self.at = range.end;
        Some(range)
    }
}

/// Computes `outputs` from `inputs` in one of the [`slices`] of all of them.
pub fn multiply(
    kernel: &dyn Kernel,
    coefficients: &[u8],
    inputs: &[&[u8]],
    outputs: &mut [&mut [u8]],
    slice: Range<usize>,
    accumulate: bool,
) {
    let reaches = |length: usize| length >= slice.end;
    if inputs.iter().all(|input| reaches(input.len()))
        && outputs.iter().all(|output| reaches(output.len()))
    {
        run(kernel, coefficients, inputs, outputs, slice, accumulate);
        return;
    }
    let mut wanted: Few<u8> = SmallVec::new();
    for (row, output) in coefficients.chunks_exact(inputs.len().max(1)).zip(outputs.iter()) {
        if reaches(output.len()) {
            let there = row.iter().zip(inputs).filter(|(_, input)| reaches(input.len()));
            wanted.extend(there.map(|(&coefficient, _)| coefficient));
        }
    }
    let inputs: Few<&[u8]> = inputs.iter().copied().filter(|i| reaches(i.len())).collect();
    let mut outputs: Few<&mut [u8]> =
        outputs.iter_mut().map(|o| &mut **o).filter(|o| reaches(o.len())).collect();
    run(kernel, &wanted, &inputs, &mut outputs, slice, accumulate);
}

fn run(
    kernel: &dyn Kernel,
    coefficients: &[u8],
    inputs: &[&[u8]],
    outputs: &mut [&mut [u8]],
    slice: Range<usize>,
    accumulate: bool,
) {
    let product = Product::new(coefficients, inputs, outputs, slice, accumulate);
    // Callers pass inputs times outputs coefficients; short inputs are skipped.
    debug_assert!(product.is_some());
    if let Some(product) = product {
        kernel.multiply(product);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_end_where_a_cell_ends() {
        let all = |lengths: &[usize]| slices(lengths.iter().copied()).collect::<Vec<_>>();
        assert_eq!(all(&[]), []);
        assert_eq!(all(&[0, 0]), []);
        assert_eq!(all(&[10, 0, 7, 10]), [0..7, 7..10]);
        let long = all(&[300_000, 131_072, 131_072]);
        assert_eq!(long, [0..86_016, 86_016..131_072, 131_072..217_088, 217_088..300_000]);
    }
}
