//! The declarations of all wire messages, for tests that generate messages of every kind.

use std::collections::HashMap;
use std::sync::OnceLock;

const LIST: &str = include_str!(concat!(env!("OUT_DIR"), "/messages.txt"));

/// Cardinality of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// At most once.
    Optional,
    /// Once.
    Required,
    /// Any number of times.
    Repeated,
}

/// Type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A number of up to 64 bits without sign, as a varint.
    Unsigned,
    /// A number with a sign, as a varint of its two's complement; up to 32 bits if true.
    Signed(bool),
    /// A number with a sign in zigzag form.
    Zigzag,
    /// Eight bytes.
    Fixed64,
    /// Four bytes.
    Fixed32,
    /// A flag.
    Bool,
    /// UTF-8.
    Text,
    /// Bytes.
    Bytes,
    /// A value of the enum of that name.
    Enum(String),
    /// A message of that name.
    Message(String),
}

/// One field of a message.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name, as declared.
    pub name: String,
    /// Its number.
    pub number: u32,
    /// Its type.
    pub kind: Kind,
    /// Its cardinality.
    pub label: Label,
}

/// All messages and enums, by their full names (`.hadoop.ozone.KeyArgs`).
#[derive(Debug, Default)]
pub struct Schema {
    messages: HashMap<String, Vec<Field>>,
    enums: HashMap<String, Vec<i32>>,
}

impl Schema {
    /// The declarations from which `proto` is generated.
    pub fn get() -> &'static Self {
        static SCHEMA: OnceLock<Schema> = OnceLock::new();
        SCHEMA.get_or_init(|| Self::read(LIST))
    }

    fn read(list: &str) -> Self {
        let mut schema = Self::default();
        let mut current = String::new();
        for line in list.lines() {
            let mut words = line.split(' ');
            match words.next() {
                Some("message") => {
                    current = words.next().unwrap_or_default().to_owned();
                    schema.messages.entry(current.clone()).or_default();
                }
                Some("field") => {
                    let field = field(words).unwrap_or_else(|| panic!("a field: {line}"));
                    schema.messages.entry(current.clone()).or_default().push(field);
                }
                Some("enum") => {
                    let name = words.next().unwrap_or_default().to_owned();
                    schema.enums.insert(name, words.filter_map(|w| w.parse().ok()).collect());
                }
                _ => panic!("cannot parse line: {line}"),
            }
        }
        schema
    }

    /// The fields of a message.
    ///
    /// # Panics
    /// If there is no such message.
    pub fn message(&self, name: &str) -> &[Field] {
        self.messages.get(name).unwrap_or_else(|| panic!("no message {name}"))
    }

    /// The values of an enum.
    ///
    /// # Panics
    /// If there is no such enum.
    pub fn values(&self, name: &str) -> &[i32] {
        self.enums.get(name).unwrap_or_else(|| panic!("no enum {name}"))
    }
}

fn field<'a>(mut words: impl Iterator<Item = &'a str>) -> Option<Field> {
    let name = words.next()?.to_owned();
    let number = words.next()?.parse().ok()?;
    let kind: i32 = words.next()?.parse().ok()?;
    let label = match words.next()? {
        "2" => Label::Required,
        "3" => Label::Repeated,
        _ => Label::Optional,
    };
    let of = words.next()?.to_owned();
    // The numbers of FieldDescriptorProto.Type.
    let kind = match kind {
        3 => Kind::Signed(false),
        5 => Kind::Signed(true),
        4 | 13 => Kind::Unsigned,
        17 | 18 => Kind::Zigzag,
        1 | 6 | 16 => Kind::Fixed64,
        2 | 7 | 15 => Kind::Fixed32,
        8 => Kind::Bool,
        9 => Kind::Text,
        12 => Kind::Bytes,
        14 => Kind::Enum(of),
        11 => Kind::Message(of),
        _ => return None,
    };
    Some(Field { name, number, kind, label })
}
