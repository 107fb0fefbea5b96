//! Lines of the audit log. The audit entry of a request from `namespace` is noted before the
//! request is consumed, and only when the log is kept.

use std::net::IpAddr;

use namespace::AuditParams;
use proto::ozone::OmRequest;
use service::{AuditEvent, AuditLog};

/// A line to be.
pub(super) struct Note {
    op: &'static str,
    params: AuditParams,
}

impl Note {
    /// Writes the line.
    pub(super) fn log(&self, log: &AuditLog, user: &str, ip: IpAddr, failure: Option<&str>) {
        let params: Vec<(&str, &str)> = self.params.iter().map(|(n, v)| (*n, v.as_str())).collect();
        log.log(&AuditEvent {
            user,
            ip: &ip.to_string(),
            op: self.op,
            params: &params,
            result: failure.map_or(Ok(()), Err),
        });
    }
}

/// The audit entry of `request`.
pub(super) fn note(request: &OmRequest) -> Note {
    let (op, params) = namespace::audit(request);
    Note { op, params }
}
