//! Faults of each scenario.

use clap::ValueEnum;

use super::Scenario;
use crate::scenario::nemesis::faults::Faults;

impl Scenario {
    /// The kinds of faults that the scenario takes; any other would run as something else.
    fn faults(self) -> &'static [Faults] {
        use Faults::{
            Absent, Any, Apart, Checkpoints, Cuts, Disks, Erasure, Fsyncs, Hooks, Hostile,
            Maintenance, Mangled, Members, Services, Suspends, Tiers, Usual, Volumes,
        };
        match self {
            Self::Raft => &[Usual, Disks, Members, Mangled, Suspends, Hooks, Any],
            Self::Cluster => &[
                Usual,
                Disks,
                Fsyncs,
                Cuts,
                Members,
                Services,
                Maintenance,
                Checkpoints,
                Hostile,
                Erasure,
                Mangled,
                Suspends,
                Hooks,
                Any,
            ],
            // Only what disks and systems may do: there is no network, and power is always lost.
            Self::Machines => &[Usual, Disks, Hooks, Any],
            Self::Erasure => &[Usual],
            Self::Storage => &[Absent, Volumes, Apart, Tiers],
            Self::S3 => &[Usual, Disks, Mangled, Suspends, Hooks],
        }
    }

    /// Refuses faults that the scenario does not have.
    ///
    /// # Errors
    /// The faults that it has.
    pub fn check(self, faults: Faults) -> anyhow::Result<()> {
        let fitting = self.faults();
        if fitting.contains(&faults) {
            return Ok(());
        }
        let names: Vec<String> = fitting.iter().map(|faults| name(*faults)).collect();
        anyhow::bail!(
            "the scenario {} has no faults `{}`: choose --faults {}",
            name(self),
            name(faults),
            names.join("|")
        )
    }
}

/// A value as it is written on the command line.
fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::nemesis::faults::Kind;
    use crate::world::random::Random;

    fn fit(scenario: Scenario) -> String {
        let all = Faults::value_variants().iter();
        let fitting = all.filter(|faults| scenario.check(**faults).is_ok());
        fitting.map(|faults| name(*faults)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_scenario_takes_its_own_faults() {
        let fitting: Vec<_> = Scenario::value_variants()
            .iter()
            .map(|scenario| format!("{}: {}", name(*scenario), fit(*scenario)))
            .collect();
        assert_eq!(
            fitting,
            [
                "raft: usual disks members mangled suspends hooks any",
                "cluster: usual disks fsyncs cuts members services maintenance checkpoints \
                 hostile erasure mangled suspends hooks any",
                "machines: usual disks hooks any",
                "erasure: usual",
                "storage: absent volumes apart tiers",
                "s3: usual disks mangled suspends hooks",
            ]
        );
    }

    #[test]
    fn a_refusal_names_the_faults_that_fit() {
        let refused = |scenario: Scenario, faults| {
            scenario.check(faults).err().map(|error| error.to_string())
        };
        assert_eq!(
            refused(Scenario::Storage, Faults::Usual).as_deref(),
            Some(
                "the scenario storage has no faults `usual`: \
                 choose --faults absent|volumes|apart|tiers"
            )
        );
        assert!(refused(Scenario::Cluster, Faults::Tiers).is_some());
        assert!(refused(Scenario::S3, Faults::Tiers).is_some());
    }

    #[test]
    fn raft_takes_no_fault_that_needs_other_servers_and_always_changes_members_when_asked_to() {
        for faults in Scenario::Raft.faults() {
            for seed in 0..64 {
                let (kinds, _) = faults.of_raft_seed(&mut Random::new(seed));
                let others = |kind: &&Kind| kind.is_of_a_process() && **kind != Kind::Leave;
                let found: Vec<&Kind> = kinds.iter().filter(others).collect();
                assert_eq!(found, Vec::<&Kind>::new(), "{faults:?}, seed {seed}");
                let changes = kinds.contains(&Kind::Leave);
                assert!(changes || *faults != Faults::Members, "seed {seed} changes no members");
            }
        }
    }

    /// The gateways' scenario has no process that makes such a fault.
    #[test]
    fn s3_takes_no_fault_that_needs_a_process_of_the_cluster() {
        for faults in Scenario::S3.faults() {
            for seed in 0..64 {
                let (kinds, _) = faults.of_seed(&mut Random::new(seed));
                let found: Vec<Kind> =
                    kinds.into_iter().filter(|kind| kind.is_of_a_process()).collect();
                assert_eq!(found, [], "{faults:?}, seed {seed}");
            }
        }
    }
}
