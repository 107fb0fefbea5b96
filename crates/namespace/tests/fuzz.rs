//! Requests made of arbitrary bytes, carried out: admitted or not, they stop no OM, and behind
//! many of them it answers as before. Numbers at their limits are in `extremes`.

use std::cell::RefCell;

use namespace::{Route, route};
use prost::Message;
use proto::ozone::*;

use crate::harness::*;

thread_local! {
    static OM: RefCell<(Om, u32)> = RefCell::new((Om::with_paths(), 0));
}

/// Requests of one OM before the next one begins: tables that grow make all of it slow.
const REQUESTS_OF_AN_OM: u32 = 150;

fn carry_out(data: &[u8]) {
    let Ok(request) = OmRequest::decode(data) else { return };
    OM.with_borrow_mut(|(om, count)| {
        *count += 1;
        if *count == REQUESTS_OF_AN_OM {
            let put = om.put_in(TREE, "still/there", 10);
            assert!([Status::Ok, Status::QuotaExceeded].contains(&status(&put)), "{put:?}");
            (*om, *count) = (Om::with_paths(), 0);
        }
        match route(&request) {
            Route::Read => drop(om.read(&request)),
            Route::Write => drop(om.submit(request.clone())),
            _ => {}
        }
        // As an entry that a leader of another release admitted.
        if route(&request) != Route::Read {
            om.log_and_apply(request);
        }
    });
}

fn requests() -> Vec<Vec<u8>> {
    let mut requests = Vec::new();
    for bucket in [BUCKET, TREE, LEGACY] {
        let args = |key: &str| KeyArgs { data_size: Some(10), ..args(bucket, key) };
        let list = ListKeysRequest {
            volume_name: VOL.to_owned(),
            bucket_name: bucket.to_owned(),
            count: Some(10),
            ..ListKeysRequest::default()
        };
        requests.extend([
            create_key(args("dir/key")),
            commit_key(args("dir/key"), 1, false),
            delete_key(args("dir/key")),
            lookup_key(args("dir/key")),
            initiate(args("dir/upload")),
            list_keys(list),
        ]);
    }
    requests.push(make_bucket(bucket_info(VOL, "another")));
    requests.iter().map(Message::encode_to_vec).collect()
}

#[test]
fn any_bytes_are_a_request_or_refused() {
    testkit::fuzz(vec![("om-request", carry_out, requests())]);
}
