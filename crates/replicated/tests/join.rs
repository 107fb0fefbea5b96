//! Join requests of a joining node, and their end.

use std::cell::RefCell;

use multiraft::{Member, MemberRole, Membership, Peer};
use replicated::Error;
use replicated::join::{Answer, join};
use uuid::Uuid;

fn membership() -> Membership {
    let node = Uuid::from_u128(1);
    let peer = Peer { node, address: "a:1".to_owned(), priority: 0 };
    Membership { index: 5, members: vec![Member { peer, role: MemberRole::Voter }] }
}

#[tokio::test]
async fn all_are_asked_until_a_leader_answers() {
    let asked = RefCell::new(Vec::new());
    let ask = async |other: &&'static str| {
        asked.borrow_mut().push(*other);
        match asked.borrow().len() {
            1..=3 => Answer::NotLeader,
            4 => Answer::Unreachable("it is down".to_owned()),
            _ => Answer::Joined(membership()),
        }
    };
    let joined = join("OM om4", &["om1", "om2"], ask).await.unwrap();
    assert_eq!(joined, membership());
    assert_eq!(*asked.borrow(), ["om1", "om2", "om1", "om2", "om1"]);
}

#[tokio::test]
async fn a_refusal_of_the_leader_ends_it() {
    let ask = async |_: &u8| Answer::Refused("unknown".to_owned());
    let refused = join("OM om4", &[1], ask).await.unwrap_err();
    assert!(matches!(refused, Error::Refused { .. }));
    assert_eq!(refused.to_string(), "OM om4 cannot join the service: unknown");
}
