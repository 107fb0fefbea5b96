//! Parsers against damaged and made-up bytes: cut, flipped, spliced, random. `make fuzz` runs the
//! same targets with libFuzzer, which looks for inputs that reach new code; what it finds is kept
//! in `fuzz/regressions` and read here, at every run of the tests.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a target is tried in a usual run of the tests; `FUZZ_SECONDS` says otherwise.
const DURATION: Duration = Duration::from_millis(300);

/// An input that takes longer than this hangs, on a machine that does other things too.
const HANG: Duration = Duration::from_secs(5);

/// Largest input that is made.
const LARGEST: usize = 4 << 10;

/// What one allocation may take, whatever the input.
const ALLOCATION: usize = 256 << 10;

/// What one allocation may take besides for each byte of input: a parser takes memory for what is
/// there, not for what a length says.
const ALLOCATION_PER_BYTE: usize = 64;

/// A parser of bytes from the wire or a disk, with the bytes that it is meant for.
pub type FuzzTarget = (&'static str, fn(&[u8]), Vec<Vec<u8>>);

thread_local! {
    /// The largest allocation of this thread since it was last set.
    static LARGEST_ALLOCATION: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which notes how much was asked for at once.
struct Noting;

fn note(size: usize) {
    // A thread that ends has no cell any more, and is of no interest.
    let _ = LARGEST_ALLOCATION.try_with(|largest| largest.set(largest.get().max(size)));
}

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: the caller's promise is the one that is asked for.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Noting = Noting;

/// Runs targets: every regression, every seed, and until the time is over these cut anywhere, and
/// inputs made of them.
///
/// # Panics
/// When a target panics, hangs, or takes more memory at once than its input warrants. The input is
/// printed as hexadecimal digits.
pub fn fuzz(targets: Vec<FuzzTarget>) {
    let seconds = std::env::var("FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let duration = seconds.map_or(DURATION, Duration::from_secs);
    for (name, run, seeds) in targets {
        let mut inputs = regressions(name);
        inputs.extend(seeds);
        inputs.push(Vec::new());
        inputs.iter().for_each(|input| check(name, run, input));
        let (mut random, until) = (Random::new(name), Instant::now() + duration);
        let cuts = inputs.iter().flat_map(|input| (0..input.len()).map(|cut| &input[..cut]));
        for cut in cuts {
            // A parser that takes long for an input is not tried with every end.
            if Instant::now() >= until {
                break;
            }
            check(name, run, cut);
        }
        let mut count = 0_u64;
        while Instant::now() < until {
            for _ in 0..16 {
                let input = random.mutated(&inputs);
                check(name, run, &input);
                count += 1;
            }
        }
        if seconds.is_some() {
            println!("{name}: {count} inputs");
        }
    }
}

/// What was once found of this target.
fn regressions(name: &str) -> Vec<Vec<u8>> {
    let Some(root) = std::env::var_os("CARGO_MANIFEST_DIR") else { return Vec::new() };
    let dir = PathBuf::from(root).join("../../fuzz/regressions").join(name);
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    entries.flatten().filter_map(|entry| std::fs::read(entry.path()).ok()).collect()
}

fn check(name: &str, run: fn(&[u8]), input: &[u8]) {
    let began = Instant::now();
    LARGEST_ALLOCATION.with(|largest| largest.set(0));
    let outcome = catch_unwind(AssertUnwindSafe(|| run(black_box(input))));
    let allocated = LARGEST_ALLOCATION.with(Cell::get);
    let shown = || input.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    if let Err(panic) = outcome {
        eprintln!("{name} panics on {}", shown());
        resume_unwind(panic);
    }
    let took = began.elapsed();
    assert!(took < HANG, "{name} takes {took:?} for {}", shown());
    let allowed = ALLOCATION + ALLOCATION_PER_BYTE * input.len();
    assert!(allocated <= allowed, "{name} takes {allocated} bytes at once for {}", shown());
}

/// Numbers that parsers go wrong at.
const EDGES: [u64; 12] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    i64::MAX as u64,
    u64::MAX,
];

/// splitmix64, from `FUZZ_SEED` and the name of the target: the same inputs in every run.
struct Random(u64);

impl Random {
    fn new(name: &str) -> Self {
        let seed = std::env::var("FUZZ_SEED").ok().and_then(|text| text.parse().ok());
        Self(name.bytes().fold(seed.unwrap_or(1), |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// One of the inputs, changed in a few places; sometimes bytes without any meaning.
    fn mutated(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut input = match inputs.get(self.below(inputs.len() + 1)) {
            Some(input) => input.clone(),
            None => (0..self.below(64)).map(|_| self.next() as u8).collect(),
        };
        for _ in 0..=self.below(4) {
            self.mutate(&mut input, inputs);
        }
        input.truncate(LARGEST);
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>, inputs: &[Vec<u8>]) {
        let at = self.below(input.len());
        match self.below(8) {
            0 => input.truncate(at),
            1 => input.insert(at.min(input.len()), self.next() as u8),
            2 if !input.is_empty() => input[at] ^= 1 << self.below(8),
            3 if !input.is_empty() => input[at] = self.next() as u8,
            4 => {
                // A length or count that is not true, in either order of bytes.
                let width = [1, 2, 4, 8][self.below(4)];
                let number = EDGES[self.below(EDGES.len())];
                let bytes = match self.below(2) {
                    0 => number.to_le_bytes()[..width].to_vec(),
                    _ => number.to_be_bytes()[8 - width..].to_vec(),
                };
                let end = (at + width).min(input.len());
                input.splice(at..end, bytes);
            }
            5 => {
                let to = at + self.below(input.len() - at + 1);
                drop(input.drain(at..to));
            }
            6 => {
                let to = at + self.below((input.len() - at).min(64) + 1);
                let again = input[at..to].to_vec();
                input.splice(at..at, again);
            }
            _ => {
                let Some(other) = inputs.get(self.below(inputs.len())) else { return };
                let from = self.below(other.len());
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(run: fn(&[u8])) -> bool {
        let targets = vec![("testkit", run, vec![b"length\x04\0\0\0abcd".to_vec()])];
        catch_unwind(|| fuzz(targets)).is_err()
    }

    #[test]
    fn a_panic_and_memory_for_a_length_that_is_not_true_are_found() {
        assert!(!found(|input| drop(input.to_vec())));
        assert!(found(|input| assert!(input.len() < 11 || input[6] < 0x80)));
        assert!(found(|input| {
            if let Some(length) = input.get(6..10) {
                let length = u32::from_le_bytes(length.try_into().unwrap());
                drop(black_box(Vec::<u8>::with_capacity(length as usize)));
            }
        }));
    }
}
