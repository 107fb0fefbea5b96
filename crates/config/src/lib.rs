//! Configuration: every key declared once, with Ozone's name, type, default and documentation.
//!
//! * [`keys`] holds the declarations: one static per key, grouped by the server that reads it. **To
//!   add a key**, add its doc comment and one line to the file of its group, nothing else:
//!   ```text
//!   /// Timeout of a thing.
//!   OZONE_THING_TIMEOUT: Duration = "ozone.thing.timeout", "30s", [OM];
//!   ```
//! and read it with `conf.get(&keys::om::OZONE_THING_TIMEOUT)`.
//! * [`Configuration`] holds the values: built once from the defaults, a file, the environment and
//!   `-D` (later wins), checked as a whole, then read without failing. It is passed in; there is no
//!   global.
//! * [`Origin`] is the source of each value, down to the line of a file.
//! * [`refused`] lists Ozone's keys that enable missing safety features, [`renamed`] the keys that
//!   Ozone has renamed.
//! * [`published`] lists all keys of Ozone, with the reasons of those without effect.
//! * [`mod@reference`] renders the reference documentation from the declarations.
//!
//! Sources: an `ozone-site.xml`, or a TOML file with the same names (nested tables are joined with
//! dots); environment variables named after the key in capitals with `_` for `.` and `-`
//! (`OZONE_OM_ADDRESS` for `ozone.om.address`), or Ozone's container images' form
//! `OZONE-SITE.XML_ozone.om.address`.

mod configuration;
mod declare;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod keys;
mod origin;
mod permissions;
pub mod published;
pub mod reference;
pub mod refused;
pub mod renamed;
mod scm_service;
mod setting;
mod site;
mod source;
mod static_groups;
mod substitute;
mod suggest;
mod value;
mod warning;

pub use configuration::builder::Builder;
pub use configuration::{Configuration, Entry};
pub use declare::{Key, KeySpec, Tag, Value};
pub use error::{ConfigError, Expected};
pub use origin::Origin;
pub use permissions::DirPermissions;
pub use scm_service::{ScmNode, ScmService};
pub use site::site_xml;
pub use static_groups::StaticGroups;
pub use value::{ByteSize, DataDir, HostPort, StorageTypes};
pub use warning::Warning;
