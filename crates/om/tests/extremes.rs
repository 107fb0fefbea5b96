//! Numbers that no key can have: refused, without an effect on other requests.

use proto::ozone::{KeyArgs, Status};

use crate::support::World;
use crate::support::requests::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_all_the_bytes_there_can_be_stops_no_later_commit() {
    let world = World::new().await;
    let om = world.start().await;
    om.bucket("vol", "bkt").await;
    let (session, args) = om.open(key_args("vol", "bkt", "huge", 10)).await;
    let huge = KeyArgs { data_size: Some(u64::MAX), ..args.clone() };
    assert_eq!(om.refused(commit_key(huge, session)).await, Status::InvalidRequest);
    om.put("vol", "bkt", "next", 10).await;
    // The session is as it was.
    om.ok(commit_key(args, session)).await;
    let image = world.crash_image();
    om.handle.shutdown().await;

    for om in [world.start_in(image.path()).await, world.start().await] {
        om.put("vol", "bkt", "after", 10).await;
        assert_eq!(om.names("vol", "bkt", "").await, ["after", "huge", "next"]);
        om.handle.shutdown().await;
    }
}
