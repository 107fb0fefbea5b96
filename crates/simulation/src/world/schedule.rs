//! The schedule: one thread runs at a time, the next one picked by the seed.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::c_int;
use rustc_hash::FxHashMap;

use super::memory::aside;
use super::{World, real, world};

/// Objects that threads wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// A lock at an address.
    At(usize),
    /// The end of a thread.
    Join(usize),
    /// Something ready on an epoll.
    Epoll(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Ready,
    Waiting,
    Done,
}

struct Thread {
    process: usize,
    /// Whose the threads are that it starts, when not its own's.
    starts: Option<usize>,
    name: String,
    state: State,
    /// Opened by the thread that picks this one.
    gate: &'static AtomicU32,
    /// Counts its waits, so that a timer of an earlier one is recognized.
    waits: u64,
    /// Total suspension of its machine at the start of the last wait.
    slept: u64,
    woken: bool,
    /// Locks of the C library that it holds.
    locks: i32,
}

/// Event that becomes due.
pub enum Due {
    /// A thread's wait, by its number.
    Wait(usize, u64),
    /// Anything.
    Call(Box<dyn FnOnce(&mut World)>),
}

struct Timer {
    at: u64,
    order: u64,
    due: Due,
}

impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for Timer {}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// The threads of a world, and which of them runs when.
#[derive(Default)]
pub struct Schedule {
    threads: Vec<Thread>,
    ready: Vec<usize>,
    timers: BinaryHeap<Reverse<Timer>>,
    order: u64,
    queues: FxHashMap<Key, VecDeque<usize>>,
    switches: u64,
    trace: u64,
    /// Descriptor of the trace of picks, and its unwritten part.
    picks: Option<(c_int, String)>,
    /// A runnable thread yields once in this many times; 0: never.
    restless: u64,
    /// The same where a thread reads a clock, or takes a lock of the C library; 0: never.
    anywhere: u64,
}

thread_local! {
    static ME: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The calling thread's number, when it is one of the world's.
pub(super) fn me() -> Option<usize> {
    let me = ME.get();
    (me != usize::MAX).then_some(me)
}

/// The calling thread is the first.
pub(super) fn begin() {
    let first = world().add_thread();
    let schedule = &mut world().schedule;
    schedule.ready.clear();
    schedule.threads[first].state = State::Running;
    ME.set(first);
}

/// The calling thread takes its reserved place, and waits until it is picked.
pub(super) fn enter(number: usize) {
    wait_at_gate(world_gate(number));
    ME.set(number);
}

fn world_gate(number: usize) -> &'static AtomicU32 {
    world().schedule.threads[number].gate
}

fn wait_at_gate(gate: &'static AtomicU32) {
    while gate.swap(0, Ordering::Acquire) == 0 {
        let op = i64::from(libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG);
        // SAFETY: the gate lives for ever; a wake in between is seen by the swap.
        unsafe { real::syscall(libc::SYS_futex, gate.as_ptr() as i64, op, 0, 0, 0, 0) };
    }
}

fn open_gate(gate: &'static AtomicU32) {
    gate.store(1, Ordering::Release);
    let op = i64::from(libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG);
    // SAFETY: the gate lives for ever.
    unsafe { real::syscall(libc::SYS_futex, gate.as_ptr() as i64, op, 1, 0, 0, 0) };
}

/// Ends the calling thread: lets the next one run, permanently.
pub(super) fn finish() {
    let Some(me) = me() else { return };
    world().schedule.threads[me].state = State::Done;
    wake(Key::Join(me), usize::MAX);
    let next = world().pick();
    let gate = world_gate(next);
    ME.set(usize::MAX);
    open_gate(gate);
}

/// Lets others run until another thread wakes this one (true) or the deadline is past (false).
pub fn park(deadline: Option<u64>) -> bool {
    let Some(me) = me() else { return false };
    let process = world().schedule.threads[me].process;
    let slept = world().slept(process);
    let schedule = &mut world().schedule;
    let thread = &mut schedule.threads[me];
    thread.waits += 1;
    thread.slept = slept;
    (thread.state, thread.woken) = (State::Waiting, false);
    let waits = thread.waits;
    if let Some(at) = deadline {
        schedule.at(at, Due::Wait(me, waits));
    }
    switch_from(me);
    world().schedule.threads[me].woken
}

/// Waits in line for `key`.
pub fn wait_on(key: Key, deadline: Option<u64>) -> bool {
    let Some(me) = me() else { return false };
    world().schedule.queues.entry(key).or_default().push_back(me);
    let woken = park(deadline);
    if !woken && let Some(queue) = world().schedule.queues.get_mut(&key) {
        queue.retain(|waiting| *waiting != me);
    }
    woken
}

