//! The sessions with all SCMs.
//!
//! It begins with those that the configuration names. Every SCM sends with its responses the
//! addresses of the service's SCMs, and the index of the change of members that led to them; a
//! later change than the last one known begins sessions with added SCMs and ends those with removed
//! SCMs. It is not stored: a DataNode starts with the SCMs of its configuration.

use std::sync::Arc;

use config::HostPort;
use proto::hdds::ScmPlacesProto;

use super::session;
use crate::daemon::Daemon;

/// Begins with the SCMs of the configuration.
pub(crate) fn begin(daemon: &Arc<Daemon>) {
    set(daemon, 0, &daemon.settings.scm);
}

/// Handles an SCM's list of addresses.
pub(super) fn on_scm_places(daemon: &Arc<Daemon>, places: &ScmPlacesProto) {
    let parse = |address: &String| HostPort::parse_with(address, None).map(|a| a.connect());
    let scms = places.scms.iter().map(|scm| parse(&scm.datanode_address));
    let Some(scms) = scms.collect::<Option<Vec<_>>>().filter(|scms| !scms.is_empty()) else {
        tracing::warn!(?places, "ignoring unusable SCM addresses");
        return;
    };
    if places.index > 0 {
        set(daemon, places.index, &scms);
    }
}

fn set(daemon: &Arc<Daemon>, index: u64, scms: &[HostPort]) {
    daemon.sessions.set(index, scms, |address| {
        let stop = daemon.shutdown.child();
        let run = session::run(daemon.clone(), address.clone(), stop.clone());
        (stop, tokio::spawn(run))
    });
}
