//! Cost of many idle groups, and leaks after groups are removed.
//!
//! `resting_groups [--groups N] [--seconds N] [--cycles N] [--dir DIR]`
//!
//! Three processes, one host each, communicate over real connections. First they run `--groups`
//! groups without a proposal for `--seconds`; then they create `--cycles` groups, add entries to
//! each and destroy them again. All results are per process.

mod bench;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use benchmark::{cpu_time, record};
use framed::{Server, ServerOptions};
use multiraft::framed::{FramedTransport, Methods, RaftEndpoint};
use multiraft::{Group, GroupConfig, HostOptions, LogHandle, LogOptions, Peer, Proposal, RaftHost};
use uuid::Uuid;

use crate::bench::{Nothing, argument, directory};

type Failure = Box<dyn std::error::Error>;

const METHODS: Methods = Methods { messages: 1, snapshot: 2, fetch: 3 };
const MEMBERS: usize = 3;
/// Groups that are created and destroyed at a time.
const AT_ONCE: usize = 100;
/// Entries per group.
const ENTRIES: usize = 10;

/// Resident memory of this process in KiB.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn node(n: usize) -> Uuid {
    Uuid::from_u128(0x1000_0000_0000_0000_0000_0000_0000_0000 + n as u128)
}

fn group(n: usize) -> Uuid {
    // As random as group ids, and the same in every process.
    let mixed = (n as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    Uuid::from_u128(mixed)
}

/// One of the three processes: executes commands line by line.
struct Member {
    me: usize,
    host: RaftHost,
    log: LogHandle,
    addresses: Vec<String>,
}

impl Member {
    fn start(&self, n: usize) -> Result<Group, Failure> {
        let peer = |(m, address): (usize, &String)| Peer {
            node: node(m),
            address: address.clone(),
            priority: i64::from(n % MEMBERS == m),
        };
        let peers = self.addresses.iter().enumerate().map(peer).collect();
        let config = GroupConfig::new(group(n), node(self.me), peers, self.log.clone());
        Ok(self.host.start_group(config, Box::new(Nothing::default()))?)
    }

    /// Starts the groups, and returns when those assigned to this member have it as leader.
    async fn open(&self, from: usize, to: usize) -> Result<Vec<Group>, Failure> {
        let mut mine = Vec::new();
        for n in from..to {
            let group = self.start(n)?;
            if n % MEMBERS == self.me {
                mine.push(group);
            }
        }
        for group in &mine {
            group.leader_changes().wait_for(|l| l.ready).await?;
        }
        Ok(mine)
    }

    async fn fill(&self, from: usize, to: usize) -> Result<(), Failure> {
        let groups = self.open(from, to).await?;
        let entry = |g: &Group| g.submit(Proposal::new(vec![7u8; 1024]));
        for _ in 0..ENTRIES {
            let waiting: Vec<_> = groups.iter().map(entry).collect::<Result<_, _>>()?;
            for reply in waiting {
                reply.await??;
            }
        }
        Ok(())
    }

    async fn rest(&self, seconds: usize) -> Result<String, Failure> {
        let frames = || {
            let values = self.host.metrics().snapshot();
            values.into_iter().find(|(name, _)| *name == "frames_sent").map_or(0, |(_, n)| n)
        };
        let (before, sent, began) = (cpu_time(), frames(), Instant::now());
        tokio::time::sleep(Duration::from_secs(seconds as u64)).await;
        let share = (cpu_time() - before).as_secs_f64() / began.elapsed().as_secs_f64() * 100.0;
        let frames = (frames() - sent) as f64 / began.elapsed().as_secs_f64();
        Ok(format!("{share:.2} {frames:.1}"))
    }

    async fn obey(&self, line: &str) -> Result<String, Failure> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |n: usize| words.get(n).and_then(|w| w.parse::<usize>().ok()).unwrap_or(0);
        match words.first() {
            Some(&"open") => drop(self.open(number(1), number(2)).await?),
            Some(&"fill") => self.fill(number(1), number(2)).await?,
            Some(&"close") => {
                let gone = (number(1)..number(2)).map(|n| self.host.remove_group(group(n)));
                for result in futures::future::join_all(gone).await {
                    result?;
                }
            }
            Some(&"rest") => return self.rest(number(1)).await,
            Some(&"resident") => return Ok(resident().to_string()),
            _ => return Err(format!("not understood: {line}").into()),
        }
        Ok(String::from("done"))
    }
}

