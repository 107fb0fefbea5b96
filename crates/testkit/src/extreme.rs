//! Generated messages unlike any client's: every number at its limits, fields missing or repeated,
//! invalid enum values, long or odd texts. Values known to the test (names, ids) are mixed in, so
//! that messages pass the first checks.

use std::collections::HashMap;

use crate::schema::{Field, Kind, Label, Schema};

const NUMBERS: [u64; 18] = [
    0,
    1,
    2,
    3,
    7,
    1_000,
    i32::MAX as u64,
    1 << 31,
    u32::MAX as u64,
    1 << 32,
    1 << 50,
    1 << 62,
    i64::MAX as u64 - 1,
    i64::MAX as u64,
    1 << 63,
    (1 << 63) + 1,
    u64::MAX - 1,
    u64::MAX,
];

const TEXTS: [&str; 16] = [
    "",
    "/",
    "//",
    ".",
    "..",
    "a",
    "a/",
    "/a",
    "a/b/c",
    "a/../b",
    "a:b",
    "-1",
    "0",
    "\u{0}\n",
    "\u{202e}é\u{10ffff}",
    "*",
];

/// Nesting depth below which optional messages are omitted.
const DEPTH: usize = 7;

/// An existing value, for the fields of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// For number fields.
    Number(u64),
    /// For text fields.
    Text(String),
    /// For message fields: the encoded message.
    Message(Vec<u8>),
}

/// Generates messages from a seed.
#[derive(Debug)]
pub struct Extremes {
    state: u64,
    known: HashMap<String, Vec<Known>>,
}

impl Extremes {
    /// The messages of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed, known: HashMap::new() }
    }

    /// Adds a value for fields of that name, case-insensitively.
    pub fn know(&mut self, field: &str, value: Known) {
        let values = self.known.entry(field.to_ascii_lowercase()).or_default();
        if !values.contains(&value) {
            values.push(value);
        }
        // The newest value is the most likely one to exist still.
        if values.len() > 4 {
            values.remove(0);
        }
    }

    /// The next random number.
    pub fn next_u64(&mut self) -> u64 {
        // SplitMix64 (Steele, Lea and Flood, 2014).
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next_u64() % bound.max(1) as u64).unwrap_or(0)
    }

    /// Returns `true` in `percent` of all calls.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// A number at or near a limit.
    pub fn number(&mut self) -> u64 {
        NUMBERS[self.below(NUMBERS.len())]
    }

    /// An encoded message of the type with that full name.
    pub fn message(&mut self, name: &str) -> Vec<u8> {
        self.message_with(name, |_| None)
    }

    /// As [`message`](Self::message); `decide` may require or exclude a field of the outermost
    /// message.
    pub fn message_with(&mut self, name: &str, decide: impl Fn(&Field) -> Option<bool>) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(name, 0, &decide, &mut out);
        out
    }

    fn write(
        &mut self,
        name: &str,
        depth: usize,
        decide: &dyn Fn(&Field) -> Option<bool>,
        out: &mut Vec<u8>,
    ) {
        for field in Schema::get().message(name) {
            let nested = matches!(field.kind, Kind::Message(_));
            let count = match (decide(field), field.label) {
                (Some(false), _) => 0,
                (Some(true), _) => 1,
                (None, Label::Required) => usize::from(self.chance(97)),
                (None, _) if nested && depth >= DEPTH => 0,
                (None, Label::Optional) => usize::from(self.chance(50)),
                (None, Label::Repeated) => [0, 0, 1, 1, 2, 3, 5][self.below(7)],
            };
            for _ in 0..count {
                self.write_field(field, depth, out);
            }
        }
    }

    fn write_field(&mut self, field: &Field, depth: usize, out: &mut Vec<u8>) {
        let known = self.known_for(field);
        match &field.kind {
            Kind::Unsigned => varint(field, self.number_or(known), out),
            Kind::Signed(false) => varint(field, self.number_or(known), out),
            Kind::Signed(true) => {
                // 32-bit numbers are sign-extended on the wire.
                let number = self.number_or(known) as i32;
                varint(field, i64::from(number) as u64, out);
            }
            Kind::Zigzag => {
                let n = self.number_or(known) as i64;
                varint(field, ((n << 1) ^ (n >> 63)) as u64, out);
            }
            Kind::Fixed64 => {
                tag(field, 1, out);
                out.extend_from_slice(&self.number_or(known).to_le_bytes());
            }
            Kind::Fixed32 => {
                tag(field, 5, out);
                out.extend_from_slice(&(self.number_or(known) as u32).to_le_bytes());
            }
            Kind::Bool => varint(field, u64::from(self.chance(50)), out),
            Kind::Enum(name) => {
                let values = Schema::get().values(name);
                let value = match self.chance(90) {
                    true => values[self.below(values.len())],
                    false => [-1, 4_711, i32::MAX, i32::MIN][self.below(4)],
                };
                varint(field, i64::from(value) as u64, out);
            }
            Kind::Text => {
                let text = match known {
                    Some(Known::Text(text)) => text,
                    _ => self.text(),
                };
                bytes(field, text.as_bytes(), out);
            }
            Kind::Bytes => {
                let len = [0, 1, 4, 16, 300][self.below(5)];
                let data: Vec<u8> = (0..len).map(|_| self.next_u64() as u8).collect();
                bytes(field, &data, out);
            }
            Kind::Message(name) => {
                let encoded = match known {
                    Some(Known::Message(message)) => message,
                    _ => {
                        let mut inner = Vec::new();
                        self.write(name, depth + 1, &|_| None, &mut inner);
                        inner
                    }
                };
                bytes(field, &encoded, out);
            }
        }
    }

    fn known_for(&mut self, field: &Field) -> Option<Known> {
        let count = self.known.get(&field.name.to_ascii_lowercase())?.len();
        if !self.chance(80) {
            return None;
        }
        let at = self.below(count);
        self.known.get(&field.name.to_ascii_lowercase())?.get(at).cloned()
    }

    fn number_or(&mut self, known: Option<Known>) -> u64 {
        match known {
            Some(Known::Number(number)) => number,
            _ => self.number(),
        }
    }

    fn text(&mut self) -> String {
        match self.below(20) {
            0 => "x".repeat(70_000),
            1 => "d/".repeat(300),
            2 => self.number().to_string(),
            3 => "é".repeat(200),
            _ => TEXTS[self.below(TEXTS.len())].to_owned(),
        }
    }
}

fn tag(field: &Field, wire_type: u64, out: &mut Vec<u8>) {
    raw(u64::from(field.number) << 3 | wire_type, out);
}

fn varint(field: &Field, value: u64, out: &mut Vec<u8>) {
    tag(field, 0, out);
    raw(value, out);
}

fn bytes(field: &Field, value: &[u8], out: &mut Vec<u8>) {
    tag(field, 2, out);
    raw(value.len() as u64, out);
    out.extend_from_slice(value);
}

fn raw(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_message() {
        let make = |seed| Extremes::new(seed).message(".hadoop.ozone.KeyArgs");
        assert_eq!(make(7), make(7));
        assert!((0..20).any(|seed| make(seed) != make(seed + 1)));
    }

    #[test]
    fn what_is_known_is_used() {
        let mut extremes = Extremes::new(1);
        extremes.know("VolumeName", Known::Text("known-volume".to_owned()));
        let some = (0..20).map(|_| extremes.message(".hadoop.ozone.KeyArgs"));
        let found = some.filter(|m| m.windows(12).any(|part| part == b"known-volume")).count();
        assert!(found > 5, "{found}");
    }
}
