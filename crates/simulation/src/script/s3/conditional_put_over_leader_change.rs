//! Many clients put an object that must not be there yet, and then many replace the one that is
//! there, while the OM that leads is killed.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{S3, path};
use crate::scenario::s3::content::Piece;
use crate::scenario::s3::http::{Outcome, Request};
use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "s3/conditional-put-over-leader-change",
    about: "64 clients put one object under a condition while the OM leader is killed: one wins",
    run,
};

/// Clients.
const WRITERS: u64 = 64;
/// When the leader is killed, in milliseconds from when they begin: as objects are opened, as they
/// are committed, and when most are.
const KILLED_AFTER: [u64; 4] = [2, 8, 20, 50];

/// Outcome of each writer's request, by its piece.
type Came = Arc<Mutex<Vec<(Piece, Outcome)>>>;

/// Has each writer put the object with a condition at the same time.
fn put(c: &Cluster, s3: &S3, object: &str, condition: (&'static str, &str), first: u64) -> Came {
    let came = Came::default();
    for number in 0..WRITERS {
        let piece = Piece { number: first + number, length: 40 };
        let request = Request::new("PUT", path(object)).body(piece.bytes());
        let request = request.header(condition.0, condition.1);
        let (s3, came) = (s3.clone(), came.clone());
        c.begin(move |_| async move {
            let outcome = s3.send(number as usize, &request).await;
            came.lock().push((piece, outcome));
        });
    }
    came
}

/// The piece that is there in the end, which must be that of the only writer that won.
fn winner(c: &mut Cluster, s3: &S3, object: &str, came: &Came) -> Result<Piece> {
    c.expect("every writer has its outcome", minutes(2), |_| {
        let there = came.lock().len() as u64;
        ensure!(there == WRITERS, "{there} of {WRITERS} have");
        Ok(())
    })?;
    let (mut won, mut unsure) = (Vec::new(), Vec::new());
    for (piece, outcome) in came.lock().iter() {
        match outcome {
            Outcome::Answer(answer) if answer.status == 200 => won.push(*piece),
            Outcome::Answer(answer) if answer.status == 412 => {}
            Outcome::Answer(answer) => {
                anyhow::bail!("{piece:?} is answered with {} {}", answer.status, answer.code());
            }
            Outcome::Unknown => unsure.push(*piece),
            Outcome::NotSent => anyhow::bail!("a gateway does not listen"),
        }
    }
    let told = format!("{} won, the outcome of {} is unknown", won.len(), unsure.len());
    ensure!(won.len() <= 1 && won.len() + unsure.len() >= 1, "{told}");
    let found = c.s3_answer(s3, Request::new("GET", path(object)))?;
    let candidates = if won.is_empty() { &unsure } else { &won };
    let winner = candidates.iter().find(|piece| piece.bytes() == found.body);
    winner.copied().with_context(|| format!("{told}, and {} is there", found.status))
}

fn run() -> Result<()> {
    let mut c = cluster(1, 3, 3).gateways(2).start()?;
    let s3 = c.s3()?;
    let mut first = 1;
    for (round, after) in KILLED_AFTER.into_iter().enumerate() {
        let after = Duration::from_millis(after);
        let object = format!("once-{round}");
        let came = put(&c, &s3, &object, ("if-none-match", "*"), first);
        let leader = c.kill_om_leader(after)?;
        let there = winner(&mut c, &s3, &object, &came)?;
        c.start_om(leader)?;
        let condition = format!("\"{}\"", there.e_tag());
        let came = put(&c, &s3, &object, ("if-match", &condition), first + WRITERS);
        let leader = c.kill_om_leader(after)?;
        winner(&mut c, &s3, &object, &came)?;
        c.start_om(leader)?;
        first += 2 * WRITERS;
    }
    let objects = KILLED_AFTER.len() as u64;
    c.expect("the bucket counts what it has", minutes(1), |c| {
        c.expect_in_bucket(&s3, objects, objects * 40)
    })
}
