//! State of the parts of a group. The methods of `GroupCore` that change it are in the files of
//! `event_loop` with the same names.

pub(super) mod catch_up;
pub(super) mod change;
pub(super) mod lead;
pub(super) mod members;
pub(super) mod queued;
pub(super) mod read;
pub(super) mod search;
