//! Uploads in parts: completed once or twice, with a condition or not, aborted, and completed while
//! another request aborts the upload, completes it or uploads a part again.
//!
//! An upload has one end. Responses must agree: it is an error if it was aborted and completed, or
//! if no client ended it and it does not exist any more. Its writes are part of the history of its
//! object.

use std::time::Duration;

use super::board::{Came, Object};
use super::client::{Client, path};
use super::content::{Content, LEAST_PART, Piece};
use super::http::{Outcome, Request};
use crate::history::conditional::{Answer, Condition, Op};
use crate::scenario::now;

/// Maximum number of attempts of a request with unknown outcome.
const ATTEMPTS: usize = 5;
/// Before it is sent again.
const PAUSE: Duration = Duration::from_secs(1);
/// One upload in this many has two parts, the first of which is large.
const WITH_TWO_PARTS: u64 = 12;

/// An upload in progress.
struct Upload {
    object: Object,
    id: String,
    /// Its parts, by their numbers: those that were acknowledged last.
    parts: Vec<(u32, Piece)>,
    /// Its content with them.
    content: Content,
    /// True if a part may still arrive after its request was abandoned.
    is_unsure: bool,
}

impl Upload {
    fn part(&self, number: u32, piece: Piece) -> Request {
        let target = format!("{}?partNumber={number}&uploadId={}", path(self.object), self.id);
        Request::new("PUT", target).body(piece.bytes())
    }

    fn complete(&self, condition: Condition) -> Request {
        let part = |(number, piece): &(u32, Piece)| {
            let e_tag = piece.e_tag();
            format!("<Part><PartNumber>{number}</PartNumber><ETag>\"{e_tag}\"</ETag></Part>")
        };
        let parts: String = self.parts.iter().map(part).collect();
        let body = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>");
        let target = format!("{}?uploadId={}", path(self.object), self.id);
        let request = Request::new("POST", target).body(body);
        match condition {
            Condition::None => request,
            _ => request.header("if-none-match", "*"),
        }
    }

    fn abort(&self) -> Request {
        abort(self.object, &self.id)
    }

    fn op(&self, condition: Condition) -> Op {
        Op::Write(self.content.number, condition)
    }
}

/// Aborts an upload.
pub fn abort(object: Object, id: &str) -> Request {
    Request::new("DELETE", format!("{}?uploadId={id}", path(object)))
}

/// A response about the end of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// This request was it.
    Done,
    /// There is no such upload any more.
    Gone,
    /// The condition does not hold: the upload is still there.
    Refused,
    /// A part that is named is another one: the upload is still there.
    OtherPart,
    /// The request was not carried out.
    NotDone,
    /// Unknown.
    Unknown,
}

impl Client {
    /// Makes an upload and brings it to an end.
    pub async fn upload(&mut self, object: Object) {
        let Some(upload) = self.begin(object).await else { return };
        self.board.count("uploads");
        match self.random.below(7) {
            0 => {
                self.complete(&upload, Condition::None).await;
                // Once more, as by a client that lost the answer.
                self.complete_again(&upload).await;
            }
            1 => self.complete(&upload, Condition::Absent).await,
            2 => self.complete_twice_at_once(&upload).await,
            3 => self.complete_while_a_part_comes(upload).await,
            4 => self.abort_and_complete(&upload).await,
            _ => self.complete_while_it_is_aborted(&upload).await,
        }
    }

