//! Faults of a run.

use clap::ValueEnum;

use crate::world::disk::Contract;
use crate::world::disk::names::Names;
use crate::world::hooks::Hooks;
use crate::world::random::Random;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A process is killed, or its machine loses power.
    Down,
    /// The same before one of its next writes.
    Crash,
    /// Messages from a machine to some others do not arrive.
    OneWay,
    /// The machines are in two parts.
    Partition,
    /// Messages of a machine take long.
    SlowLinks,
    /// Syncs of a machine take long.
    SlowDisk,
    /// A disk is full.
    FullDisk,
    /// A calendar jumps.
    Calendar,
    /// A single link is cut for minutes: longer than any time-out.
    LongCut,
    /// A disk is lost and replaced by an empty one.
    LostDisk,
    /// Only the directory of a Raft log is lost.
    LostLog,
    /// All is lost but the Raft log.
    LostState,
    /// The containers of a DataNode are lost, and not its identity.
    LostData,
    /// A disk is lost while its machine still catches up from the last loss.
    LostAgain,
    /// A bit flips in what was synced last to a Raft log.
    RottenLogEnd,
    /// A bit flips anywhere.
    Rot,
    /// A bit flips in a file of blocks, at times while the server runs.
    RottenBlock,
    /// A file of blocks is cut off, or removed, at times while the server runs.
    CutBlock,
    /// An fsync fails, and the unsynced data is dropped.
    SyncErrors,
    /// Reads fail.
    ReadErrors,
    /// Writes fail.
    WriteErrors,
    /// Writes are confirmed and lost, or go to another place.
    WrongWrites,
    /// A hostile client sends garbage, and requests with absurd numbers.
    Stranger,
    /// An operator takes servers out of service, and back; members of Raft groups join and leave.
    Leave,
    /// Bytes between servers flip, are lost, or are duplicated, immediately or seconds later.
    Mangle,
    /// A machine is suspended, for longer than any lease.
    Suspend,
    /// The leader of a pipeline is cut off from all SCMs for a while, and then loses its disk.
    IsolatedLeader,
    /// Syncs of blocks and segments fail on a DataNode, and the unsynced data is dropped.
    BlockSyncErrors,
    /// A server returns to service while another one is cut off from all SCMs.
    RecommissionBesideStale,
    /// OMs and SCMs join their services and are decommissioned.
    ServiceMembers,
    /// An operator makes, compares and deletes snapshots of buckets.
    Snapshots,
    /// Copies of OMs' tables are taken.
    Copies,
    /// An OM gets a snapshot while a reader has its tables.
    BlockedReader,
}

impl Kind {
    /// Returns `true` if a process of the scenario causes it, not the nemesis.
    pub fn is_of_a_process(self) -> bool {
        matches!(
            self,
            Self::Stranger
                | Self::Leave
                | Self::IsolatedLeader
                | Self::BlockSyncErrors
                | Self::RecommissionBesideStale
                | Self::ServiceMembers
                | Self::Snapshots
                | Self::Copies
                | Self::BlockedReader
        )
    }
}

/// Original faults of every run; the order is that of the numbers that the seed picks.
const USUAL_KINDS: [Kind; 10] = [
    Kind::Down,
    Kind::Down,
    Kind::Crash,
    Kind::Crash,
    Kind::OneWay,
    Kind::Partition,
    Kind::SlowLinks,
    Kind::SlowDisk,
    Kind::FullDisk,
    Kind::Calendar,
];

/// Faults of disks that violate their contract. Only the frail members of a group have them.
const BAD_DISKS: [Kind; 7] = [
    Kind::LostDisk,
    Kind::LostLog,
    Kind::LostAgain,
    Kind::RottenLogEnd,
    Kind::SyncErrors,
    Kind::ReadErrors,
    Kind::WriteErrors,
];

/// Ends of processes, slow links and slow disks.
const FEW_KINDS: [Kind; 4] = [Kind::Down, Kind::Crash, Kind::SlowLinks, Kind::SlowDisk];

/// Members come and go while links are cut for minutes.
const CHANGES_OF_MEMBERS: [Kind; 6] =
    [Kind::LongCut, Kind::LongCut, Kind::LongCut, Kind::LongCut, Kind::Leave, Kind::Partition];

/// Faults in the scenario of erasure-coded keys: some hit any server, others damage the disks of at
/// most `parity` DataNodes.
pub const OF_ERASURE_CODED: [Kind; 17] = [
    Kind::Down,
    Kind::Down,
    Kind::Crash,
    Kind::Crash,
    Kind::Crash,
    Kind::SlowLinks,
    Kind::SlowDisk,
    Kind::FullDisk,
    Kind::LongCut,
    Kind::LongCut,
    Kind::LostDisk,
    Kind::LostData,
    Kind::RottenBlock,
    Kind::CutBlock,
    Kind::WrongWrites,
    Kind::ReadErrors,
    Kind::SyncErrors,
];

