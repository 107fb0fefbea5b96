//! Access control lists of volumes, buckets, prefixes and keys: kept and answered here, and, when
//! authorization is on, asked before any command. [`authorize`] is the judge, [`require`] has what
//! commands ask it for; which rights a command needs, its own file says.

pub(crate) mod add;
mod authorize;
mod check;
mod edit;
pub(crate) mod get;
mod list;
mod object;
mod policy;
pub(crate) mod remove;
mod require;
mod right;
pub(crate) mod set;
mod stored;

pub(crate) use authorize::{Guard, Target};
pub(crate) use check::{check_read, check_write, lists_volume};
pub(crate) use list::{add_defaults_of, all_for, append_defaults, inherit, of_new_key, pass_on};
pub use policy::{Authorization, Principals};
pub(crate) use right::Right;
