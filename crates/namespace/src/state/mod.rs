//! The tables as the rules see them, and shared code of commands that read and change them: to find
//! a row, decode it, lay it over others and write it. The tables themselves, their keys and values,
//! are in [`crate::tables`].

pub(crate) mod chain;
pub(crate) mod context;
pub(crate) mod effect;
pub(crate) mod find;
pub(crate) mod key_row;
pub(crate) mod layers;
pub(crate) mod limits;
pub(crate) mod locations;
pub(crate) mod metadata;
pub(crate) mod names;
pub(crate) mod overlay;
pub(crate) mod replication;
pub(crate) mod row;
pub(crate) mod scan;
pub(crate) mod settings;
pub(crate) mod snapshot_usage;
pub(crate) mod storage_policy;
pub(crate) mod tree;
pub(crate) mod usage;
pub(crate) mod view;
