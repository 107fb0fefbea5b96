//! Decoding: lost cells from the remaining ones.

use std::ops::Range;

use smallvec::SmallVec;

use crate::buffers::{expect_buffers, in_bytes};
use crate::kernel::Kernel;
use crate::layout::CellLengths;
use crate::matrix::Matrix;
use crate::replica_index::ReplicaIndex;
use crate::scheme::Scheme;
use crate::{Error, slices};

/// A plan to compute the cells of some replicas from those of others: created once for the
/// remaining replicas, used for every stripe.
///
/// The first d available replicas are the sources, which are decoded; each further one is a
/// survivor that [`decode_checked`](Self::decode_checked) compares with the re-encoded result.
#[derive(Debug, Clone)]
pub struct Decoder {
    scheme: Scheme,
    kernel: &'static dyn Kernel,
    available: Vec<ReplicaIndex>,
    wanted: Vec<ReplicaIndex>,
    /// Coefficients of each wanted cell over the sources.
    matrix: Matrix,
    checks: Vec<Check>,
}

/// Coefficients of a survivor over decoded cells and the additional sources that are needed.
///
/// Any d cells determine all others. These are the decoded ones and the first sources, so that the
/// decoded bytes themselves are verified, and not only the input.
#[derive(Debug, Clone)]
struct Check {
    /// Position among the available replicas.
    survivor: usize,
    /// The range of decoded cells.
    decoded: Range<usize>,
    /// Number of sources, from the first on.
    sources: usize,
    coefficients: Vec<u8>,
}

impl Decoder {
    pub(crate) fn new(
        scheme: Scheme,
        kernel: &'static dyn Kernel,
        available: &[ReplicaIndex],
        wanted: &[ReplicaIndex],
    ) -> Result<Self, Error> {
        let mut named = [false; 256];
        for &replica in available.iter().chain(wanted) {
            let seen = named.get_mut(scheme.check(replica)?.position());
            if seen.is_none_or(|seen| std::mem::replace(seen, true)) {
                return Err(Error::NamedTwice { replica });
            }
        }
        let data = scheme.data();
        let Some((sources, survivors)) = available.split_at_checked(data) else {
            return Err(Error::TooFewReplicas { needed: data, available: available.len() });
        };
        let matrix = row_over(scheme, wanted, sources)?;
        let mut checks = Vec::new();
        for (position, survivor) in survivors.iter().enumerate() {
            let survivor_at = data.saturating_add(position);
            let mut first = 0;
            // One round, unless there are more wanted cells than data cells.
            loop {
                let decoded = first..wanted.len().min(data.saturating_add(first));
                let others = data.saturating_sub(decoded.len());
                let basis = [&wanted[decoded.clone()], &sources[..others]].concat();
                let row = row_over(scheme, &[*survivor], &basis)?;
                first = decoded.end;
                checks.push(Check {
                    survivor: survivor_at,
                    decoded,
                    sources: others,
                    coefficients: row.coefficients().to_vec(),
                });
                if first >= wanted.len() {
                    break;
                }
            }
        }
        let (available, wanted) = (available.to_vec(), wanted.to_vec());
        Ok(Self { scheme, kernel, available, wanted, matrix, checks })
    }

    /// The replicas to decode from.
    pub fn sources(&self) -> &[ReplicaIndex] {
        let sources = self.scheme.data().min(self.available.len());
        &self.available[..sources]
    }

    /// The replicas that verify the result; empty if all are needed for decoding.
    pub fn survivors(&self) -> &[ReplicaIndex] {
        let sources = self.scheme.data().min(self.available.len());
        &self.available[sources..]
    }

    /// The replicas to decode.
    pub fn wanted(&self) -> &[ReplicaIndex] {
        &self.wanted
    }

    /// Decodes the wanted cells from `sources`, without verification. Buffers are in the order of
    /// [`sources`](Self::sources) and [`wanted`](Self::wanted), with exactly the lengths in
    /// `lengths`: a truncated source is an error, not padding.
    ///
    /// # Errors
    /// If the number of buffers, or the length of one, is wrong.
    pub fn decode(
        &self,
        lengths: &CellLengths,
        sources: &[&[u8]],
        decoded: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        self.expect(lengths, self.sources(), sources, decoded)?;
        for slice in self.slices(sources, decoded) {
            self.decode_slice(sources, decoded, slice);
        }
        Ok(())
    }

    /// Decodes the wanted cells and verifies them: re-encoded they must equal every survivor.
    /// `available` has the cells of the [`sources`](Self::sources), then those of the
    /// [`survivors`](Self::survivors).
    ///
    /// # Errors
    /// As [`decode`](Self::decode); if there is no survivor; if one differs. After an error the
    /// contents of `decoded` must not be used.
    pub fn decode_checked(
        &self,
        lengths: &CellLengths,
        available: &[&[u8]],
        decoded: &mut [&mut [u8]],
    ) -> Result<(), Error> {
        if self.survivors().is_empty() {
            return Err(Error::NothingToCheckWith { available: self.available.len() });
        }
        self.expect(lengths, &self.available, available, decoded)?;
        let (sources, _) = available.split_at(self.sources().len());
        let mut computed = Vec::new();
        for slice in self.slices(available, decoded) {
            self.decode_slice(sources, decoded, slice.clone());
            self.check_padding(sources, decoded, slice.clone(), &mut computed)?;
            for check in &self.checks {
                self.check_slice(check, available, decoded, slice.clone(), &mut computed)?;
            }
        }
        Ok(())
    }

