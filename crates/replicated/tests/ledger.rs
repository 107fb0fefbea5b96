//! A small machine: a list of numbers with their sum, in a file.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use multiraft::{LogPosition, MachineError, SnapshotSource};
use replicated::{Entry, Machine};

/// A bug of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// The proposer's context changes the state.
    UsesContext,
    /// A batch of several entries counts once.
    CountsRounds,
    /// The position is not flushed.
    ForgetsPosition,
    /// A snapshot is added to the existing state.
    KeepsOldState,
    /// Malformed entries count, too.
    CountsUnknown,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sums {
    pub numbers: Vec<u64>,
    pub rounds: u64,
}

pub struct Ledger {
    file: PathBuf,
    at: LogPosition,
    pub sums: Sums,
    pub bug: Option<Bug>,
}

impl Ledger {
    pub fn open(dir: &Path, bug: Option<Bug>) -> Result<Self, MachineError> {
        std::fs::create_dir_all(dir)?;
        let mut ledger = Self {
            file: dir.join("ledger"),
            at: LogPosition::default(),
            sums: Sums::default(),
            bug,
        };
        if let Ok(bytes) = std::fs::read(&ledger.file) {
            ledger.decode(&bytes)?;
        }
        Ok(ledger)
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<(), MachineError> {
        let words = bytes.chunks(8).map(|word| Ok(u64::from_le_bytes(word.try_into()?)));
        let words: Vec<u64> = words.collect::<Result<_, MachineError>>()?;
        let [term, index, rounds, numbers @ ..] = words.as_slice() else {
            return Err("cut off".into());
        };
        self.at = LogPosition { term: *term, index: *index };
        if self.bug == Some(Bug::KeepsOldState) {
            self.sums.numbers.extend(numbers);
        } else {
            self.sums = Sums { numbers: numbers.to_vec(), rounds: *rounds };
        }
        Ok(())
    }

    fn encoded(&self) -> Vec<u8> {
        let at = match self.bug {
            Some(Bug::ForgetsPosition) => LogPosition::default(),
            _ => self.at,
        };
        let head = [at.term, at.index, self.sums.rounds];
        head.iter().chain(&self.sums.numbers).flat_map(|word| word.to_le_bytes()).collect()
    }
}

impl Machine for Ledger {
    type Command = u64;
    /// A text to be added to the response.
    type Context = String;
    type Response = (u64, Option<String>);

    fn encode(command: &u64) -> Bytes {
        Bytes::copy_from_slice(&command.to_le_bytes())
    }

    fn applied(&self) -> LogPosition {
        self.at
    }

    fn apply(
        &mut self,
        entries: Vec<Entry<Self>>,
    ) -> Result<Vec<(u64, Option<String>)>, MachineError> {
        let mut answers = Vec::new();
        for entry in entries {
            self.at = entry.at;
            let number = entry.command.as_ref().try_into().map(u64::from_le_bytes);
            let context = entry.own.map(|(_, context)| context);
            match number {
                Ok(number) if self.bug == Some(Bug::UsesContext) && context.is_some() => {
                    self.sums.numbers.push(number + 1);
                }
                Ok(number) => self.sums.numbers.push(number),
                Err(_) if self.bug == Some(Bug::CountsUnknown) => self.sums.numbers.push(0),
                Err(_) => {}
            }
            answers.push((self.sums.numbers.iter().sum(), context));
        }
        if self.bug == Some(Bug::CountsRounds) {
            self.sums.rounds += 1;
        }
        Ok(answers)
    }

    fn flush(&mut self) -> Result<LogPosition, MachineError> {
        std::fs::write(&self.file, self.encoded())?;
        Ok(self.at)
    }

    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError> {
        Ok(SnapshotSource::Bytes(self.encoded().into()))
    }

    fn restore(&mut self, source: SnapshotSource, at: LogPosition) -> Result<(), MachineError> {
        let SnapshotSource::Bytes(bytes) = source else { return Err("a directory".into()) };
        self.decode(&bytes)?;
        self.at = at;
        self.flush().map(drop)
    }
}
