//! Uploads are completed, aborted, and both at a time, while the OM that leads is killed.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{S3, path};
use crate::scenario::s3::content::{Content, Piece};
use crate::scenario::s3::http::{Answer, Request};
use crate::script::prelude::*;

/// The script, for the list.
pub const SCRIPT: Script = Script {
    name: "s3/multipart-over-leader-change",
    about: "uploads end once while the OM leader is killed: all parts of one are there, or none",
    run,
};

/// When the leader is killed, in milliseconds from when the uploads are to end.
const KILLED_AFTER: [u64; 4] = [1, 3, 6, 20];

/// An upload with one part.
struct Upload {
    name: String,
    id: String,
    content: Content,
    complete: Request,
    abort: Request,
}

/// Outcomes of the two requests that end an upload, if they were sent: the response, and if an
/// earlier attempt may have been executed.
type End = Arc<Mutex<[Option<(Answer, bool)>; 2]>>;

impl Upload {
    fn begin(c: &mut Cluster, s3: &S3, number: u64) -> Result<Self> {
        let name = format!("upload-{number}");
        let begun = c.s3_answer(s3, Request::new("POST", format!("{}?uploads", path(&name))))?;
        let id = begun.element("UploadId").context("no upload is begun")?;
        // A part that is put again, and one that is not named.
        let pieces = [4 * number, 4 * number + 1, 4 * number + 2];
        let pieces = pieces.map(|number| Piece { number, length: 5_000 });
        for (part, piece) in [1, 1, 2].into_iter().zip(pieces) {
            let target = format!("{}?partNumber={part}&uploadId={id}", path(&name));
            let put = c.s3_answer(s3, Request::new("PUT", target).body(piece.bytes()))?;
            ensure!(put.status == 200, "a part is refused: {} {}", put.status, put.code());
        }
        let target = format!("{}?uploadId={id}", path(&name));
        let e_tag = pieces[1].e_tag();
        let body = format!(
            "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{e_tag}</ETag></Part>\
             </CompleteMultipartUpload>"
        );
        let complete = Request::new("POST", target.clone()).body(body);
        let (content, abort) =
            (Content::of_parts(number, &pieces[1..2]), Request::new("DELETE", target));
        Ok(Self { name, id, content, complete, abort })
    }

    /// Sends a request of the two until it is answered.
    fn end(&self, c: &Cluster, s3: &S3, end: &End, which: usize) {
        let request = if which == 0 { self.complete.clone() } else { self.abort.clone() };
        let (s3, end) = (s3.clone(), end.clone());
        c.begin(move |_| async move {
            let answer = s3.until_answered(&request).await;
            end.lock()[which] = Some(answer);
        });
    }

    /// Returns `true` if the responses show that it was completed.
    fn was_completed(&self, end: &End) -> Result<bool> {
        let told = |at: usize| {
            let end = end.lock();
            let of = end[at].as_ref();
            of.map(|(answer, is_unsure)| (answer.status, answer.code(), *is_unsure))
        };
        let is_gone = |code: &str| code == "NoSuchUpload";
        match (told(0), told(1)) {
            (Some((200, ..)), None) => Ok(true),
            (None, Some((204, ..))) => Ok(false),
            (None, Some((404, code, true))) if is_gone(&code) => Ok(false),
            (Some((200, ..)), Some((404, code, _))) if is_gone(&code) => Ok(true),
            (Some((404, code, _)), Some((204, ..))) if is_gone(&code) => Ok(false),
            (Some((404, code, _)), Some((404, other, true)))
                if is_gone(&code) && is_gone(&other) =>
            {
                Ok(false)
            }
            other => anyhow::bail!("{} of {} ends with {other:?}", self.id, self.name),
        }
    }

    fn verify(&self, c: &mut Cluster, s3: &S3, is_completed: bool) -> Result<()> {
        let found = c.s3_answer(s3, Request::new("GET", path(&self.name)))?;
        if !is_completed {
            ensure!(found.status == 404, "{} was aborted and is there", self.name);
            let again = c.s3_answer(s3, self.complete.clone())?;
            ensure!(again.code() == "NoSuchUpload", "{} is completed after all", self.name);
            return Ok(());
        }
        let is_it = found.status == 200 && found.body == self.content.bytes();
        ensure!(is_it, "{} was completed, and is {} {}", self.name, found.status, found.code());
        let again = c.s3_answer(s3, self.complete.clone())?;
        let e_tag = again.element("ETag");
        ensure!(
            again.status == 200 && e_tag.as_ref() == Some(&self.content.e_tag),
            "{} was completed with {}, and is completed again with {} {e_tag:?}",
            self.name,
            self.content.e_tag,
            again.status
        );
        Ok(())
    }
}

fn run() -> Result<()> {
    let mut c = cluster(1, 3, 3).gateways(2).start()?;
    let s3 = c.s3()?;
    let mut completed = Vec::new();
    for (round, after) in (0..).zip(KILLED_AFTER) {
        // One is completed, one is aborted, and the others both at the same time.
        let mut uploads = Vec::new();
        for number in 0..5 {
            uploads.push((Upload::begin(&mut c, &s3, 10 * round + number)?, End::default()));
        }
        for (number, (upload, end)) in uploads.iter().enumerate() {
            let which: &[usize] = match number {
                0 => &[0],
                1 => &[1],
                _ => &[0, 1],
            };
            which.iter().for_each(|which| upload.end(&c, &s3, end, *which));
        }
        let leader = c.kill_om_leader(Duration::from_millis(after))?;
        c.expect("every upload has its end", minutes(2), |_| {
            for (number, (upload, end)) in uploads.iter().enumerate() {
                let ends = end.lock().iter().flatten().count();
                ensure!(ends == if number < 2 { 1 } else { 2 }, "{} has not", upload.name);
            }
            Ok(())
        })?;
        for (upload, end) in &uploads {
            let is_completed = upload.was_completed(end)?;
            upload.verify(&mut c, &s3, is_completed)?;
            if is_completed {
                completed.push(upload.content.len() as u64);
            }
        }
        c.start_om(leader)?;
    }
    let (objects, bytes) = (completed.len() as u64, completed.iter().sum());
    c.expect("the bucket counts what it has", minutes(1), |c| {
        c.expect_in_bucket(&s3, objects, bytes)
    })
}
