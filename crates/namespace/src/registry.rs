//! The one table of commands: a line for each [`Type`] names its command. The table generates all
//! matches by command. None of them has a `_` arm, so a [`Type`] without a line does not compile,
//! nor does one with two.

#![deny(unreachable_patterns)]

use proto::ozone::{OmRequest, OmResponse, Type};

use crate::authorizer::Guard;
use crate::command::audit::AuditParams;
use crate::command::{self, Command, ReadOrWrite, Write};
use crate::error::OmError;
use crate::state::context::{ApplyContext, BlockDemand, PrepareContext, ReadContext};
use crate::{
    acl, bucket, file, fso, key, multipart, quota, s3secret, service, snapshot, tagging, upgrade,
    volume,
};

/// Route of a command: the OM that answers it, and its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// [`crate::read`], from the tables, without the log.
    Read,
    /// [`crate::prepare`], the log, [`crate::apply`].
    Write,
    /// The server itself: the answer is about the server (its peers, ports, safe mode), not
    /// about the tables.
    Server,
    /// None in this release: `NOT_SUPPORTED_OPERATION`.
    Unsupported,
}

/// The command of `request`.
///
/// # Errors
/// When it is unknown to this release.
pub(crate) fn command_of(request: &OmRequest) -> Result<Type, OmError> {
    Type::try_from(request.cmd_type).map_err(|_| OmError::unsupported(request.cmd_type))
}

macro_rules! commands {
    (
        write { $($write:ty,)* }
        read { $($read:ty,)* }
        read_or_write { $($either:ty,)* }
        server { $($server:ident = $name:literal,)* }
        unsupported { $($unsupported:ident,)* }
    ) => {
        /// Route of `request`, which is of `command`.
        pub(crate) fn route(command: Type, request: &OmRequest) -> Route {
            match command {
                $(<$write as Command>::TYPE => Route::Write,)*
                $(<$read as Command>::TYPE => Route::Read,)*
                $(<$either as Command>::TYPE => match <$either>::is_read(request) {
                    true => Route::Read,
                    false => Route::Write,
                },)*
                $(Type::$server => Route::Server,)*
                $(Type::$unsupported => Route::Unsupported,)*
            }
        }

        /// The audit entry of a request.
        pub(crate) fn audit(command: Type, request: &OmRequest) -> (&'static str, AuditParams) {
            match command {
                $(<$write as Command>::TYPE => command::audit::<$write>(request),)*
                $(<$read as Command>::TYPE => command::audit::<$read>(request),)*
                $(<$either as Command>::TYPE => command::audit::<$either>(request),)*
                $(Type::$server => ($name, AuditParams::new()),)*
                $(Type::$unsupported)|* => (command.as_str_name(), AuditParams::new()),
            }
        }

        /// Returns `true` if only OM itself sends a command, as part of its own work.
        pub(crate) fn is_internal(command: Type) -> bool {
            match command {
                $(<$write as Command>::TYPE => command::is_internal::<$write>(),)*
                $(<$read as Command>::TYPE => command::is_internal::<$read>(),)*
                $(<$either as Command>::TYPE => command::is_internal::<$either>(),)*
                $(Type::$server)|* => false,
                $(Type::$unsupported)|* => false,
            }
        }

        /// Refuses requests for which the user of `guard` lacks rights. The server itself
        /// authorizes requests that it answers.
        pub(crate) fn judge(
            command: Type,
            request: &OmRequest,
            guard: &Guard<'_>,
        ) -> Result<(), OmError> {
            match command {
                $(<$write as Command>::TYPE => command::judge::<$write>(request, guard),)*
                $(<$read as Command>::TYPE => command::judge::<$read>(request, guard),)*
                $(<$either as Command>::TYPE => command::judge::<$either>(request, guard),)*
                $(Type::$server)|* => Err(OmError::unsupported(request.cmd_type)),
                $(Type::$unsupported)|* => Err(OmError::unsupported(request.cmd_type)),
            }
        }

        /// Runs the leader's decision on a write.
        pub(crate) fn prepare(
            command: Type,
            request: &mut OmRequest,
            ctx: &PrepareContext<'_>,
        ) -> Result<Option<BlockDemand>, OmError> {
            match command {
                $(<$write as Command>::TYPE => command::prepare::<$write>(request, ctx),)*
                $(<$either as Command>::TYPE => command::prepare::<$either>(request, ctx),)*
                $(<$read as Command>::TYPE)|* => Err(OmError::unsupported(request.cmd_type)),
                $(Type::$server)|* => Err(OmError::unsupported(request.cmd_type)),
                $(Type::$unsupported)|* => Err(OmError::unsupported(request.cmd_type)),
            }
        }

        /// Applies an entry of the log on a replica.
        pub(crate) fn apply(
            command: Type,
            request: OmRequest,
            cx: &mut ApplyContext<'_>,
        ) -> Result<OmResponse, OmError> {
            match command {
                $(<$write as Command>::TYPE => command::apply::<$write>(request, cx),)*
                $(<$either as Command>::TYPE => command::apply::<$either>(request, cx),)*
                $(<$read as Command>::TYPE)|* => Err(OmError::unsupported(request.cmd_type)),
                $(Type::$server)|* => Err(OmError::unsupported(request.cmd_type)),
                $(Type::$unsupported)|* => Err(OmError::unsupported(request.cmd_type)),
            }
        }

        /// The answer to a read.
        pub(crate) fn read(
            command: Type,
            request: &OmRequest,
            cx: &ReadContext<'_>,
        ) -> Result<OmResponse, OmError> {
            match command {
                $(<$read as Command>::TYPE => command::read::<$read>(request, cx),)*
                $(<$either as Command>::TYPE => command::read::<$either>(request, cx),)*
                $(<$write as Command>::TYPE)|* => Err(OmError::unsupported(request.cmd_type)),
                $(Type::$server)|* => Err(OmError::unsupported(request.cmd_type)),
                $(Type::$unsupported)|* => Err(OmError::unsupported(request.cmd_type)),
            }
        }

        /// Returns `true` if a command is carried out although the OMs are prepared for another
        /// version.
        pub(crate) fn allowed_when_prepared(command: Type) -> bool {
            match command {
                $(<$write as Command>::TYPE => <$write>::ALLOWED_WHEN_PREPARED,)*
                $(<$either as Command>::TYPE => <$either>::ALLOWED_WHEN_PREPARED,)*
                $(<$read as Command>::TYPE)|* => false,
                $(Type::$server)|* => false,
                $(Type::$unsupported)|* => false,
            }
        }

        /// The table, for its tests: the section and the command of each line.
        #[cfg(test)]
        const LINES: &[(&str, Type)] = &[
            $(("write", <$write as Command>::TYPE),)*
            $(("read", <$read as Command>::TYPE),)*
            $(("read_or_write", <$either as Command>::TYPE),)*
            $(("server", Type::$server),)*
            $(("unsupported", Type::$unsupported),)*
        ];
    };
}

