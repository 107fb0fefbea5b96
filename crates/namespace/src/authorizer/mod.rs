//! Ozone's native authorizer: evaluates lists of ACLs, and decides on a user's access to an object.
//! [`authorize`] decides, [`require`] has checks for commands; the file of each command lists the
//! rights that it needs.

mod authorize;
mod list;
mod path;
mod require;
mod right;
mod stored;

pub(crate) use authorize::{Guard, Target};
pub(crate) use list::{
    add_defaults_of, all_for, append_defaults, grant, inherit, of_new_key, pass_on, revoke,
};
pub(crate) use path::Path;
pub(crate) use right::Right;
pub(crate) use stored::prefix_above;
