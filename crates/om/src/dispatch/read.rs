//! The way of a read: straight from the tables.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use framed::Status;
use multiraft::ReadError;
use namespace::ReadContext;
use prost::Message;
use proto::ozone::{OmRequest, Type};

use super::locate::LocationWish;
use super::timer::{Stage, Timer};
use super::{Caller, Dispatcher};
use crate::state::SnapshotView;

/// Entries of a list on the connection's own task; longer lists run on a thread of their own, so
/// that later requests on the connection need not wait.
const SHORT_LIST: i64 = 64;

impl Dispatcher {
    /// Answers a read of the leader's tables.
    pub(super) async fn read(
        self: &Arc<Self>,
        request: Box<OmRequest>,
        user: &str,
        caller: &Caller,
        timer: &mut Timer,
    ) -> Result<Bytes, Status> {
        if !self.parts.group.can_read_now() || request.read_from.is_some() {
            telemetry::wait("read index", Box::pin(self.consistent(&request))).await?;
            timer.end(Stage::Replicate);
        }
        if is_long(&request) {
            let asks = self.asks(request.cmd_type, user, caller);
            let _place =
                telemetry::wait("admission", Box::pin(self.parts.admission.enter_list(asks)))
                    .await?;
            timer.end(Stage::Queue);
            let (dispatcher, user) = (Arc::clone(self), user.to_owned());
            let listed =
                tokio::task::spawn_blocking(move || dispatcher.read_tables(&request, &user));
            let listed = telemetry::stage("list", listed).await;
            let (answer, authorized) = listed.map_err(|e| Status::internal(e.to_string()))??;
            timer.end_read(authorized);
            return Ok(answer);
        }
        match located_key(&request) {
            // Boxed, since the reads of tables alone would be as large a future otherwise.
            Some(wish) => Box::pin(self.read_located(&request, user, caller, wish, timer)).await,
            None => {
                let (answer, authorized) = self.read_tables(&request, user)?;
                timer.end_read(authorized);
                Ok(answer)
            }
        }
    }

    /// The answer, and the end of the check of the user's rights.
    fn read_tables(
        &self,
        request: &OmRequest,
        user: &str,
    ) -> Result<(Bytes, Option<Instant>), Status> {
        let clock = self.authorization_clock();
        let answer = self.with_view(request, user, |cx| {
            namespace::read_encoded_with(request, cx, || clock.stop())
        })?;
        Ok((answer, clock.stopped()))
    }

    /// Clock of the check of rights; it never runs if rights are not checked.
    pub(super) fn authorization_clock(&self) -> AuthorizationClock {
        let enabled = self.parts.settings.authorization.enabled;
        AuthorizationClock { enabled, stopped: Cell::new(None) }
    }

    /// Runs `read` on the tables as they are at one moment.
    fn with_view<T>(
        &self,
        request: &OmRequest,
        user: &str,
        read: impl Fn(&ReadContext<'_>) -> T,
    ) -> Result<T, Status> {
        let tables = self.tables()?;
        let groups = self.groups_of(user);
        let settings = &self.parts.settings;
        if is_list(request) || namespace::reads_snapshot(request) {
            // Files and directories are in two tables, and keys being created count, too. The state
            // that a snapshot shows is in the layers or in the row, and moves between them.
            let snapshot = SnapshotView::of(&tables);
            return Ok(read(&ReadContext { view: &snapshot, user, groups: &groups, settings }));
        }
        let cx = ReadContext { view: &*tables, user, groups: &groups, settings };
        Ok(tables.directory_epoch().read_consistent(|| read(&cx)))
    }

    async fn read_located(
        &self,
        request: &OmRequest,
        user: &str,
        caller: &Caller,
        wish: LocationWish,
        timer: &mut Timer,
    ) -> Result<Bytes, Status> {
        let clock = self.authorization_clock();
        let mut response =
            self.with_view(request, user, |cx| namespace::read_with(request, cx, || clock.stop()))?;
        timer.end_read(clock.stopped());
        let located = self.locate(&mut response, wish, caller);
        let located = telemetry::wait("container locations", located).await;
        timer.end(Stage::Scm);
        if let Err(refused) = located {
            return Ok(refused);
        }
        let encoded = Bytes::from(response.encode_to_vec());
        timer.end(Stage::Answer);
        Ok(encoded)
    }

    /// The groups of the user that reads, where they count.
    fn groups_of(&self, user: &str) -> Arc<[String]> {
        match self.parts.settings.authorization.enabled {
            true => self.parts.groups.of(user),
            false => Arc::default(),
        }
    }

    pub(super) fn read_status(&self, e: &ReadError) -> Status {
        match e {
            ReadError::NotLeader { .. } => self.not_leader(),
            ReadError::Timeout | ReadError::Shutdown => Status::unavailable(e.to_string()),
        }
    }
}

/// End of the check of a user's rights.
pub(super) struct AuthorizationClock {
    enabled: bool,
    stopped: Cell<Option<Instant>>,
}

impl AuthorizationClock {
    pub(super) fn stop(&self) {
        if self.enabled {
            self.stopped.set(Some(Instant::now()));
        }
    }

    pub(super) fn stopped(&self) -> Option<Instant> {
        self.stopped.get()
    }
}

/// Returns the options for block locations of a request; `None` for requests without blocks and
/// for those of a key's attributes only.
fn located_key(request: &OmRequest) -> Option<LocationWish> {
    let args = match Type::try_from(request.cmd_type).ok()? {
        Type::LookupKey => &request.lookup_key_request.as_ref()?.key_args,
        Type::GetKeyInfo => &request.get_key_info_request.as_ref()?.key_args,
        Type::LookupFile => &request.lookup_file_request.as_ref()?.key_args,
        Type::GetFileStatus => &request.get_file_status_request.as_ref()?.key_args,
        Type::ListStatus => &request.list_status_request.as_ref()?.key_args,
        _ => return None,
    };
    (args.head_op != Some(true)).then(|| LocationWish {
        refresh: args.force_update_container_cache_from_scm == Some(true),
        sort: args.sort_datanodes == Some(true),
    })
}

/// Returns `true` if the answer lists contents of a bucket.
fn is_list(request: &OmRequest) -> bool {
    matches!(
        Type::try_from(request.cmd_type),
        Ok(Type::ListKeys | Type::ListKeysLight | Type::ListStatus | Type::ListStatusLight)
    )
}

fn is_long(request: &OmRequest) -> bool {
    let entries = match Type::try_from(request.cmd_type) {
        Ok(Type::ListKeys | Type::ListKeysLight) => {
            request.list_keys_request.as_ref().and_then(|r| r.count).map(i64::from)
        }
        Ok(Type::ListBuckets) => {
            request.list_buckets_request.as_ref().and_then(|r| r.count).map(i64::from)
        }
        Ok(Type::ListVolume) => {
            request.list_volume_request.as_ref().and_then(|r| r.max_keys).map(i64::from)
        }
        Ok(Type::ListStatusLight) => request
            .list_status_request
            .as_ref()
            .map(|r| i64::try_from(r.num_entries).unwrap_or(i64::MAX)),
        Ok(Type::ListMultiPartUploadParts | Type::ListMultipartUploads) => None,
        _ => return false,
    };
    entries.is_none_or(|n| n <= 0 || n > SHORT_LIST)
}
