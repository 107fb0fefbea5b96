//! Keys that take minutes to write: their blocks stay open while links are cut, nodes die and
//! containers are closed. Acknowledged data is read in the end like every other key.

use std::sync::atomic::Ordering;
use std::time::Duration;

use client::{CreateKey, FinishOptions};

use super::Board;
use super::client::{Reads, bytes_of, connect, path};
use super::configuration::Layout;
use super::write_once::{self, Size};
use crate::scenario::process::on_runtime;
use crate::world::random::Random;

/// Pieces of a key.
const PIECES: usize = 8;
/// Between two pieces at most, in milliseconds.
const MAX_INTERVAL: u64 = 40_000;

/// A process that writes one such key after the other.
pub fn work(layout: &Layout, mut random: Random, board: &Board) {
    on_runtime(async {
        let Ok(client) = connect(layout, Reads::Leader) else { return };
        while !board.stop.load(Ordering::Acquire) {
            let Some((key, content)) = write_once::next(board, Size::Large) else { return };
            let pause = random.below(MAX_INTERVAL) + 1;
            let write = async {
                let mut writer =
                    client.create_key(CreateKey::new(path(board.write_once, key))).await?;
                let bytes = bytes_of(content);
                let len = bytes.len().div_ceil(PIECES);
                for at in 0..PIECES {
                    let to = ((at + 1) * len).min(bytes.len());
                    writer.write(bytes.slice(at * len..to)).await?;
                    let mut left = pause;
                    while left > 0 && !board.stop.load(Ordering::Acquire) {
                        let nap = left.min(1000);
                        tokio::time::sleep(Duration::from_millis(nap)).await;
                        left -= nap;
                    }
                }
                writer.finish(FinishOptions::default()).await
            };
            match write.await {
                Ok(_) => write_once::keep(board, key, content),
                Err(error) => tracing::debug!(%error, key, "a slow write failed"),
            }
        }
    });
}