/// A choice of faults, for the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Faults {
    /// Processes end, power and links fail, disks are slow and full.
    Usual,
    /// The same, and disks that lose and spoil what was synced.
    Disks,
    /// The same as the first, and fsyncs that fail.
    Fsyncs,
    /// Single links are cut for minutes, and a disk may be lost after it.
    Cuts,
    /// Servers are taken out of service and back, and links are cut for minutes.
    Members,
    /// OMs and SCMs join their services and are decommissioned, and disks are lost.
    Services,
    /// OMs compact, take apart what was deleted, and keep snapshots all the time, and copies of
    /// their tables are taken; disks are full, links are cut, and an OM may lose its disk.
    Maintenance,
    /// OMs get snapshots of their leader while readers have their tables, and start again.
    Checkpoints,
    /// A hostile client sends garbage and absurd numbers.
    Hostile,
    /// Keys are erasure coded; disks are lost, links are cut for minutes, servers are taken out of
    /// service and back.
    Erasure,
    /// Bytes between servers change in transit, and whole messages are repeated much later.
    Mangled,
    /// Machines are suspended.
    Suspends,
    /// The first, and what systems may do and hardly ever do: see `world::hooks`.
    Hooks,
    /// Each seed has some of all.
    Any,
    /// All members of a group are down while SCM starts, and come back a few at a time.
    Absent,
    /// Disks of DataNodes fail separately, and come back.
    Volumes,
    /// Links between DataNodes are cut, and no others.
    Apart,
    /// Disks of several types, storage policies that change, and the mover.
    Tiers,
}

impl Faults {
    /// Rates of rare system behaviour.
    pub fn hooks(self, random: &mut Random) -> Hooks {
        match self {
            Self::Hooks => Hooks::of_seed(random),
            Self::Any if random.one_in(2) => Hooks::of_seed(random),
            _ => Hooks::default(),
        }
    }

    /// The kinds of faults of a run, each as often as it is in the list, and what disks may do.
    pub fn of_seed(self, random: &mut Random) -> (Vec<Kind>, Contract) {
        if self == Self::Usual {
            return (USUAL_KINDS.to_vec(), Contract::default());
        }
        let names = *random.pick(&[Names::AtOnce, Names::Journal, Names::OfDirectory]);
        let contract = Contract { any_order: random.one_in(2), names };
        let few = FEW_KINDS;
        let kinds = match self {
            Self::Usual | Self::Disks => {
                // Few kinds in a run, so that each of them has its time.
                let bad = *random.pick(&BAD_DISKS);
                let also = *random.pick(&BAD_DISKS);
                [&few[..], &[bad, bad, also, Kind::Partition]].concat()
            }
            // Each seed has the one or the other: faults anywhere, or those of one history in which
            // data was lost.
            Self::Fsyncs if random.one_in(2) => [&few[..], &[Kind::BlockSyncErrors]].concat(),
            Self::Fsyncs => [&few[..], &[Kind::SyncErrors; 4]].concat(),
            Self::Cuts if random.one_in(2) => [&few[..2], &[Kind::IsolatedLeader]].concat(),
            Self::Cuts => [&few[..2], &[Kind::LongCut; 4], &[Kind::LostDisk]].concat(),
            Self::Members if random.one_in(2) => {
                [&[Kind::SlowLinks, Kind::SlowDisk, Kind::RecommissionBesideStale][..], &few[..1]]
                    .concat()
            }
            Self::Members => [&few[..], &CHANGES_OF_MEMBERS].concat(),
            Self::Services => {
                [&few[..], &[Kind::ServiceMembers, Kind::Partition, Kind::LostDisk]].concat()
            }
            Self::Erasure => {
                let also =
                    *random.pick(&[Kind::Leave, Kind::LongCut, Kind::FullDisk, Kind::Partition]);
                [&few[..], &[Kind::LostDisk, Kind::LostDisk, also, also]].concat()
            }
            Self::Maintenance => {
                let also = *random.pick(&[Kind::Partition, Kind::FullDisk, Kind::LostDisk]);
                [&few[..], &[Kind::Snapshots, Kind::Copies, also, also]].concat()
            }
            Self::Checkpoints => vec![Kind::Snapshots, Kind::BlockedReader, Kind::SlowDisk],
            Self::Hostile => [&few[..], &[Kind::Stranger, Kind::Partition]].concat(),
            Self::Mangled => [&few[..], &[Kind::Mangle; 4], &[Kind::Partition]].concat(),
            Self::Suspends => [&few[..], &[Kind::Suspend; 2], &[Kind::Partition]].concat(),
            Self::Hooks => USUAL_KINDS.to_vec(),
            // Those of a scenario of its own.
            Self::Absent | Self::Volumes | Self::Apart | Self::Tiers => few.to_vec(),
            // The hostile client has runs of its own: it disturbs no other fault there.
            Self::Any => {
                let rest = [
                    Kind::LongCut,
                    Kind::LostState,
                    Kind::Rot,
                    Kind::WrongWrites,
                    Kind::Leave,
                    Kind::Mangle,
                    Kind::Suspend,
                ];
                let all = [&USUAL_KINDS[..], &BAD_DISKS, &rest].concat();
                all.into_iter().filter(|_| random.one_in(2)).chain([Kind::Down]).collect()
            }
        };
        (kinds, contract)
    }

    /// The same of a run of Raft groups alone. A seed that draws the faults of one history of
    /// DataNodes has the others of its choice.
    pub fn of_raft_seed(self, random: &mut Random) -> (Vec<Kind>, Contract) {
        let (kinds, contract) = self.of_seed(random);
        match kinds.contains(&Kind::RecommissionBesideStale) {
            true => ([&FEW_KINDS[..], &CHANGES_OF_MEMBERS].concat(), contract),
            false => (kinds, contract),
        }
    }
}
