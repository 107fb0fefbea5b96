//! Pipelines for the blocks of a response: the tables have containers, clients need nodes.

use bytes::Bytes;
use proto::ozone::{KeyLocation, OmResponse, Status as OmStatus};

use super::outcome::refusal;
use super::{Caller, Dispatcher};

/// Options of a request for the locations of a key's blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct LocationWish {
    /// Request cached locations from SCM as well.
    pub(super) refresh: bool,
    /// Order the nodes by their distance from the client.
    pub(super) sort: bool,
}

impl Dispatcher {
    /// Adds the pipelines of the blocks of `response`; `Err` is the refusal to send instead.
    pub(super) async fn locate(
        &self,
        response: &mut OmResponse,
        wish: LocationWish,
        caller: &Caller,
    ) -> Result<(), Bytes> {
        let locations = &self.parts.locations;
        let mut unknown: Vec<i64> = Vec::new();
        let mut any = false;
        namespace::for_each_location(response, &mut |location| {
            any = true;
            let container = container(location);
            if unknown.contains(&container) {
                return;
            }
            if wish.refresh || !self.fill(location, wish, caller) {
                unknown.push(container);
            }
        });
        if !any || unknown.is_empty() {
            return Ok(());
        }
        if let Err(e) = Box::pin(locations.fetch(unknown)).await {
            let status = OmStatus::ScmGetPipelineException;
            let trace = response.trace_id.take();
            return Err(refusal(response.cmd_type, trace, status, e.to_string()));
        }
        let mut missing = None;
        namespace::for_each_location(response, &mut |location| {
            if location.pipeline.is_none() && !self.fill(location, wish, caller) {
                missing = Some(container(location));
            }
        });
        match missing {
            None => Ok(()),
            Some(container) => Err(refusal(
                response.cmd_type,
                response.trace_id.take(),
                OmStatus::ScmGetPipelineException,
                format!("SCM returned no location of container {container}"),
            )),
        }
    }

    /// Sets the pipeline of `location` from the cache; `false` if it is not cached.
    fn fill(&self, location: &mut KeyLocation, wish: LocationWish, caller: &Caller) -> bool {
        let Some(known) = self.parts.locations.get(container(location)) else { return false };
        let mut pipeline = (*known).clone();
        if wish.sort && pipeline.members.len() > 1 {
            pipeline.member_orders =
                self.parts.locations.member_orders(&pipeline.members, caller.ip);
        }
        location.pipeline = Some(Box::new(pipeline));
        true
    }
}

fn container(location: &KeyLocation) -> i64 {
    location.block_id.container_block_id.container_id
}
