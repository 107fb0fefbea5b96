//! Access control lists of volumes, buckets, prefixes and keys: kept and answered here, and, when
//! authorization is on, asked before any command ([`command`] is the table of what each needs,
//! [`authorize`] the judge).

mod authorize;
mod command;
mod edit;
mod list;
mod object;
mod policy;
mod right;
mod stored;

pub(crate) use command::{check_read, check_write, lists_volume};
pub(crate) use edit::{add, remove, set};
pub(crate) use list::{add_defaults_of, all_for, append_defaults, inherit, of_new_key, pass_on};
pub(crate) use object::{prepare, read};
pub use policy::{Authorization, Principals};
