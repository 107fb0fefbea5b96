//! Damage to synced data: bits flip, a directory or the whole disk is lost and replaced by an empty
//! one.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::super::random::Random;
use super::super::{node, unobserved, world};
use super::{OpenFile, names};

/// The directory of a Raft log, in each machine's home.
pub const LOG: &str = "log";
/// The directory of a DataNode's containers, in its machine's home.
pub const DATA: &str = "data";
/// The directory of a container's blocks and segments.
pub const BLOCKS: &str = "chunks";

/// Position of the last synced write to a Raft log.
#[derive(Debug, Clone)]
pub struct LogEnd {
    path: PathBuf,
    at: u64,
    len: u64,
}

/// A part of what a machine keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    All,
    /// The Raft logs: they are on a disk of their own.
    Log,
    /// All but the Raft logs.
    State,
    /// The containers of a DataNode; it keeps its id.
    Data,
}

/// A write was synced; remembers those to logs.
pub(super) fn note_end(file: &OpenFile, at: u64, len: u64) {
    if file.path.starts_with(LOG) {
        let end = LogEnd { path: file.path.to_path_buf(), at, len };
        world().files.log_ends.insert(file.machine, end);
    }
}

impl Part {
    /// Returns `true` if a path below a machine's home belongs to it.
    fn has(self, path: &Path) -> bool {
        match self {
            Self::All => true,
            Self::Log => path.starts_with(LOG),
            Self::State => !path.starts_with(LOG),
            Self::Data => path.starts_with(DATA),
        }
    }
}

/// Replaces a part by nothing. The machine's process must not run.
pub fn replace(machine: usize, part: Part) -> io::Result<()> {
    names::forget(machine, |path| part.has(path));
    let home = node::home(machine);
    unobserved(|| {
        let Ok(entries) = fs::read_dir(&home) else { return Ok(()) };
        for entry in entries {
            let entry = entry?;
            match (part.has(Path::new(&entry.file_name())), entry.path().is_dir()) {
                (false, _) => {}
                (true, true) => fs::remove_dir_all(entry.path())?,
                (true, false) => fs::remove_file(entry.path())?,
            }
        }
        Ok(())
    })
}

/// Copies a part of a machine's files over another directory: all data written until now, synced or
/// not, as of one moment.
pub fn copy(machine: usize, part: Part, to: &Path) -> io::Result<()> {
    let home = node::home(machine);
    unobserved(|| {
        if to.exists() {
            fs::remove_dir_all(to)?;
        }
        copy_below(&home, to, &|name| part.has(Path::new(name)))
    })
}

/// Puts what was copied in place of what a part of a machine's disk has. The machine's process must
/// not run.
pub fn put_back(machine: usize, part: Part, from: &Path) -> io::Result<()> {
    replace(machine, part)?;
    let home = node::home(machine);
    unobserved(|| copy_below(from, &home, &|_| true))
}

fn copy_below(from: &Path, to: &Path, which: &dyn Fn(&OsStr) -> bool) -> io::Result<()> {
    // Directories that are still to be copied.
    let mut left = vec![(from.to_owned(), to.to_owned())];
    while let Some((from_dir, to_dir)) = left.pop() {
        fs::create_dir_all(&to_dir)?;
        for entry in fs::read_dir(&from_dir)? {
            let entry = entry?;
            if from_dir == from && !which(&entry.file_name()) {
                continue;
            }
            let target = to_dir.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                left.push((entry.path(), target));
            } else {
                fs::copy(entry.path(), target)?;
            }
        }
    }
    Ok(())
}

/// Flips a bit in one of the machine's files; returns its position.
pub fn rot(machine: usize, random: &mut Random) -> Option<String> {
    let (path, len) = any_file(machine, random, |_| true)?;
    flip(&path, random.below(len), random)
}

/// Flips a bit in one of a DataNode's files of blocks; returns its position.
pub fn rot_block(machine: usize, random: &mut Random) -> Option<String> {
    let (path, len) = any_file(machine, random, is_of_blocks)?;
    flip(&path, random.below(len), random)
}

/// Truncates one of a DataNode's files of blocks, or removes it; returns its position.
pub fn cut_block(machine: usize, random: &mut Random) -> Option<String> {
    let (path, len) = any_file(machine, random, is_of_blocks)?;
    if random.one_in(4) {
        fs::remove_file(&path).ok()?;
        return Some(format!("{} is missing", path.display()));
    }
    let at = random.below(len);
    fs::OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(at)).ok()?;
    Some(format!("{} at {at} of {len}", path.display()))
}

fn is_of_blocks(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == BLOCKS)
}

/// A file of a machine that is not empty, and its length.
fn any_file(
    machine: usize,
    random: &mut Random,
    which: impl Fn(&Path) -> bool,
) -> Option<(PathBuf, u64)> {
    let mut files = Vec::new();
    collect(&node::home(machine), &mut files);
    files.sort_unstable();
    files.retain(|(path, len)| *len > 0 && which(path));
    if files.is_empty() { None } else { Some(random.pick(&files).clone()) }
}

/// Flips a bit in the last synced part of the machine's Raft log; returns its position.
pub fn rot_log_end(machine: usize, random: &mut Random) -> Option<String> {
    let end = world().files.log_ends.get(&machine)?.clone();
    flip(&node::home(machine).join(&end.path), end.at + random.below(end.len), random)
}

fn collect(dir: &Path, into: &mut Vec<(PathBuf, u64)>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => collect(&entry.path(), into),
            Ok(metadata) => into.push((entry.path(), metadata.len())),
            Err(_) => {}
        }
    }
}

fn flip(path: &Path, at: u64, random: &mut Random) -> Option<String> {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).ok()?;
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).ok()?;
    byte[0] ^= 1 << random.below(8);
    file.write_all_at(&byte, at).ok()?;
    Some(format!("{} at {at}", path.display()))
}
