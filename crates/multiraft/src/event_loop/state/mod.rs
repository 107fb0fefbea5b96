//! State of the parts of a group. `GroupCore` has the methods that change it, in the files of
//! `event_loop` that are named like these.

pub(super) mod catch_up;
pub(super) mod change;
pub(super) mod lead;
pub(super) mod members;
pub(super) mod queued;
pub(super) mod read;
pub(super) mod search;
