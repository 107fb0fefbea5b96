//! The messages, generated at build time from `proto/*.proto`.

// Generated code: doc comments and lints come from prost.
#![allow(missing_docs, non_camel_case_types, clippy::all, clippy::pedantic, rustdoc::all)]

// prost refers between packages by their nesting, so the modules nest like the packages.
mod ratis {
    pub mod common {
        tonic::include_proto!("ratis.common");
    }
    pub mod grpc {
        tonic::include_proto!("ratis.grpc");
    }
}

pub use ratis::{common, grpc};
