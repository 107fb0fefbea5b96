//! Tests of SCM's rules.

#![allow(clippy::unwrap_used)]

mod absent_groups;
mod allocation;
mod backoff;
mod balance;
mod balance_rules;
mod containers;
mod deletion;
mod ec_fixture;
mod ec_lagging;
mod ec_leaving;
mod ec_left_over;
mod ec_over_replication;
mod ec_repairs;
mod ec_simulation;
mod erasure_coded;
mod extremes;
mod fixture;
mod in_the_way;
mod nodes;
mod over_replication;
mod pipelines;
mod point_to_point;
mod reconcilable;
mod repair_racks;
mod repairs;
mod replicas;
mod safemode;
mod sequences;
mod simulation;
mod storage_types;
mod wrong_disks;
