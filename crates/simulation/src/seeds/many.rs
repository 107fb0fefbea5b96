//! Many seeds, each in a process of its own.

use std::collections::{BTreeMap, VecDeque};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::Context;

use super::Many;

/// The directory that a process began in.
const CURRENT_DIR: &str = "/proc/self/cwd";

/// The processor of the first run, among those that this program may use; parallel runs have the
/// next ones. Parallel tests name different ones.
const FIRST_PROCESSOR: &str = "SIMULATION_PROCESSOR";

struct Running {
    seed: u64,
    child: Child,
    dir: PathBuf,
}

#[derive(Default)]
struct Sum {
    runs: u64,
    bad: Vec<u64>,
    seconds: u64,
    answered: u64,
    unknown: u64,
    undecided: u64,
    /// Counts of all runs, by name.
    counts: BTreeMap<String, u64>,
}

/// Counts in the result of a run: `counts={"joined": 3, "keys moved": 1}`.
fn counts(result: &str) -> impl Iterator<Item = (String, u64)> {
    let counts = result.split_once(" counts={").map_or("", |(_, counts)| counts);
    counts.trim_end_matches('}').split(", ").filter_map(|count| {
        let (name, count) = count.split_once(": ")?;
        Some((name.trim_matches('"').to_owned(), count.parse().ok()?))
    })
}

/// The processors that this program may use, as a set with one of them: the one at a place, counted
/// round. `None` where the system does not tell.
fn processor(place: u64) -> Option<libc::cpu_set_t> {
    // SAFETY: a set is numbers, and the call writes no more than the given size.
    let (mut all, mut one) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: as above.
    if unsafe { libc::sched_getaffinity(0, size, &raw mut all) } != 0 {
        return None;
    }
    let numbers = 0..libc::CPU_SETSIZE as usize;
    // SAFETY: the numbers are below the size of a set.
    let usable: Vec<usize> = numbers.filter(|n| unsafe { libc::CPU_ISSET(*n, &all) }).collect();
    let chosen = usable.get(usize::try_from(place).ok()?.checked_rem(usable.len())?)?;
    // SAFETY: as above.
    unsafe { libc::CPU_SET(*chosen, &mut one) };
    Some(one)
}

fn begin(many: &Many, seed: u64, place: u64) -> anyhow::Result<Running> {
    let one = &many.first;
    let base = one.dir.clone().unwrap_or_else(usual_dir);
    let mut dir = base.join(format!("simulation-{seed}"));
    if std::fs::create_dir(&dir).is_err() {
        // Another run of this seed.
        dir = base.join(format!("simulation-{seed}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    }
    let mut command = Command::new(std::env::current_exe()?);
    let scenario = format!("{:?}", one.scenario).to_lowercase();
    let faults = format!("{:?}", one.faults).to_lowercase();
    command.args(["one", "--scenario", &scenario, "--faults", &faults]);
    command.args(["--seed", &seed.to_string()]);
    let settings = format!("{:?}", one.settings).to_lowercase();
    command.args(["--settings", &settings]);
    // The same name in each run: names are in files and logs.
    command.args(["--seconds", &one.seconds.to_string(), "--dir", CURRENT_DIR]).current_dir(&dir);
    command.args(["--log-from", &one.log_from.to_string()]);
    if let Some(script) = &one.script {
        command.args(["--script", script]);
    }
    if let Some(picks) = &one.picks {
        command.arg("--picks").arg(std::path::absolute(picks)?);
    }
    // What the product reads of an environment would differ from one shell to the next.
    command.env_clear().envs(std::env::var_os("RUST_LOG").map(|level| ("RUST_LOG", level)));
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let processor = processor(place);
    // SAFETY: three system calls, which a child may make before it becomes the new program.
    unsafe {
        command.pre_exec(move || {
            // One thread runs at a time: on one processor it is woken sooner, and by less work.
            if let Some(processor) = &processor {
                libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), processor);
            }
            // The same addresses each time: some hashes are of addresses.
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            // The end of this program ends its runs.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    Ok(Running { seed, child: command.spawn()?, dir })
}

/// Memory, if there is a file system of it: no file of a run is kept.
fn usual_dir() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

fn end(running: Running, sum: &mut Sum) -> anyhow::Result<()> {
    let output = running.child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    sum.runs += 1;
    let result = text.lines().find(|line| line.starts_with("result "));
    let number = |name: &str| -> u64 {
        let words = result.unwrap_or_default().split(' ');
        let value = words.filter_map(|w| w.split_once('=')).find(|(n, _)| *n == name);
        value.and_then(|(_, v)| v.parse().ok()).unwrap_or(0)
    };
    sum.seconds += number("seconds");
    sum.answered += number("answered");
    sum.unknown += number("unknown");
    sum.undecided += number("undecided");
    for (name, count) in counts(result.unwrap_or_default()) {
        *sum.counts.entry(name).or_default() += count;
    }
    if !output.status.success() {
        println!("seed {} failed: {}", running.seed, output.status);
        sum.bad.push(running.seed);
    }
    std::fs::remove_dir_all(&running.dir)?;
    Ok(())
}

/// Runs them; false when one found something.
pub fn run(many: &Many) -> anyhow::Result<bool> {
    let began = Instant::now();
    let mut sum = Sum::default();
    let mut running = VecDeque::new();
    let last = many.first.seed.saturating_add(many.count);
    let first_place = std::env::var(FIRST_PROCESSOR).ok().and_then(|place| place.parse().ok());
    let first_place: u64 = first_place.unwrap_or_else(|| u64::from(std::process::id()));
    for seed in many.first.seed..last {
        if running.len() as u64 >= many.jobs.max(1)
            && let Some(first) = running.pop_front()
        {
            end(first, &mut sum)?;
        }
        let place = (seed - many.first.seed) % many.jobs.max(1);
        running.push_back(begin(many, seed, first_place.wrapping_add(place))?);
    }
    for left in running {
        end(left, &mut sum)?;
    }
    if !sum.counts.is_empty() {
        println!("counts of all runs: {:?}", sum.counts);
    }
    let is_missing = |name: &&String| sum.counts.get(*name).is_none_or(|count| *count == 0);
    let missing: Vec<&String> = many.expect.iter().filter(is_missing).collect();
    if !missing.is_empty() {
        println!("no run has counted any of {missing:?}");
    }
    let (hours, seconds) = (sum.seconds as f64 / 3600.0, began.elapsed().as_secs_f64());
    let runs = format!("{} runs, {hours:.2} simulated hours in {seconds:.0} s", sum.runs);
    // A script makes no history: the calls of its clients are not counted.
    match &many.first.script {
        Some(script) if sum.bad.is_empty() => println!("{runs}: {script} passed"),
        Some(script) => println!("{runs}: {script} failed: {:?}", sum.bad),
        None => println!(
            "{runs}: {} calls answered, {} of unknown outcome, {} histories undecided, failed: {:?}",
            sum.answered, sum.unknown, sum.undecided, sum.bad,
        ),
    }
    Ok(sum.bad.is_empty() && missing.is_empty())
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn the_counts_of_a_result_are_read() {
        let result = "result seed=1 faults={\"kill\": 2} counts={\"joined\": 3, \"keys moved\": 1}";
        let found: Vec<_> = counts(result).collect();
        assert_eq!(found, [("joined".to_owned(), 3), ("keys moved".to_owned(), 1)]);
        assert_eq!(counts("result seed=1 counts={}").count(), 0);
        assert_eq!(counts("").count(), 0);
    }
}
