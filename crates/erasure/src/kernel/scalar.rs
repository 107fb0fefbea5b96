//! One byte at a time: the reference for the other kernels, and the code for the bytes that do not
//! fill a vector.

use std::ops::Range;

use super::{Kernel, Product};
use crate::galois::PRODUCTS;

/// The kernel without vectors.
#[derive(Debug)]
pub struct Scalar;

impl Kernel for Scalar {
    fn name(&self) -> &'static str {
        "scalar"
    }

    fn multiply(&self, mut product: Product<'_, '_>) {
        let (rows, range) = (0..product.rows(), product.range());
        multiply_rows(&mut product, rows, range);
    }
}

/// Computes some outputs in a part of the product's range.
pub(super) fn multiply_rows(
    product: &mut Product<'_, '_>,
    rows: Range<usize>,
    range: Range<usize>,
) {
    let inputs = product.inputs();
    for row in rows {
        if !product.accumulates() {
            product.output(row)[range.clone()].fill(0);
        }
        for (number, input) in inputs.iter().enumerate() {
            let products = &PRODUCTS[usize::from(product.coefficient(row, number))];
            let output = &mut product.output(row)[range.clone()];
            for (sum, &byte) in output.iter_mut().zip(&input[range.clone()]) {
                *sum ^= products[usize::from(byte)];
            }
        }
    }
}