async fn member(me: usize, dir: &Path) -> Result<(), Failure> {
    let transport = FramedTransport::new(METHODS, Duration::from_secs(5));
    let host = RaftHost::start(HostOptions::new(node(me)), transport)?;
    let log = host.open_log(&dir.join(me.to_string()), LogOptions::default())?;
    let endpoint = RaftEndpoint::new(host.clone(), METHODS);
    let server = Server::bind("127.0.0.1:0", endpoint, ServerOptions::default()).await?;
    println!("{}", server.local_addr());
    let mut lines = std::io::stdin().lines();
    let all = lines.next().ok_or("no addresses")??;
    let addresses = all.split_whitespace().map(String::from).collect();
    let member = Member { me, host, log, addresses };
    for line in lines {
        println!("{}", member.obey(&line?).await?);
    }
    member.host.shutdown().await;
    member.log.close();
    server.shutdown().await;
    Ok(())
}

struct Process {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

struct Processes(Vec<Process>);

impl Processes {
    fn start(dir: &Path) -> Result<Self, Failure> {
        let mut all = Self(Vec::new());
        for me in 0..MEMBERS {
            let mut child = Command::new(std::env::current_exe()?)
                .args(["--member", &me.to_string(), "--dir"])
                .arg(dir)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let orders = child.stdin.take().ok_or("no stdin")?;
            let answers = BufReader::new(child.stdout.take().ok_or("no stdout")?);
            all.0.push(Process { child, orders, answers });
        }
        let addresses = all.answers()?.join(" ");
        all.order(&addresses)?;
        Ok(all)
    }

    fn order(&mut self, line: &str) -> Result<(), Failure> {
        self.0.iter_mut().try_for_each(|p| writeln!(p.orders, "{line}")).map_err(Failure::from)
    }

    fn answers(&mut self) -> Result<Vec<String>, Failure> {
        let read = |p: &mut Process| {
            let mut line = String::new();
            p.answers.read_line(&mut line)?;
            if line.is_empty() { Err(Failure::from("a member ended")) } else { Ok(line) }
        };
        self.0.iter_mut().map(read).map(|line| Ok(line?.trim().to_owned())).collect()
    }

    /// Sends all of them the same command, and waits for it.
    fn all(&mut self, line: &str) -> Result<Vec<String>, Failure> {
        self.order(line)?;
        self.answers()
    }

    fn end(self) -> Result<(), Failure> {
        for process in self.0 {
            let Process { mut child, orders, answers } = process;
            drop((orders, answers));
            child.wait()?;
        }
        Ok(())
    }
}

fn main() -> Result<(), Failure> {
    let parent = directory();
    if std::env::args().any(|a| a == "--member") {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        return runtime.block_on(member(argument("--member", 0), Path::new(&parent)));
    }
    let (groups, seconds) = (argument("--groups", 1000), argument("--seconds", 10));
    let cycles = argument("--cycles", 10_000);
    let dir = tempfile::tempdir_in(&parent)?;
    let mut processes = Processes::start(dir.path())?;
    let memory = |all: Vec<String>| all.iter().filter_map(|n| n.parse::<f64>().ok()).sum::<f64>();
    let members = MEMBERS as f64;

    let before = memory(processes.all("resident")?);
    processes.all(&format!("open 0 {groups}"))?;
    std::thread::sleep(Duration::from_secs(3));
    let after = memory(processes.all("resident")?);
    let each = (after - before) / members / groups as f64;
    println!("{groups} groups: {each:.1} KiB each");
    record("multiraft/memory of a resting group", each, "KiB");
    for (n, answer) in processes.all(&format!("rest {seconds}"))?.iter().enumerate() {
        let (share, frames) = answer.split_once(' ').ok_or("no figures")?;
        println!("process {n} at rest: {share} % of a core, {frames} frames/s");
        let name = format!("multiraft/CPU of {groups} resting groups, process {n}");
        record(&name, share.parse()?, "% of a core");
    }
    processes.all(&format!("close 0 {groups}"))?;

    for from in (groups..groups + cycles).step_by(AT_ONCE) {
        let done = from - groups;
        if done.is_multiple_of((cycles / 10).max(AT_ONCE)) {
            let resident = memory(processes.all("resident")?) / members / 1024.0;
            println!("{done} groups created and destroyed: {resident:.1} MiB resident");
        }
        let to = (from + AT_ONCE).min(groups + cycles);
        processes.all(&format!("fill {from} {to}"))?;
        processes.all(&format!("close {from} {to}"))?;
    }
    let resident = memory(processes.all("resident")?) / members / 1024.0;
    println!("{cycles} groups created and destroyed: {resident:.1} MiB resident");
    record(&format!("multiraft/memory after {cycles} groups came and went"), resident, "MiB");
    processes.end()
}
