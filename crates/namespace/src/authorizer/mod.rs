//! Ozone's native authorizer: what lists of ACLs say, and whether a user may do something with an
//! object. [`authorize`] is the judge, [`require`] has what commands ask it for; which rights a
//! command needs, its own file says.

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
