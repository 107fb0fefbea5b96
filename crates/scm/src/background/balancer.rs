//! Moves containers from nodes that are fuller than the others to those that are emptier, after an
//! operator has started it: iteration by iteration, within the requested limits and those of the
//! replication manager.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use placement::balance::{Choice, Iteration, IterationResult};
use placement::{Balancer, Change, Millis, Order};
use service::{BackgroundService, Progress};

use crate::core::Core;
use crate::core::balancing::{Balancing, Current};
use crate::service_names as names;

pub struct ContainerBalancer(pub Arc<Core>);

/// Next step after a check of the iterations.
enum Step {
    /// Nothing to do now.
    Rest,
    /// Moves to order; true if more replicas have to be checked.
    Moves(Vec<Order>, bool),
    /// The requested state changes: an iteration has ended, or the balancer stops.
    Ended(Balancer, &'static str),
}

#[async_trait]
impl BackgroundService for ContainerBalancer {
    fn name(&self) -> &str {
        names::CONTAINER_BALANCER
    }

    fn interval(&self) -> Duration {
        self.0.options.watch_interval
    }

    async fn run_once(&self) -> Progress {
        let core = &self.0;
        let now = core.clock.now();
        if core.check_leader().is_err() {
            core.balancing.lock().stop(now);
            core.cluster().moves.clear();
            return Progress::idle();
        }
        // A copy without its deletion is a surplus replica: both need the replication manager.
        if core.services.is_paused(names::REPLICATION_MANAGER) || !core.knows_all_replicas() {
            return Progress::idle();
        }
        match step(core, now) {
            Step::Rest => Progress::idle(),
            Step::Moves(orders, more) => {
                let count = orders.len() as u64;
                for order in &orders {
                    tracing::info!(node = %order.node, order = ?order.kind, "container move started");
                }
                core.commands.push(orders);
                if more { Progress::more(count) } else { Progress::done(count) }
            }
            Step::Ended(balancer, why) => {
                tracing::info!(
                    next = balancer.next_iteration,
                    runs = balancer.should_run,
                    why,
                    "container balancer"
                );
                match core.propose_one(Change::SetBalancer(balancer)).await {
                    Ok(()) => Progress::more(1),
                    Err(error) => Progress::failed(error),
                }
            }
        }
    }
}

fn step(core: &Core, now: Millis) -> Step {
    let mut balancing = core.balancing.lock();
    let mut cluster = core.cluster();
    if cluster.safe_mode.is_on() {
        return Step::Rest;
    }
    for (moved, result) in cluster.review_moves(now) {
        tracing::info!(
            container = %moved.id, source = %moved.source, target = %moved.target,
            bytes = moved.bytes, ?result, "container move ended"
        );
        if let Some(current) = &mut balancing.current {
            current.iteration.note(&moved, result);
        }
        core.metrics.count_move(&moved, result);
    }
    let Some(balancer) = cluster.balancer.clone().filter(|b| b.should_run) else {
        // Copies in flight arrive, and their sources are deleted.
        balancing.stop(now);
        return Step::Rest;
    };
    if balancing.started.is_none() {
        balancing.start(now);
    }
    if balancing.current.is_none() {
        if now < balancing.next_at {
            return Step::Rest;
        }
        match Iteration::begin(&cluster.nodes, balancer.configuration.clone()) {
            Ok(iteration) => {
                let number = balancer.next_iteration.saturating_add(1);
                balancing.current = Some(Current { number, began: now, iteration });
            }
            Err(why) => {
                let why = match why {
                    placement::balance::NotBegun::NoNodes => "no node takes part",
                    placement::balance::NotBegun::Balanced => "all nodes are within the threshold",
                };
                return Step::Ended(Balancer { should_run: false, ..balancer }, why);
            }
        }
    }
    let Some(current) = &mut balancing.current else { return Step::Rest };
    let mut orders = Vec::new();
    loop {
        match cluster.next_move(&mut current.iteration, now) {
            Choice::Move(order) => orders.push(order),
            Choice::More => return Step::Moves(orders, true),
            Choice::Wait => return Step::Moves(orders, false),
            Choice::Exhausted => break,
        }
    }
    if !orders.is_empty() || !cluster.moves.is_empty() {
        return Step::Moves(orders, false);
    }
    let result = current.iteration.result();
    balancing.end_iteration(result, now);
    after(&mut balancing, balancer, result, now)
}

/// An iteration has ended: the next one, or the end.
fn after(
    balancing: &mut Balancing,
    balancer: Balancer,
    result: IterationResult,
    now: Millis,
) -> Step {
    let next_iteration = balancer.next_iteration.saturating_add(1);
    let last = balancer.configuration.iterations.is_some_and(|n| next_iteration >= n);
    balancing.next_at = now.saturating_add(balancer.configuration.interval);
    let (should_run, why) = match result {
        IterationResult::CannotBalanceAnyMore => (false, "no container can be moved"),
        _ if last => (false, "all iterations are done"),
        _ => (true, "an iteration is done"),
    };
    Step::Ended(Balancer { should_run, next_iteration, ..balancer }, why)
}
