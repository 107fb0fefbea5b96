//! A stripe in flight.

use std::time::Instant;

use erasure::Codec;
use limits::MemoryPermit;

use super::parity::Parity;
use crate::Checksum;
use crate::write::chunk::Chunk;

/// The data cells of a stripe; those after the end of the key are omitted.
#[derive(Default)]
pub(super) struct Stripe {
    pub(super) cells: Vec<Chunk>,
    /// Memory of the cells and of their parity, released with the stripe.
    pub(super) _memory: Option<MemoryPermit>,
}

/// A stripe that is not acknowledged yet.
pub(super) struct Pending {
    pub(super) stripe: Stripe,
    pub(super) parity: Parity,
    /// The key ends with it.
    pub(super) last: bool,
    /// Bytes of all its cells.
    pub(super) bytes: usize,
    /// Time of its first write.
    pub(super) begun: Instant,
}

impl Pending {
    /// Starts to compute the parity of a stripe.
    pub(super) fn new(stripe: Stripe, last: bool, codec: &Codec, how: Checksum) -> Self {
        let data: usize = stripe.cells.iter().map(|cell| cell.len).sum();
        let cell = stripe.cells.first().map_or(0, |cell| cell.len);
        let bytes = data + cell * codec.scheme().parity();
        let parity = Parity::of(codec.clone(), stripe.cells.clone(), how);
        Self { stripe, parity, last, bytes, begun: Instant::now() }
    }

    /// Bytes of its data cells.
    pub(super) fn data_len(&self) -> u64 {
        self.stripe.cells.iter().map(|cell| cell.len as u64).sum()
    }
}