/// Wakes up to `most` threads that wait for `key`.
pub fn wake(key: Key, most: usize) -> usize {
    world().wake(key, most)
}

/// Lets another thread run; this one stays runnable.
pub fn yield_now() {
    let Some(me) = me() else { return };
    world().make_ready(me, true);
    switch_from(me);
}

/// Sometimes lets another thread run.
pub fn maybe_yield() {
    let world = world();
    let restless = world.schedule.restless;
    if restless > 0 && !world.schedule.ready.is_empty() && world.random.one_in(restless) {
        yield_now();
    }
}

/// Lets another thread run where this one reads a clock or takes a lock, if the run is configured
/// so: it may be in the middle of any code. The observer is excluded.
pub(super) fn give_way() {
    let world = world();
    let once_in = world.schedule.anywhere;
    if once_in > 0
        && world.schedule.process_of_me() != 0
        && !world.schedule.ready.is_empty()
        && world.random.one_in(once_in)
    {
        yield_now();
    }
}

fn switch_from(me: usize) {
    let next = world().pick();
    if next != me {
        let mine = world_gate(me);
        open_gate(world_gate(next));
        wait_at_gate(mine);
    }
}

impl Schedule {
    fn at(&mut self, at: u64, due: Due) {
        self.order += 1;
        self.timers.push(Reverse(Timer { at, order: self.order, due }));
    }

    pub(super) fn process_of_me(&self) -> usize {
        me().map_or(0, |me| self.threads[me].process)
    }

    /// Records a pick in the trace: two runs that diverge show the first thread that behaved
    /// differently.
    fn trace_pick(&mut self, number: usize, now: u64) {
        let Some((fd, text)) = &mut self.picks else { return };
        let Thread { process, name, .. } = &self.threads[number];
        aside(|| _ = writeln!(text, "{} {now} {number} {process} {name}", self.switches));
        if text.len() > 1 << 20 {
            // SAFETY: the text has this length.
            unsafe { real::write(*fd, text.as_ptr().cast(), text.len()) };
            text.clear();
        }
    }
}

impl World {
    fn make_ready(&mut self, number: usize, woken: bool) {
        let thread = &mut self.schedule.threads[number];
        (thread.state, thread.woken) = (State::Ready, woken);
        self.make_runnable(number);
    }

    /// A thread may be picked from now on, unless its machine is suspended.
    pub(super) fn make_runnable(&mut self, number: usize) {
        let Thread { process, locks, state, .. } = self.schedule.threads[number];
        if state == State::Ready && (locks > 0 || !self.holds_back(process, number)) {
            self.schedule.ready.push(number);
        }
    }

    /// Threads of a machine that are not picked any more, for the time being.
    pub(super) fn hold_threads(&mut self, machine: usize) -> Vec<usize> {
        let Schedule { threads, ready, .. } = &mut self.schedule;
        let processes = &self.processes;
        let (held, left) = std::mem::take(ready).into_iter().partition(|number| {
            let thread = &threads[*number];
            processes[thread.process].machine == machine && thread.locks <= 0
        });
        *ready = left;
        held
    }

    /// The time of a wait is over that began before its machine was suspended: it waits on for as
    /// long as that was.
    pub(super) fn extend_wait(&mut self, number: usize, waits: u64, due: u64) {
        let slept = self.slept(self.schedule.threads[number].process);
        let thread = &mut self.schedule.threads[number];
        if thread.waits == waits {
            let longer = slept - thread.slept;
            thread.slept = slept;
            self.schedule.at(due + longer, Due::Wait(number, waits));
        }
    }

    /// The time of a wait is over.
    fn wait_ends(&mut self, number: usize, waits: u64, due: u64) {
        let thread = &self.schedule.threads[number];
        let (process, before) = (thread.process, thread.slept);
        if thread.state != State::Waiting || thread.waits != waits {
            return;
        }
        if self.holds_wait(process, (number, waits, due)) {
            return;
        }
        match self.slept(process) > before {
            true => self.extend_wait(number, waits, due),
            false => self.make_ready(number, false),
        }
    }

    /// Has something done at a time.
    pub fn at(&mut self, at: u64, call: impl FnOnce(&mut World) + 'static) {
        self.schedule.at(at, Due::Call(Box::new(call)));
    }

