//! Encoding: the parity cells of a stripe.

use std::fmt;

use crate::buffers::{expect_buffers, in_bytes};
use crate::decoder::Decoder;
use crate::kernel::{self, Kernel};
use crate::matrix::Matrix;
use crate::replica_index::ReplicaIndex;
use crate::scheme::Scheme;
use crate::{Error, slices};

/// Encodes, and plans decoding, for one scheme. Cheap to clone, and created once per scheme.
#[derive(Clone)]
pub struct Codec {
    scheme: Scheme,
    kernel: &'static dyn Kernel,
    parity: Matrix,
}

impl Codec {
    /// Uses the fastest kernel of this processor.
    pub fn new(scheme: Scheme) -> Self {
        Self::with_kernel(scheme, kernel::fastest())
    }

    /// Uses a specific kernel, for tests and benchmarks.
    pub fn with_kernel(scheme: Scheme, kernel: &'static dyn Kernel) -> Self {
        Self { scheme, kernel, parity: Matrix::of(scheme, scheme.parity_replicas()) }
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The kernel.
    pub fn kernel(&self) -> &'static dyn Kernel {
        self.kernel
    }

    /// Computes all `parity` cells of the `data` cells of one stripe.
    ///
    /// The last data cells may be short or empty; parity cells have the length of the first data
    /// cell. Cells can be encoded in parts: a part has the same offsets of every cell, as far as
    /// the cell reaches.
    ///
    /// # Errors
    /// If there are not d data and p parity cells, a data cell is longer than the preceding one, or
    /// a parity cell differs in length from the first.
    pub fn encode(&self, data: &[&[u8]], parity: &mut [&mut [u8]]) -> Result<(), Error> {
        expect_buffers("data", self.scheme.data(), data.len())?;
        let pairs = data.iter().zip(data.iter().skip(1));
        for (replica, (before, cell)) in self.scheme.data_replicas().skip(1).zip(pairs) {
            let (before, found) = (before.len(), cell.len());
            if found > before {
                return Err(Error::CellAfterPadding { replica, before, found });
            }
        }
        let length = data.first().map_or(0, |cell| cell.len());
        self.expect_parity(length, parity)?;
        let lengths = data.iter().map(|cell| cell.len()).chain(parity.iter().map(|_| length));
        for slice in slices::slices(lengths) {
            let coefficients = self.parity.coefficients();
            slices::multiply(self.kernel, coefficients, data, parity, slice, false);
        }
        Ok(())
    }

    /// Adds one data cell to all `parity` cells, which are zeros before the first cell of a stripe
    /// is added. After all d cells, in any order, they equal the result of
    /// [`encode`](Self::encode). A part of a cell is added to the same part of the parity cells.
    ///
    /// # Errors
    /// If `replica` is not a data replica, there are not p parity cells, or one is shorter than
    /// `cell`.
    pub fn add(
        &self,
        replica: ReplicaIndex,
        cell: &[u8],
        parity: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        let column = self.scheme.check(replica)?.position();
        if !self.scheme.is_data(replica) {
            let replicas = u32::try_from(self.scheme.data()).unwrap_or(u32::MAX);
            return Err(Error::NoSuchReplica { index: replica.get(), replicas });
        }
        // Parity may be longer: this cell may be the short one.
        let longer = parity.iter().map(|p| p.len()).max().unwrap_or(0).max(cell.len());
        self.expect_parity(longer, parity)?;
        let coefficients: Vec<u8> = self.parity.column(column).collect();
        let lengths = std::iter::repeat_n(cell.len(), parity.len().saturating_add(1));
        for slice in slices::slices(lengths) {
            slices::multiply(self.kernel, &coefficients, &[cell], parity, slice, true);
        }
        Ok(())
    }

    /// Plans how to decode the `wanted` replicas from the `available` ones: from the first d of
    /// them, and every further one verifies the result. Keep the plan as long as the same replicas
    /// remain.
    ///
    /// Replicas that are padding in the decoded range (see [`CellLengths::is_padding`]) are
    /// available, with no bytes: put them first. With none `wanted` the plan only verifies.
    ///
    /// [`CellLengths::is_padding`]: crate::CellLengths::is_padding
    ///
    /// # Errors
    /// If fewer than d are available, or a replica is listed twice or does not belong to this
    /// scheme.
    pub fn decoder(
        &self,
        available: &[ReplicaIndex],
        wanted: &[ReplicaIndex],
    ) -> Result<Decoder, Error> {
        Decoder::new(self.scheme, self.kernel, available, wanted)
    }

    fn expect_parity(&self, length: usize, parity: &[&mut [u8]]) -> Result<(), Error> {
        expect_buffers("parity", self.scheme.parity(), parity.len())?;
        let mut cells = self.scheme.parity_replicas().zip(parity);
        match cells.find(|(_, cell)| cell.len() != length) {
            Some((replica, cell)) => Err(Error::BufferLength {
                replica,
                expected: in_bytes(length),
                found: in_bytes(cell.len()),
            }),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Codec({}, {})", self.scheme, self.kernel.name())
    }
}