commands! {
    write {
        volume::create::CreateVolume,
        volume::set_property::SetVolumeProperty,
        volume::delete::DeleteVolume,
        bucket::create::CreateBucket,
        bucket::set_property::SetBucketProperty,
        bucket::delete::DeleteBucket,
        key::create::CreateKey,
        key::allocate_block::AllocateBlock,
        key::commit::CommitKey,
        key::rename::RenameKey,
        key::rename_keys::RenameKeys,
        key::delete::DeleteKey,
        key::delete_keys::DeleteKeys,
        key::purge::PurgeKeys,
        key::delete_open::DeleteOpenKeys,
        key::set_times::SetTimes,
        key::lease::RecoverLease,
        quota::repair::QuotaRepair,
        tagging::put::PutObjectTagging,
        tagging::delete::DeleteObjectTagging,
        multipart::initiate::InitiateMultiPartUpload,
        multipart::commit_part::CommitMultiPartUpload,
        multipart::complete::CompleteMultiPartUpload,
        multipart::abort::AbortMultiPartUpload,
        multipart::abort_expired::AbortExpiredMultiPartUploads,
        acl::add::AddAcl,
        acl::remove::RemoveAcl,
        acl::set::SetAcl,
        file::create::CreateFile,
        file::create_directory::CreateDirectory,
        fso::purge::PurgeDirectories,
        upgrade::prepare::Prepare,
        upgrade::cancel_prepare::CancelPrepare,
        s3secret::set::SetS3Secret,
        s3secret::revoke::RevokeS3Secret,
        snapshot::create::CreateSnapshot,
        snapshot::delete::DeleteSnapshot,
        snapshot::rename::RenameSnapshot,
        snapshot::purge::SnapshotPurge,
    }
    read {
        volume::info::InfoVolume,
        volume::list::ListVolume,
        volume::s3_context::GetS3VolumeContext,
        bucket::info::InfoBucket,
        bucket::list::ListBuckets,
        key::lookup::LookupKey,
        key::get_info::GetKeyInfo,
        key::list::ListKeys,
        key::list_light::ListKeysLight,
        key::list_open::ListOpenFiles,
        tagging::get::GetObjectTagging,
        multipart::list_parts::ListMultiPartUploadParts,
        multipart::list_uploads::ListMultipartUploads,
        acl::get::GetAcl,
        file::status::GetFileStatus,
        file::lookup::LookupFile,
        file::list_status::ListStatus,
        file::list_status_light::ListStatusLight,
        snapshot::info::GetSnapshotInfo,
        snapshot::list::ListSnapshot,
    }
    read_or_write {
        s3secret::get::GetS3Secret,
        service::EchoRpc,
    }
    server {
        ServiceList = "ServiceList",
        DbUpdates = "DBUpdates",
        SetSafeMode = "SET_SAFEMODE",
        StartQuotaRepair = "StartQuotaRepair",
        GetQuotaRepairStatus = "GetQuotaRepairStatus",
        FinalizeUpgrade = "FinalizeUpgrade",
        FinalizeUpgradeProgress = "FinalizeUpgradeProgress",
        PrepareStatus = "PrepareStatus",
        TransferLeadership = "TransferLeadership",
        GetDelegationToken = "GetDelegationToken",
        SnapshotDiff = "SNAPSHOT_DIFF_REPORT",
        SubmitSnapshotDiff = "SUBMIT_SNAPSHOT_DIFF",
        ListSnapshotDiffJobs = "LIST_SNAPSHOT_DIFF_JOBS",
        CancelSnapshotDiff = "CANCEL_SNAPSHOT_DIFF_JOBS",
    }
    unsupported {
        UnknownCommand,
        CheckVolumeAccess,
        RenewDelegationToken,
        CancelDelegationToken,
        ListTrash,
        RecoverTrash,
        PurgePaths,
        CreateTenant,
        DeleteTenant,
        ListTenant,
        TenantGetUserInfo,
        TenantAssignUserAccessId,
        TenantRevokeUserAccessId,
        TenantAssignAdmin,
        TenantRevokeAdmin,
        TenantListUser,
        SetRangerServiceVersion,
        RangerBgSync,
        SnapshotMoveDeletedKeys,
        RefetchSecretKey,
        PrintCompactionLogDag,
        SetSnapshotProperty,
        SnapshotMoveTableKeys,
    }
}

