//! Input of a kernel, with validated lengths.

use std::ops::Range;

use smallvec::SmallVec;

/// Outputs to be computed from inputs, within one range of all of them.
#[derive(Debug)]
pub struct Product<'a, 'b> {
    coefficients: &'a [u8],
    inputs: &'a [&'a [u8]],
    outputs: &'a mut [&'b mut [u8]],
    range: Range<usize>,
    accumulate: bool,
}

impl<'a, 'b> Product<'a, 'b> {
    /// Multiplies rows of `coefficients`, one per output, with `inputs`; with `accumulate` the sums
    /// are added to the outputs, otherwise they replace them. `None` if the number of coefficients
    /// is not inputs times outputs, or a buffer ends within `range`.
    pub fn new(
        coefficients: &'a [u8],
        inputs: &'a [&'a [u8]],
        outputs: &'a mut [&'b mut [u8]],
        range: Range<usize>,
        accumulate: bool,
    ) -> Option<Self> {
        let fits = Some(coefficients.len()) == inputs.len().checked_mul(outputs.len())
            && range.start <= range.end
            && inputs.iter().all(|input| range.end <= input.len())
            && outputs.iter().all(|output| range.end <= output.len());
        fits.then_some(Self { coefficients, inputs, outputs, range, accumulate })
    }

    /// Number of outputs.
    pub(super) fn rows(&self) -> usize {
        self.outputs.len()
    }

    /// Each at least as long as the range's end.
    pub(super) fn inputs(&self) -> &'a [&'a [u8]] {
        self.inputs
    }

    /// The coefficient of one input in one output.
    pub(super) fn coefficient(&self, row: usize, input: usize) -> u8 {
        self.coefficients[row * self.inputs.len() + input]
    }

    /// Applies `of` to the coefficients of `ROWS` outputs from the output `first` on, by input.
    pub(super) fn factors<T, const ROWS: usize>(
        &self,
        first: usize,
        of: impl Fn(usize) -> T,
    ) -> SmallVec<[[T; ROWS]; 16]> {
        let of_row = |row, input| of(usize::from(self.coefficient(first + row, input)));
        let inputs = 0..self.inputs.len();
        inputs.map(|input| std::array::from_fn(|row| of_row(row, input))).collect()
    }

    /// `ROWS` outputs from the output `first` on, each at least as long as the range's end.
    pub(super) fn pointers<const ROWS: usize>(&mut self, first: usize) -> [*mut u8; ROWS] {
        std::array::from_fn(|row| self.output(first + row).as_mut_ptr())
    }

    /// An output, at least as long as the range's end.
    pub(super) fn output(&mut self, row: usize) -> &mut [u8] {
        self.outputs[row]
    }

    /// The bytes to compute.
    pub(super) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Returns `true` if the sums are added to the outputs.
    pub(super) fn accumulates(&self) -> bool {
        self.accumulate
    }
}