    /// Adds a line to the trace of picks, if there is one.
    pub fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some((_, text)) = &mut self.schedule.picks {
            aside(|| _ = writeln!(text, "{}", what()));
        }
    }

    /// Has each pick written to a descriptor.
    pub fn trace_picks(&mut self, to: c_int) {
        self.schedule.picks = Some((to, String::new()));
    }

    /// Makes runnable threads yield once in `once_in` times.
    pub fn preempt_once_in(&mut self, once_in: u64) {
        self.schedule.restless = once_in;
    }

    /// The same where threads read clocks and take locks of the C library.
    pub fn preempt_anywhere_once_in(&mut self, once_in: u64) {
        self.schedule.anywhere = once_in;
    }

    /// Number of thread switches, and a hash that two runs share only if their courses were the
    /// same.
    pub fn trace(&self) -> (u64, u64) {
        (self.schedule.switches, self.schedule.trace)
    }

    pub(super) fn add_thread(&mut self) -> usize {
        let threads = &self.schedule.threads;
        let process = me().map_or(0, |me| threads[me].starts.unwrap_or(threads[me].process));
        let number = self.schedule.threads.len();
        self.schedule.threads.push(Thread {
            process,
            starts: None,
            name: String::new(),
            state: State::Ready,
            gate: Box::leak(Box::new(AtomicU32::new(0))),
            waits: 0,
            slept: 0,
            woken: true,
            locks: 0,
        });
        self.make_runnable(number);
        number
    }

    pub(super) fn name_thread(&mut self, number: usize, name: String) {
        self.schedule.threads[number].name = name;
    }

    /// Threads that the calling one starts from now on are of another process, or of its own again.
    pub(super) fn start_for(&mut self, process: Option<usize>) {
        if let Some(me) = me() {
            self.schedule.threads[me].starts = process;
        }
    }

    pub(super) fn is_done(&self, number: usize) -> bool {
        self.schedule.threads[number].state == State::Done
    }

    /// Returns `true` if a thread's process has not been killed.
    pub(super) fn is_alive(&self, number: usize) -> bool {
        self.processes[self.schedule.threads[number].process].alive
    }

    /// Counts the C library's locks that the thread holds.
    pub(super) fn holds(&mut self, really: bool, more: i32) {
        if really && let Some(me) = me() {
            self.schedule.threads[me].locks += more;
        }
    }

    /// Never picks a thread of that process again, except those that hold a lock of the C library,
    /// for which threads of other processes may wait. Returns `true` if the calling thread is
    /// forgotten.
    pub(super) fn forget_threads(&mut self, process: usize) -> bool {
        let Schedule { threads, ready, .. } = &mut self.schedule;
        let ends = |thread: &Thread| thread.process == process && thread.locks <= 0;
        ready.retain(|number| !ends(&threads[*number]));
        for thread in threads.iter_mut().filter(|t| ends(t)) {
            thread.state = State::Done;
        }
        me().is_some_and(|me| ends(&threads[me]))
    }

    /// Wakes up to `most` threads that wait for `key`; the dead do not count.
    pub fn wake(&mut self, key: Key, most: usize) -> usize {
        let Some(mut queue) = self.schedule.queues.remove(&key) else { return 0 };
        let mut woken = 0;
        while woken < most
            && let Some(number) = queue.pop_front()
        {
            if self.schedule.threads[number].state == State::Waiting {
                self.make_ready(number, true);
                woken += 1;
            }
        }
        if !queue.is_empty() {
            self.schedule.queues.insert(key, queue);
        }
        woken
    }

    /// The thread that runs next; time advances when none can.
    fn pick(&mut self) -> usize {
        loop {
            let none = self.schedule.ready.is_empty();
            let due = |timer: &Reverse<Timer>| timer.0.at <= self.now || none;
            if self.schedule.timers.peek().is_some_and(due)
                && let Some(Reverse(timer)) = self.schedule.timers.pop()
            {
                self.now = self.now.max(timer.at);
                match timer.due {
                    Due::Call(call) => call(self),
                    Due::Wait(number, waits) => self.wait_ends(number, waits, timer.at),
                }
                continue;
            }
            if none {
                self.stuck();
            }
            let ready = self.schedule.ready.len() as u64;
            let at = if ready == 1 { 0 } else { self.random.below(ready) };
            let schedule = &mut self.schedule;
            let next = schedule.ready.swap_remove(at as usize);
            schedule.threads[next].state = State::Running;
            schedule.switches += 1;
            schedule.trace = (schedule.trace.rotate_left(5) ^ (next as u64) ^ self.now)
                .wrapping_mul(0x517c_c1b7_2722_0a95);
            schedule.trace_pick(next, self.now);
            return next;
        }
    }

    fn stuck(&self) -> ! {
        for (number, thread) in self.schedule.threads.iter().enumerate() {
            if thread.state == State::Waiting {
                let waits_for = self.schedule.queues.iter().find(|(_, q)| q.contains(&number));
                let (process, name) = (thread.process, &thread.name);
                let key = waits_for.map(|(key, _)| *key);
                real::say(&format!("thread {number} {name} of process {process}: {key:?}\n"));
            }
        }
        real::fatal("all threads wait and nothing is due")
    }
}