#[cfg(test)]
mod tests {
    use testkit::Schema;

    use super::*;
    use crate::route::{is_internal, route};

    fn commands() -> impl Iterator<Item = Type> {
        let numbers = Schema::get().values(".hadoop.ozone.Type");
        numbers.iter().map(|number| Type::try_from(*number).unwrap())
    }

    fn request(command: Type) -> OmRequest {
        OmRequest { cmd_type: command as i32, ..OmRequest::default() }
    }

    #[test]
    fn every_command_has_one_line_and_the_route_that_it_says() {
        for command in commands() {
            let sections: Vec<&str> = LINES
                .iter()
                .filter(|(_, of)| *of == command)
                .map(|(section, _)| *section)
                .collect();
            let expected: &[Route] = match sections.as_slice() {
                ["write"] => &[Route::Write],
                ["read"] => &[Route::Read],
                ["read_or_write"] => &[Route::Read, Route::Write],
                ["server"] => &[Route::Server],
                ["unsupported"] => &[Route::Unsupported],
                other => panic!("{command:?} has the lines {other:?}"),
            };
            assert!(expected.contains(&route(&request(command))), "{command:?}");
        }
        assert_eq!(LINES.len(), commands().count());
    }

    #[test]
    fn what_om_does_by_itself_is_written() {
        let internal: Vec<Type> = commands().filter(|c| is_internal(*c as i32)).collect();
        assert!(internal.contains(&Type::PurgeKeys));
        for command in internal {
            assert!(LINES.contains(&("write", command)), "{command:?}");
        }
    }

    #[test]
    fn only_preparing_goes_on_when_om_is_prepared() {
        let allowed: Vec<Type> = commands().filter(|c| allowed_when_prepared(*c)).collect();
        assert_eq!(allowed, [Type::Prepare, Type::CancelPrepare]);
    }
}
