//! Keys that are written once and stay: in the end they are read, and their blocks are checked on
//! every DataNode. A fault that needs such keys writes them.

use std::sync::atomic::Ordering;

use client::{Client, CreateKey};

use super::Board;
use super::client::{bytes_of, path};

/// Length of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// It rides in a log entry, and is packed later.
    Small,
    /// It has a file of its own.
    Large,
}

/// The number of the next key, and its content; `None` when there are no more numbers.
pub fn next(board: &Board, size: Size) -> Option<(u8, u64)> {
    let number = 1 + board.numbers.fetch_add(1, Ordering::AcqRel);
    let content = number * 4 + if size == Size::Large { 3 } else { 0 };
    Some((u8::try_from(number).ok()?, content))
}

/// Notes that a key was acknowledged.
pub fn keep(board: &Board, key: u8, content: u64) {
    board.kept.lock().insert((board.write_once, key), content);
}

/// Writes one key, if a number is left for it.
pub async fn put(client: &Client, board: &Board, size: Size) {
    let Some((key, content)) = next(board, size) else { return };
    let create = CreateKey::new(path(board.write_once, key));
    match client.put_key(create, bytes_of(content)).await {
        Ok(_) => keep(board, key, content),
        Err(error) => tracing::debug!(%error, key, "a key that stays was not written"),
    }
}
