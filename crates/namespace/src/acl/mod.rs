//! Access control lists of volumes, buckets and keys: kept and answered here, judged by whoever
//! authorises requests.

mod edit;
mod list;
mod object;

pub(crate) use edit::{add, remove, set};
pub(crate) use list::{add_defaults, all_for, inherit};
pub(crate) use object::{prepare, read};
