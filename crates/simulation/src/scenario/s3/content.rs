//! Contents of objects: bytes that a number determines, so that ETags distinguish objects.

use std::collections::HashMap;

use bytes::Bytes;
use md5::{Digest, Md5};

/// Contents that are in one request to a DataNode.
const SMALL: usize = 40;
/// Contents that are in several.
const LARGE: usize = 300_000;
/// Least bytes of a part that is not the last one.
pub const LEAST_PART: usize = 5 << 20;

/// Bytes of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// No two pieces have the same.
    pub number: u64,
    /// Its length.
    pub length: usize,
}

impl Piece {
    /// A small one or a large one.
    pub fn of_number(number: u64) -> Self {
        let length = if number % 8 == 3 { LARGE } else { SMALL + (number % 8) as usize };
        Self { number, length }
    }

    /// The bytes: its number, again and again.
    pub fn bytes(self) -> Bytes {
        let text = format!("{:016}", self.number);
        let mut bytes = text.repeat(self.length.div_ceil(text.len())).into_bytes();
        bytes.truncate(self.length);
        bytes.into()
    }

    /// Its MD5.
    pub fn digest(self) -> [u8; 16] {
        Md5::digest(self.bytes()).into()
    }

    /// Its ETag.
    pub fn e_tag(self) -> String {
        hex::encode(self.digest())
    }
}

/// Content of an object: one piece, or the parts of an upload.
#[derive(Debug, Clone)]
pub struct Content {
    /// No two contents have the same.
    pub number: u64,
    /// The ETag of the object.
    pub e_tag: String,
    pieces: Vec<Piece>,
}

impl Content {
    /// Of an object that is put as a whole.
    pub fn whole(piece: Piece) -> Self {
        Self { number: piece.number, e_tag: piece.e_tag(), pieces: vec![piece] }
    }

    /// Of an upload that is completed with these parts.
    pub fn of_parts(number: u64, parts: &[Piece]) -> Self {
        let digests: Vec<u8> = parts.iter().flat_map(|part| part.digest()).collect();
        let e_tag = format!("{}-{}", hex::encode(Md5::digest(&digests)), parts.len());
        Self { number, e_tag, pieces: parts.to_vec() }
    }

    /// All its bytes.
    pub fn bytes(&self) -> Bytes {
        match self.pieces.as_slice() {
            [one] => one.bytes(),
            pieces => pieces.iter().flat_map(|piece| piece.bytes()).collect::<Vec<u8>>().into(),
        }
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.length).sum()
    }
}

/// Everything that clients ever set about to write, by ETag.
#[derive(Debug, Default)]
pub struct Contents {
    known: HashMap<String, Content>,
    last: u64,
}

impl Contents {
    /// A new number.
    pub fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Adds one that is about to be written.
    pub fn add(&mut self, content: &Content) {
        self.known.insert(content.e_tag.clone(), content.clone());
    }

    /// The one with an ETag.
    pub fn of_e_tag(&self, e_tag: &str) -> Option<&Content> {
        self.known.get(e_tag)
    }
}