    fn decode_slice(&self, sources: &[&[u8]], decoded: &mut [&mut [u8]], slice: Range<usize>) {
        let coefficients = self.matrix.coefficients();
        slices::multiply(self.kernel, coefficients, sources, decoded, slice, false);
    }

    /// Compares one survivor with the re-encoded cells.
    fn check_slice(
        &self,
        check: &Check,
        available: &[&[u8]],
        decoded: &[&mut [u8]],
        slice: Range<usize>,
        computed: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let basis: SmallVec<[&[u8]; 16]> = decoded[check.decoded.clone()]
            .iter()
            .map(|cell| part(cell, &slice))
            .chain(available[..check.sources].iter().map(|cell| part(cell, &slice)))
            .collect();
        let (start, found) = (slice.start, part(available[check.survivor], &slice));
        let computed = self.compute(&check.coefficients, &basis, slice.len(), computed);
        self.compare(self.available[check.survivor], start, found, computed)
    }

    /// Compares zeros with the encoding of cells that end before the slice: nothing is decoded
    /// there, but a source may be wrong.
    fn check_padding(
        &self,
        sources: &[&[u8]],
        decoded: &[&mut [u8]],
        slice: Range<usize>,
        computed: &mut Vec<u8>,
    ) -> Result<(), Error> {
        for ((replica, row), cell) in self.wanted.iter().zip(self.matrix.rows()).zip(decoded) {
            if part(cell, &slice).is_empty() {
                let parts: SmallVec<[&[u8]; 16]> =
                    sources.iter().map(|cell| part(cell, &slice)).collect();
                let computed = self.compute(row, &parts, slice.len(), computed);
                self.compare(*replica, slice.start, &[], computed)?;
            }
        }
        Ok(())
    }

    /// Multiplies one row with the same parts of some cells.
    fn compute<'m>(
        &self,
        row: &[u8],
        parts: &[&[u8]],
        length: usize,
        memory: &'m mut Vec<u8>,
    ) -> &'m [u8] {
        memory.resize(length, 0);
        slices::multiply(self.kernel, row, parts, &mut [&mut *memory], 0..length, false);
        memory
    }

    /// Compares a replica's bytes from `start` on, with zeros after its end, with the expected
    /// ones.
    fn compare(
        &self,
        replica: ReplicaIndex,
        start: usize,
        found: &[u8],
        computed: &[u8],
    ) -> Result<(), Error> {
        let differs = if found.is_empty() {
            computed.iter().position(|&byte| byte != 0)
        } else if found == computed {
            None
        } else {
            found.iter().zip(computed).position(|(a, b)| a != b)
        };
        let Some(at) = differs else { return Ok(()) };
        let (survivor, sources) = (replica, self.sources().to_vec());
        Err(Error::Mismatch { survivor, offset: in_bytes(start.saturating_add(at)), sources })
    }

    fn slices(&self, available: &[&[u8]], decoded: &[&mut [u8]]) -> slices::Slices {
        let cells = available.iter().map(|cell| cell.len());
        slices::slices(cells.chain(decoded.iter().map(|cell| cell.len())))
    }

    fn expect(
        &self,
        lengths: &CellLengths,
        replicas: &[ReplicaIndex],
        cells: &[&[u8]],
        decoded: &[&mut [u8]],
    ) -> Result<(), Error> {
        expect_buffers("available replicas", replicas.len(), cells.len())?;
        expect_buffers("wanted replicas", self.wanted.len(), decoded.len())?;
        let given = replicas.iter().zip(cells.iter().map(|cell| cell.len()));
        let wanted = self.wanted.iter().zip(decoded.iter().map(|cell| cell.len()));
        for (&replica, found) in given.chain(wanted) {
            let (expected, found) = (lengths.of(replica), in_bytes(found));
            if expected != found {
                return Err(Error::BufferLength { replica, expected, found });
            }
        }
        Ok(())
    }
}

/// The slice of a cell, or empty if the cell ends before it.
fn part<'c>(cell: &'c [u8], slice: &Range<usize>) -> &'c [u8] {
    cell.get(slice.clone()).unwrap_or_default()
}

/// Coefficients of some replicas over d others.
fn row_over(
    scheme: Scheme,
    replicas: &[ReplicaIndex],
    basis: &[ReplicaIndex],
) -> Result<Matrix, Error> {
    let data_over_basis = Matrix::of(scheme, basis.iter().copied())
        .inverse()
        .ok_or_else(|| Error::NotDecodable { sources: basis.to_vec() })?;
    Ok(Matrix::of(scheme, replicas.iter().copied()).times(&data_over_basis))
}
