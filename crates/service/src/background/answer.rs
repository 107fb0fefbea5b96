//! Handling of `o3 admin service` requests in a server.

use proto::background_service::{
    BackgroundServiceAction as Action, BackgroundServiceStatus, BackgroundServicesRequest,
    BackgroundServicesResponse,
};

use super::{BackgroundServices, ServiceStatus};
use crate::admin_access::Right;

/// The right required by a request about background services: read-only administrators may list
/// them, administrators control them.
pub fn right(request: &BackgroundServicesRequest) -> Right {
    match request.action() {
        Action::List => Right::ReadOnlyAdmin,
        Action::Run | Action::Pause | Action::Resume => Right::Admin,
    }
}

impl BackgroundServices {
    /// Executes a request, and returns the resulting state of the services that it names. Services
    /// that do not exist here are left out. `role` and `node_id` identify this server.
    pub fn answer(
        &self,
        request: &BackgroundServicesRequest,
        role: &str,
        node_id: String,
    ) -> BackgroundServicesResponse {
        let mut meant: Vec<String> = match request.names.is_empty() {
            true => self.list().into_iter().map(|service| service.name).collect(),
            false => request.names.iter().flat_map(|name| self.names(name)).collect(),
        };
        meant.sort();
        meant.dedup();
        for name in &meant {
            match request.action() {
                Action::List => continue,
                Action::Run => self.run(name),
                Action::Pause => self.pause(name),
                Action::Resume => self.resume(name),
            };
        }
        let is_meant = |service: &ServiceStatus| meant.binary_search(&service.name).is_ok();
        let services = self.list().into_iter().filter(is_meant).map(to_wire).collect();
        BackgroundServicesResponse { role: role.to_owned(), node_id, services }
    }
}

fn to_wire(service: ServiceStatus) -> BackgroundServiceStatus {
    BackgroundServiceStatus {
        name: service.name,
        state: service.state.to_owned(),
        paused: service.paused,
        interval_ms: service.interval_ms,
        runs: service.runs,
        items: service.items,
        skipped: service.skipped,
        last_run: service.last_run_ms,
        last_failure: service.last_failure,
    }
}