    /// Creates an upload with its parts; `None` if that fails: it is aborted in the end, as by the
    /// rule of a bucket.
    async fn begin(&mut self, object: Object) -> Option<Upload> {
        let create = Request::new("POST", format!("{}?uploads", path(object)));
        let Outcome::Answer(answer) = self.send(&create).await else { return None };
        if answer.status != 200 {
            self.unexpected("CreateMultipartUpload", &answer);
            return None;
        }
        let id = answer.element("UploadId")?;
        let mut pieces = vec![self.piece()];
        if self.random.one_in(WITH_TWO_PARTS) {
            let number = self.piece().number;
            pieces.insert(0, Piece { number, length: LEAST_PART });
        }
        let parts: Vec<(u32, Piece)> = (1..).step_by(3).zip(pieces).collect();
        let content = Content::of_parts(0, &[]);
        let mut upload = Upload { object, id, parts, content, is_unsure: false };
        for at in 0..upload.parts.len() {
            let (number, piece) = upload.parts[at];
            self.put_part(&mut upload, number, piece).await.then_some(())?;
        }
        if self.random.one_in(3) {
            let (number, _) = *upload.parts.last()?;
            let piece = self.piece();
            self.put_part(&mut upload, number, piece).await.then_some(())?;
            upload.parts.last_mut()?.1 = piece;
        }
        // A part that is not named in the end.
        if self.random.one_in(3) {
            let piece = self.piece();
            self.put_part(&mut upload, 100, piece).await.then_some(())?;
        }
        self.renew(&mut upload);
        Some(upload)
    }

    /// Updates the content of an upload from its current parts.
    fn renew(&self, upload: &mut Upload) {
        let pieces: Vec<Piece> = upload.parts.iter().map(|(_, piece)| *piece).collect();
        upload.content = self.board.content(|number| Content::of_parts(number, &pieces));
    }

    fn piece(&self) -> Piece {
        Piece::of_number(self.board.contents.lock().number())
    }

