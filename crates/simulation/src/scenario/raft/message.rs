//! Requests of clients to a host: words, with values without spaces.

use crate::history::register::{Answer, Op};

/// The method of a client's call.
pub const CALL: u16 = 10;
/// The method that returns all data of a replica.
pub const DUMP: u16 = 11;
/// The method by which an operator asks the leader of a group for a change of its members.
pub const CHANGE: u16 = 12;
/// The method that returns the members of a group, as this host has them.
pub const MEMBERS: u16 = 13;
/// The method by which an operator starts a group on a host that was added to it; the payload has
/// its members.
pub const JOIN: u16 = 14;
/// The method that returns the state of a replica, and the host's counters since it started: a line
/// for each number.
pub const STATUS: u16 = 15;
/// The method by which an operator has the leader of a group hand over to a host.
pub const HAND_OVER: u16 = 16;
/// Port of hosts.
pub const PORT: u16 = 9000;

/// Kind of a read's consistency check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Through {
    /// The leader's lease or a round to the others.
    Leader,
    /// Any replica, which asks the leader.
    Anywhere,
}

/// A call to a register of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The group.
    pub group: u64,
    /// The register.
    pub key: u64,
    /// The operation.
    pub op: Op,
    /// Consistency check of a read.
    pub through: Through,
}

impl Request {
    /// As words.
    pub fn encode(&self) -> String {
        let op = match &self.op {
            Op::Read if self.through == Through::Leader => "read".to_owned(),
            Op::Read => "anywhere".to_owned(),
            Op::Write(value) => format!("write {value}"),
            Op::Swap(from, to) => format!("swap {from} {to}"),
            Op::Append(value) => format!("append {value}"),
        };
        format!("{} {} {op}", self.group, self.key)
    }

    /// From words.
    pub fn decode(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let group = words.next()?.parse().ok()?;
        let key = words.next()?.parse().ok()?;
        let (op, through) = match words.next()? {
            "read" => (Op::Read, Through::Leader),
            "anywhere" => (Op::Read, Through::Anywhere),
            "write" => (Op::Write(words.next()?.to_owned()), Through::Leader),
            "append" => (Op::Append(words.next()?.to_owned()), Through::Leader),
            "swap" => {
                let from = words.next()?.to_owned();
                (Op::Swap(from, words.next()?.to_owned()), Through::Leader)
            }
            _ => return None,
        };
        Some(Self { group, key, op, through })
    }
}

/// An answer as a word.
pub fn encode_answer(answer: &Answer) -> String {
    match answer {
        Answer::Value(None) => "nothing".to_owned(),
        Answer::Value(Some(value)) => format!("={value}"),
        Answer::Written => "written".to_owned(),
        Answer::Swapped => "swapped".to_owned(),
        Answer::Refused(None) => "refused".to_owned(),
        Answer::Refused(Some(value)) => format!("!{value}"),
    }
}

/// An answer from a word.
pub fn decode_answer(text: &str) -> Option<Answer> {
    Some(match text {
        "nothing" => Answer::Value(None),
        "written" => Answer::Written,
        "swapped" => Answer::Swapped,
        "refused" => Answer::Refused(None),
        value => match value.strip_prefix('=') {
            Some(value) => Answer::Value(Some(value.to_owned())),
            None => Answer::Refused(Some(value.strip_prefix('!')?.to_owned())),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_come_back_as_they_were() {
        let ops = [
            Op::Read,
            Op::Write("a".into()),
            Op::Swap("a".into(), "b".into()),
            Op::Append("a".into()),
        ];
        for op in ops {
            let request = Request { group: 1, key: 2, op, through: Through::Leader };
            assert_eq!(Request::decode(&request.encode()), Some(request));
        }
        let x = Some(String::from("x"));
        for answer in [
            Answer::Value(None),
            Answer::Value(x.clone()),
            Answer::Written,
            Answer::Swapped,
            Answer::Refused(None),
            Answer::Refused(x),
        ] {
            assert_eq!(decode_answer(&encode_answer(&answer)), Some(answer));
        }
    }
}
