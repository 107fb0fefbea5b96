//! Matrices over GF(2^8): the code's own, products and inverses.

use types::replication::EcCodec;

use crate::galois;
use crate::replica_index::ReplicaIndex;
use crate::scheme::Scheme;

/// Rows of coefficients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    columns: usize,
    coefficients: Vec<u8>,
}

impl Matrix {
    fn from_rows(columns: usize, rows: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self { columns, coefficients: rows.into_iter().flatten().collect() }
    }

    /// The rows of some replicas: their coefficients over the data cells.
    pub fn of(scheme: Scheme, replicas: impl IntoIterator<Item = ReplicaIndex>) -> Self {
        let rows = replicas.into_iter().map(|replica| row_of(scheme, replica));
        Self::from_rows(scheme.data(), rows)
    }

    /// All rows, concatenated.
    pub fn coefficients(&self) -> &[u8] {
        &self.coefficients
    }

    /// The coefficients of one row.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.coefficients.chunks_exact(self.columns)
    }

    /// The coefficients of one column, from the first row on.
    pub fn column(&self, column: usize) -> impl Iterator<Item = u8> + '_ {
        self.rows().filter_map(move |row| row.get(column).copied())
    }

    /// self · other.
    pub fn times(&self, other: &Self) -> Self {
        let product = |row: &[u8]| {
            let mut sums = vec![0; other.columns];
            for (&a, others) in row.iter().zip(other.rows()) {
                add_multiple(&mut sums, a, others);
            }
            sums
        };
        Self::from_rows(other.columns, self.rows().map(product))
    }

    /// The inverse matrix. `None` if there is none, which cannot happen for rows of d different
    /// replicas: any d of them determine the data.
    pub fn inverse(&self) -> Option<Self> {
        let size = self.columns;
        let mut left: Vec<Vec<u8>> = self.rows().map(<[u8]>::to_vec).collect();
        if left.len() != size {
            return None;
        }
        let mut right: Vec<Vec<u8>> = (0..size).map(|row| unit(size, row)).collect();
        // Gauss and Jordan: each column is cleared in all rows except one.
        for column in 0..size {
            let pivot = (column..size).find(|&row| left[row][column] != 0)?;
            left.swap(column, pivot);
            right.swap(column, pivot);
            let scale = galois::inverse(left[column][column])?;
            for half in [&mut left, &mut right] {
                half[column].iter_mut().for_each(|a| *a = galois::multiply(*a, scale));
            }
            let (left_pivot, right_pivot) = (left[column].clone(), right[column].clone());
            for row in (0..size).filter(|&row| row != column) {
                let factor = left[row][column];
                add_multiple(&mut left[row], factor, &left_pivot);
                add_multiple(&mut right[row], factor, &right_pivot);
            }
        }
        Some(Self::from_rows(size, right))
    }
}

/// row + factor · other; sums of the field are exclusive ors.
fn add_multiple(row: &mut [u8], factor: u8, other: &[u8]) {
    for (a, &b) in row.iter_mut().zip(other) {
        *a ^= galois::multiply(factor, b);
    }
}

fn unit(size: usize, at: usize) -> Vec<u8> {
    (0..size).map(|column| u8::from(column == at)).collect()
}

/// Coefficients of a replica over the data cells. Ozone: RSUtil.genCauchyMatrix, ISA-L:
/// gf_gen_cauchy1_matrix.
fn row_of(scheme: Scheme, replica: ReplicaIndex) -> Vec<u8> {
    let row = replica.position();
    if scheme.is_data(replica) {
        return unit(scheme.data(), row);
    }
    let coefficient = |column: usize| match scheme.code() {
        EcCodec::Xor => 1,
        // Both are below 255 and differ, so there is an inverse.
        EcCodec::Rs => u8::try_from(row ^ column).ok().and_then(galois::inverse).unwrap_or(0),
    };
    (0..scheme.data()).map(coefficient).collect()
}
