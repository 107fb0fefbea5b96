//! A state machine that records every entry. Its store survives a crash, or loses its unflushed
//! state.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use multiraft::{Committed, LogPosition, MachineError, SnapshotSource, StateMachine};
use parking_lot::Mutex;
use uuid::Uuid;

/// The contents of a machine's store.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct State {
    pub at: LogPosition,
    pub entries: BTreeMap<u64, Bytes>,
}

/// A store: the applied state, and the part that survives a crash.
#[derive(Default)]
pub struct Store {
    pub live: State,
    pub durable: State,
    /// The known committed position, although it must be applied again.
    pub known_committed: LogPosition,
    pub restores: u64,
    pub rounds: u64,
    pub broken: bool,
    /// True while it applies entries.
    pub applying: bool,
    /// True while it restores a snapshot.
    pub restoring: bool,
    /// Blocks applying and restoring until it is reset.
    pub hold_apply: bool,
    pub hold_restore: bool,
}

/// Records every entry; its snapshot is one block or a directory of files.
pub struct Recorder {
    pub store: Arc<Mutex<Store>>,
    pub dir: Option<PathBuf>,
}

impl Recorder {
    fn wait_while(&self, held: impl Fn(&Store) -> bool) {
        testkit::until_blocking("the test to release it", || !held(&self.store.lock()));
    }
}

fn encode(state: &State) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, header) in &state.entries {
        out.extend_from_slice(&index.to_le_bytes());
        out.extend_from_slice(&(header.len() as u32).to_le_bytes());
        out.extend_from_slice(header);
    }
    out
}

fn decode(mut data: &[u8]) -> BTreeMap<u64, Bytes> {
    let mut entries = BTreeMap::new();
    while !data.is_empty() {
        let index = u64::from_le_bytes(data[..8].try_into().unwrap());
        let len = u32::from_le_bytes(data[8..12].try_into().unwrap()) as usize;
        entries.insert(index, Bytes::copy_from_slice(&data[12..12 + len]));
        data = &data[12 + len..];
    }
    entries
}

impl StateMachine for Recorder {
    fn applied(&self) -> LogPosition {
        self.store.lock().live.at
    }

    fn known_committed(&self) -> LogPosition {
        let store = self.store.lock();
        store.known_committed.max(store.live.at)
    }

    fn apply(&mut self, entries: &mut [Committed]) -> Result<Vec<Bytes>, MachineError> {
        self.store.lock().applying = true;
        self.wait_while(|store| store.hold_apply);
        let mut store = self.store.lock();
        store.applying = false;
        if store.broken {
            return Err("store is broken".into());
        }
        store.rounds += 1;
        for entry in entries.iter() {
            assert!(entry.index > store.live.at.index, "entry {} was applied twice", entry.index);
            store.live.at = LogPosition { term: entry.term, index: entry.index };
            let header = [&entry.header[..], &entry.payload[..]].concat();
            store.live.entries.insert(entry.index, header.into());
        }
        let response = |e: &Committed| Bytes::from([b"did ", &e.header[..]].concat());
        Ok(entries.iter().map(response).collect())
    }

    fn flush(&mut self) -> Result<LogPosition, MachineError> {
        let mut store = self.store.lock();
        store.durable = store.live.clone();
        Ok(store.durable.at)
    }

    fn snapshot(&mut self) -> Result<SnapshotSource, MachineError> {
        let block = encode(&self.store.lock().live);
        let Some(dir) = &self.dir else { return Ok(SnapshotSource::Bytes(block.into())) };
        let dir = dir.join(Uuid::new_v4().to_string());
        std::fs::create_dir_all(dir.join("below"))?;
        let middle = block.len() / 2;
        std::fs::write(dir.join("first"), &block[..middle])?;
        std::fs::write(dir.join("below/second"), &block[middle..])?;
        std::fs::write(dir.join("empty"), b"")?;
        Ok(SnapshotSource::Dir(dir))
    }

    fn restore(&mut self, source: SnapshotSource, at: LogPosition) -> Result<(), MachineError> {
        let block = match source {
            SnapshotSource::Bytes(bytes) => bytes.to_vec(),
            SnapshotSource::Dir(dir) => {
                assert_eq!(std::fs::read(dir.join("empty"))?, b"");
                let parts =
                    [std::fs::read(dir.join("first"))?, std::fs::read(dir.join("below/second"))?];
                parts.concat()
            }
        };
        self.store.lock().restoring = true;
        self.wait_while(|store| store.hold_restore);
        let mut store = self.store.lock();
        store.restoring = false;
        store.live = State { at, entries: decode(&block) };
        store.durable = store.live.clone();
        store.restores += 1;
        Ok(())
    }
}
