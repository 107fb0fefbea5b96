//! `cargo bench --bench components`: CPU time of rules and machinery, for the whole process, which
//! other programs on the machine hardly influence.
//!
//! `cargo bench --bench components -- erasure` runs the benchmarks of one module.

mod checksum;
mod cpu;
mod erasure;
mod framed;
mod multiraft;
mod namespace;
mod placement;

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

use crate::cpu::CpuTime;

fn criterion() -> Criterion<CpuTime> {
    Criterion::default()
        .with_measurement(CpuTime)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(30)
}

criterion_group! {
    name = components;
    config = criterion();
    targets = checksum::benchmarks, erasure::benchmarks, framed::benchmarks, multiraft::benchmarks,
        namespace::benchmarks, placement::benchmarks
}
criterion_main!(components);