    /// Puts a part until that is acknowledged; returns `true` if it is.
    async fn put_part(&mut self, upload: &mut Upload, number: u32, piece: Piece) -> bool {
        let request = upload.part(number, piece);
        for _ in 0..ATTEMPTS {
            let outcome = self.send(&request).await;
            match self.came("UploadPart", Condition::None, &outcome) {
                Came::Answer(_) => return true,
                Came::Unknown => upload.is_unsure = true,
                Came::NotDone => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
        false
    }

    /// Outcome of a request that ends an upload.
    fn end(&self, upload: &Upload, what: &str, outcome: &Outcome) -> End {
        let answer = match outcome {
            Outcome::NotSent => return End::NotDone,
            Outcome::Unknown => return End::Unknown,
            Outcome::Answer(answer) => answer,
        };
        match (answer.status, answer.code().as_str()) {
            (200, _) => {
                let e_tag = answer.element("ETag");
                if e_tag.as_ref() != Some(&upload.content.e_tag) {
                    let told = format!(
                        "an upload of {:?} with ETag {} is completed with {e_tag:?}",
                        upload.object, upload.content.e_tag
                    );
                    self.board.violation(told);
                }
                End::Done
            }
            (204, _) => End::Done,
            (404, "NoSuchUpload") => End::Gone,
            (412, _) => End::Refused,
            (400, "InvalidPart") => End::OtherPart,
            _ => match self.unexpected(what, answer) {
                Came::NotDone => End::NotDone,
                _ => End::Unknown,
            },
        }
    }

    /// Sends one request that completes an upload.
    async fn try_to_complete(&mut self, upload: &Upload, condition: Condition) -> End {
        let outcome = self.send(&upload.complete(condition)).await;
        self.end(upload, "CompleteMultipartUpload", &outcome)
    }

    fn completed(&mut self, upload: &Upload, condition: Condition, asked: u64, until: u64) {
        let done = Came::Answer(Answer::Done);
        self.board.note_until(upload.object, upload.op(condition), asked, until, done);
        self.meet(upload.object, &upload.content);
        self.board.count("completed uploads");
    }

    /// The object of an upload that was completed is another one by now.
    fn replaced(&self, upload: &Upload, asked: u64) {
        let op = Op::Has(upload.content.number);
        self.board.note(upload.object, op, asked, Came::Answer(Answer::No));
    }

    fn lost(&self, upload: &Upload, why: &str) {
        let (object, id) = (upload.object, &upload.id);
        self.board.violation(format!("upload {id} of {object:?} does not exist, and {why}"));
    }

    /// Completes an upload that no other client ends.
    async fn complete(&mut self, upload: &Upload, condition: Condition) {
        let asked = now();
        let mut is_unsure = false;
        for _ in 0..ATTEMPTS {
            let again = now();
            match self.try_to_complete(upload, condition).await {
                End::Done => return self.completed(upload, condition, asked, now()),
                // An earlier attempt succeeded, since no other client ends it.
                End::Gone if is_unsure => {
                    self.completed(upload, condition, asked, now());
                    return self.replaced(upload, again);
                }
                End::Gone => return self.lost(upload, "no client ended it"),
                End::Refused => {
                    let refused = Came::Answer(Answer::Refused);
                    self.board.note(upload.object, upload.op(condition), again, refused);
                    self.board.count("refused completions");
                    break;
                }
                End::OtherPart if upload.is_unsure => break,
                End::OtherPart => {
                    return self.lost(upload, "one of its parts is another one");
                }
                End::NotDone => {}
                End::Unknown => is_unsure = true,
            }
            tokio::time::sleep(PAUSE).await;
        }
        if is_unsure {
            self.board.note(upload.object, upload.op(condition), asked, Came::Unknown);
        }
    }

    /// Completes an upload with the same list once more, after it was completed or not.
    async fn complete_again(&mut self, upload: &Upload) {
        let is_completed = self.board.is_written(upload.object, upload.content.number);
        let asked = now();
        let end = self.try_to_complete(upload, Condition::None).await;
        match (is_completed, end) {
            // The object exists, with the content of the upload.
            (true, End::Done) => {
                let value = Answer::Value(Some(upload.content.number));
                self.board.note(upload.object, Op::Read, asked, Came::Answer(value));
                self.board.count("uploads completed twice");
            }
            (true, End::Gone) => self.replaced(upload, asked),
            (true, End::Refused | End::OtherPart) => {
                self.lost(upload, "is refused although it was completed");
            }
            // The outcome of the first attempt is recorded as unknown: that is correct.
            _ => {}
        }
    }

    async fn complete_twice_at_once(&mut self, upload: &Upload) {
        let asked = now();
        let request = upload.complete(Condition::None);
        let (first, second) = self.send_both(&request, &request).await;
        let ends = [&first, &second]
            .map(|(outcome, at)| (self.end(upload, "CompleteMultipartUpload", outcome), *at));
        let done = ends.iter().filter(|(end, _)| *end == End::Done).map(|(_, at)| *at).min();
        let is_gone = ends.iter().any(|(end, _)| *end == End::Gone);
        let is_unsure = ends.iter().any(|(end, _)| *end == End::Unknown);
        let last = ends.iter().map(|(_, at)| *at).max().unwrap_or(asked);
        match (done, is_gone, is_unsure) {
            (Some(at), ..) => {
                self.completed(upload, Condition::None, asked, at);
                self.board.count("uploads completed twice at once");
            }
            (None, true, true) => self.completed(upload, Condition::None, asked, last),
            (None, true, false) => self.lost(upload, "neither of two requests completed it"),
            (None, false, true) => {
                self.board.note(upload.object, upload.op(Condition::None), asked, Came::Unknown);
            }
            (None, false, false) => {}
        }
    }

    /// Completes an upload while a part of it is put again.
    async fn complete_while_a_part_comes(&mut self, mut upload: Upload) {
        let Some((number, _)) = upload.parts.last().copied() else { return };
        let piece = self.piece();
        let asked = now();
        let (complete, part) = (upload.complete(Condition::None), upload.part(number, piece));
        let ((completed, at), (put, _)) = self.send_both(&complete, &part).await;
        let end = self.end(&upload, "CompleteMultipartUpload", &completed);
        let is_put = match &put {
            // After the upload was completed.
            Outcome::Answer(answer) if answer.code() == "NoSuchUpload" => Came::NotDone,
            _ => self.came("UploadPart", Condition::None, &put),
        };
        self.board.count("parts put while their uploads are completed");
        match (end, is_put) {
            (End::Done, Came::Answer(_)) => {
                self.lost(&upload, "a part that came before is not in the object, or came after");
            }
            (End::Done, _) => self.completed(&upload, Condition::None, asked, at),
            (End::Gone, _) => self.lost(&upload, "its only completion is refused"),
            (End::Unknown, _) => {
                self.board.note(upload.object, upload.op(Condition::None), asked, Came::Unknown);
            }
            (End::OtherPart, Came::NotDone) if !upload.is_unsure => {
                self.lost(&upload, "one of its parts is another one");
            }
            // The part was first: it is completed with that one.
            (End::OtherPart | End::NotDone, Came::Answer(_)) => {
                if let Some(last) = upload.parts.last_mut() {
                    last.1 = piece;
                }
                self.renew(&mut upload);
                self.complete(&upload, Condition::None).await;
            }
            _ => {}
        }
    }

    /// Aborts an upload, and then completes it, which must be refused.
    async fn abort_and_complete(&mut self, upload: &Upload) {
        let mut is_aborted = false;
        let mut is_unsure = false;
        for _ in 0..ATTEMPTS {
            let outcome = self.send(&upload.abort()).await;
            match self.end(upload, "AbortMultipartUpload", &outcome) {
                End::Done => is_aborted = true,
                End::Gone if is_unsure => is_aborted = true,
                End::Gone => return self.lost(upload, "no client ended it"),
                End::Unknown => is_unsure = true,
                _ => {}
            }
            if is_aborted {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        if !is_aborted {
            return;
        }
        self.board.count("aborted uploads");
        if self.try_to_complete(upload, Condition::None).await == End::Done {
            self.lost(upload, "was completed after it was aborted");
        }
    }

    async fn complete_while_it_is_aborted(&mut self, upload: &Upload) {
        let asked = now();
        let (complete, abort) = (upload.complete(Condition::None), upload.abort());
        let ((completed, at), (aborted, later)) = self.send_both(&complete, &abort).await;
        let completed = self.end(upload, "CompleteMultipartUpload", &completed);
        let aborted = self.end(upload, "AbortMultipartUpload", &aborted);
        self.board.count("uploads aborted while they are completed");
        match (completed, aborted) {
            (End::Done, End::Done) => self.lost(upload, "was both completed and aborted"),
            (End::Done, _) => self.completed(upload, Condition::None, asked, at),
            (_, End::Done) => self.board.count("aborted uploads"),
            // The abort finds no upload: the other request ended it.
            (End::Unknown, End::Gone) => self.completed(upload, Condition::None, asked, later),
            (End::Unknown, _) => {
                self.board.note(upload.object, upload.op(Condition::None), asked, Came::Unknown);
            }
            (End::Gone, End::Gone | End::NotDone) | (End::NotDone, End::Gone) => {
                self.lost(upload, "no client ended it");
            }
            _ => {}
        }
    }

    /// Sends two requests at a time, each to any gateway, and returns the time of each response.
    async fn send_both(
        &mut self,
        one: &Request,
        other: &Request,
    ) -> ((Outcome, u64), (Outcome, u64)) {
        let gateways = self.board.gateways.clone();
        let (first, second) = (*self.random.pick(&gateways), *self.random.pick(&gateways));
        let delay = Duration::from_millis(self.random.below(30));
        let credentials = &self.credentials;
        let sent = async |request: &Request, gateway, delay| {
            tokio::time::sleep(delay).await;
            let outcome = request.send(gateway, credentials).await;
            (outcome, now())
        };
        match self.random.one_in(2) {
            true => tokio::join!(sent(one, first, delay), sent(other, second, Duration::ZERO)),
            false => tokio::join!(sent(one, first, Duration::ZERO), sent(other, second, delay)),
        }
    }
}
