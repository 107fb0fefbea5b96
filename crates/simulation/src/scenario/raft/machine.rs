//! A group's registers: in memory, with a file of the flushed state; the log has the rest.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use multiraft::{Committed, LogPosition, MachineError, SnapshotSource, StateMachine};
use parking_lot::Mutex;

use super::message::{Request, encode_answer};
use crate::history::register::{Answer, Op};

/// State after an entry.
#[derive(Debug, Clone, Default)]
pub struct RegisterState {
    at: LogPosition,
    values: BTreeMap<u64, String>,
}

impl RegisterState {
    /// The value of a register.
    pub fn value(&self, key: u64) -> Option<String> {
        self.values.get(&key).cloned()
    }

    /// As text: the position, then a line for each register.
    pub fn encode(&self) -> String {
        let mut text = format!("{} {}\n", self.at.term, self.at.index);
        for (key, value) in &self.values {
            text.push_str(&format!("{key} {value}\n"));
        }
        text
    }

    fn decode(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(|line| line.split_once(' '));
        let (term, index) = lines.next()??;
        let at = LogPosition { term: term.parse().ok()?, index: index.parse().ok()? };
        let mut values = BTreeMap::new();
        for line in lines {
            let (key, value) = line?;
            values.insert(key.parse().ok()?, value.to_owned());
        }
        Some(Self { at, values })
    }
}

/// A state machine of registers.
pub struct Registers {
    file: PathBuf,
    held: Arc<Mutex<RegisterState>>,
}

impl Registers {
    /// Opens the state flushed to the file, or an empty one.
    pub fn open(file: PathBuf) -> std::io::Result<(Self, Arc<Mutex<RegisterState>>)> {
        let held = match fs::read_to_string(&file) {
            Ok(text) => RegisterState::decode(&text)
                .ok_or_else(|| std::io::Error::other("a flushed file is damaged"))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => RegisterState::default(),
            Err(error) => return Err(error),
        };
        let held = Arc::new(Mutex::new(held));
        Ok((Self { file, held: held.clone() }, held))
    }

    fn save(&self, held: &RegisterState) -> std::io::Result<()> {
        let new = self.file.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(held.encode().as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &self.file)?;
        match self.file.parent() {
            Some(dir) => File::open(dir)?.sync_all(),
            None => Ok(()),
        }
    }
}

impl StateMachine for Registers {
    fn applied(&self) -> LogPosition {
        self.held.lock().at
    }

    fn apply(&mut self, entries: &mut [Committed]) -> Result<Vec<Bytes>, MachineError> {
        let mut held = self.held.lock();
        let mut answers = Vec::new();
        for entry in entries {
            if entry.index <= held.at.index {
                return Err(format!("entry {} came again", entry.index).into());
            }
            held.at = LogPosition { term: entry.term, index: entry.index };
            let text = std::str::from_utf8(&entry.header)?;
            let request = Request::decode(text).ok_or("not a request")?;
            let answer = match request.op {
                Op::Read => Answer::Value(held.value(request.key)),
                Op::Write(value) => {
                    held.values.insert(request.key, value);
                    Answer::Written
                }
                Op::Append(value) => {
                    let there = held.value(request.key);
                    let list = Op::appended(there.as_deref(), &value);
                    held.values.insert(request.key, list);
                    Answer::Written
                }
                Op::Swap(from, to) => {
                    let there = held.value(request.key);
                    if there.as_ref() == Some(&from) {
                        held.values.insert(request.key, to);
                        Answer::Swapped
                    } else {
                        Answer::Refused(there)
                    }
                }
            };
            answers.push(encode_answer(&answer).into());
        }
        Ok(answers)
    }

    fn flush(&mut self) -> Result<LogPosition, MachineError> {
        let held = self.held.lock().clone();
        // A full disk is no reason to stop: the log is kept a little longer.
        match self.save(&held) {
            Ok(()) => Ok(held.at),
            Err(_) => Ok(Registers::open(self.file.clone())?.0.applied()),
        }
    }

    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError> {
        Ok(SnapshotSource::Bytes(self.held.lock().encode().into()))
    }

    fn restore(&mut self, source: SnapshotSource, at: LogPosition) -> Result<(), MachineError> {
        let SnapshotSource::Bytes(bytes) = source else { return Err("not one piece".into()) };
        let mut new =
            RegisterState::decode(std::str::from_utf8(&bytes)?).ok_or("damaged snapshot")?;
        new.at = at;
        self.save(&new)?;
        *self.held.lock() = new;
        Ok(())
    }
}
