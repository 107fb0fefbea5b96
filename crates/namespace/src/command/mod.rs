//! The traits of commands: each one implements [`Command`], and [`Write`], [`Read`] or both, in its
//! own file. [`crate::registry`] lists them. [`mod@audit`] and [`response`] have the parts of audit
//! lines and answers that several commands share.

pub(crate) mod audit;
pub(crate) mod response;

use proto::ozone::{OmRequest, OmResponse, Type};

use crate::authorizer::Guard;
use crate::command::audit::AuditParams;
use crate::error::OmError;
use crate::state::context::{ApplyContext, BlockDemand, PrepareContext, ReadContext};

/// A command of the OM protocol.
pub(crate) trait Command {
    /// Its number in a request.
    const TYPE: Type;
    /// Ozone's name of it in the audit log (`OMAction`).
    const AUDIT: &'static str;
    /// The rights that a user needs for it, where ACLs are on.
    const RIGHTS: Rights<Self::Request>;
    /// The name of its part of the request, for the refusal of a request without it.
    const REQUEST: &'static str;
    /// Its part of the request. `request_part!` writes this type, the name and the functions.
    type Request;

    /// Its part of `request`, if present.
    fn part(request: &OmRequest) -> Option<&Self::Request>;

    /// The same, to change it.
    fn part_mut(request: &mut OmRequest) -> Option<&mut Self::Request>;

    /// The same, without the rest of the request.
    fn into_part(request: OmRequest) -> Option<Self::Request>;

    /// The parameters that the audit log shows.
    fn audit(_: &Self::Request) -> AuditParams {
        Vec::new()
    }
}

/// A command that is written to the log.
pub(crate) trait Write: Command {
    /// Decision of the leader before the log.
    const PREPARE: Decision<Self::Request>;
    /// True if the command is carried out although the OMs are prepared for another version.
    const ALLOWED_WHEN_PREPARED: bool = false;

    /// Applies the log entry on every replica.
    fn apply(request: Self::Request, cx: &mut ApplyContext<'_>) -> Result<OmResponse, OmError>;
}

/// A command that is answered from the tables.
pub(crate) trait Read: Command {
    /// The answer.
    fn read(request: &Self::Request, cx: &ReadContext<'_>) -> Result<OmResponse, OmError>;
}

/// A command that is a read or a write, depending on the request.
pub(crate) trait ReadOrWrite: Read + Write {
    /// Returns `true` if `request` is a read.
    fn is_read(request: &OmRequest) -> bool;
}

/// The rights that a user needs for a command.
pub(crate) enum Rights<R> {
    /// The function checks the necessary rights on the objects of the request. A request without
    /// its part is refused here; the other kinds do not check it.
    Required(fn(&R, &Guard<'_>) -> Result<(), OmError>),
    /// All users.
    Anybody,
    /// Administrators. The refusal of others names this operation.
    Admins(&'static str),
    /// OM alone, as part of its own work. Such a command names rows of the tables directly, without
    /// a check: a client could use it to remove live data.
    Om,
}

/// Decision of the leader on a write, in the request's own fields.
pub(crate) enum Decision<R> {
    /// Nothing: the tables are sufficient. The part of the request is not read before the log.
    Nothing,
    /// Values that do not follow from the tables: names, times, ids.
    Fields(fn(&mut R, &PrepareContext<'_>) -> Result<(), OmError>),
    /// The same, and which blocks the request needs.
    FieldsAndBlocks(fn(&mut R, &PrepareContext<'_>) -> Result<Option<BlockDemand>, OmError>),
}

/// The audit entry of a request of `C`.
pub(crate) fn audit<C: Command>(request: &OmRequest) -> (&'static str, AuditParams) {
    (C::AUDIT, C::part(request).map(C::audit).unwrap_or_default())
}

/// Checks that the user of `guard` may carry out `request`, which is of `C`.
pub(crate) fn judge<C: Command>(request: &OmRequest, guard: &Guard<'_>) -> Result<(), OmError> {
    match C::RIGHTS {
        Rights::Required(rights) => rights(C::part(request).ok_or_else(missing::<C>)?, guard),
        Rights::Anybody => Ok(()),
        Rights::Admins(deed) => guard.require_admin(deed),
        Rights::Om => guard.require_admin("do what OM does by itself"),
    }
}

/// Returns `true` if only OM itself sends `C`.
pub(crate) fn is_internal<C: Command>() -> bool {
    matches!(C::RIGHTS, Rights::Om)
}

/// Prepares a write of `C`.
pub(crate) fn prepare<C: Write>(
    request: &mut OmRequest,
    ctx: &PrepareContext<'_>,
) -> Result<Option<BlockDemand>, OmError> {
    match C::PREPARE {
        Decision::Nothing => Ok(None),
        Decision::Fields(prepare) => {
            prepare(C::part_mut(request).ok_or_else(missing::<C>)?, ctx).map(|()| None)
        }
        Decision::FieldsAndBlocks(prepare) => {
            prepare(C::part_mut(request).ok_or_else(missing::<C>)?, ctx)
        }
    }
}

/// Applies an entry of `C`.
pub(crate) fn apply<C: Write>(
    request: OmRequest,
    cx: &mut ApplyContext<'_>,
) -> Result<OmResponse, OmError> {
    C::apply(C::into_part(request).ok_or_else(missing::<C>)?, cx)
}

/// Answers a read of `C`.
pub(crate) fn read<C: Read>(
    request: &OmRequest,
    cx: &ReadContext<'_>,
) -> Result<OmResponse, OmError> {
    C::read(C::part(request).ok_or_else(missing::<C>)?, cx)
}

/// The refusal of a request without the part that `C` cannot do without.
fn missing<C: Command>() -> OmError {
    OmError::missing(C::REQUEST)
}

/// Defines within an `impl Command` the field of an `OMRequest` that is the command's part. The
/// name is that of the field's type unless another one is given. `request_part!(whole)` is for
/// commands that need several fields, or none.
macro_rules! request_part {
    (whole) => {
        const REQUEST: &'static str = "OMRequest";
        type Request = ::proto::ozone::OmRequest;

        fn part(request: &::proto::ozone::OmRequest) -> Option<&Self::Request> {
            Some(request)
        }

        fn part_mut(request: &mut ::proto::ozone::OmRequest) -> Option<&mut Self::Request> {
            Some(request)
        }

        fn into_part(request: ::proto::ozone::OmRequest) -> Option<Self::Request> {
            Some(request)
        }
    };
    ($field:ident: $request:ident) => {
        $crate::command::request_part!($field: $request, stringify!($request));
    };
    ($field:ident: $request:ident, $name:expr) => {
        const REQUEST: &'static str = $name;
        type Request = $request;

        fn part(request: &::proto::ozone::OmRequest) -> Option<&Self::Request> {
            request.$field.as_deref()
        }

        fn part_mut(request: &mut ::proto::ozone::OmRequest) -> Option<&mut Self::Request> {
            request.$field.as_deref_mut()
        }

        fn into_part(request: ::proto::ozone::OmRequest) -> Option<Self::Request> {
            request.$field.map(|part| *part)
        }
    };
}

pub(crate) use request_part;
