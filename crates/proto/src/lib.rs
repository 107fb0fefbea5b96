//! Declarations of the wire messages, and nothing else.
//!
//! Each module is one protobuf package of Ozone's protocols, generated at build time from
//! `proto/*.proto`. Names of messages and fields are Ozone's (snake-cased by prost), `bytes`
//! fields are [`bytes::Bytes`]. Conversions to domain types live in `types`, rules elsewhere.
//!
//! | module | package | spoken by |
//! | --- | --- | --- |
//! | [`hdds`] | `hadoop.hdds` | all roles: nodes, pipelines, containers, blocks |
//! | [`ozone`] | `hadoop.ozone` | clients and OM; also the values of OM's tables |
//! | [`om_admin`] | `hadoop.ozone.admin` (own package here) | `ozone admin om` to one OM |
//! | [`datanode`] | `hadoop.hdds.datanode` | clients and DataNodes |
//! | [`disk_balancer`] | `hadoop.hdds` (own package here) | `ozone admin datanode diskbalancer` to one DataNode |
//! | [`container_location`] | `hadoop.hdds.container` | `o3 admin` and OM to SCM |
//! | [`block_location`] | `hadoop.hdds.block` | OM to SCM |
//! | [`scm_datanode`] | `hadoop.hdds` (own package here) | DataNodes to SCM |
//! | [`background_service`] | `hadoop.hdds.backgroundservice` (ours) | `o3 admin service` to every server |
//! | [`deletion_status`] | `hadoop.hdds.deletionstatus` (ours) | `o3 admin deletion` to every server |
//! | [`common`] | `hadoop.common` | delegation-token parts of the OM protocol |

// Generated code: doc comments and lints come from prost.
#![allow(missing_docs, non_camel_case_types, clippy::all, clippy::pedantic, rustdoc::all)]

#[warn(missing_docs)]
pub mod method;

// prost refers between packages by their nesting, so the modules nest like the packages.
mod hadoop {
    pub mod common {
        tonic::include_proto!("hadoop.common");
    }
    pub mod hdds {
        tonic::include_proto!("hadoop.hdds");
        pub mod datanode {
            tonic::include_proto!("hadoop.hdds.datanode");
        }
        pub mod container {
            tonic::include_proto!("hadoop.hdds.container");
        }
        pub mod block {
            tonic::include_proto!("hadoop.hdds.block");
        }
        pub mod backgroundservice {
            tonic::include_proto!("hadoop.hdds.backgroundservice");
        }
        pub mod deletionstatus {
            tonic::include_proto!("hadoop.hdds.deletionstatus");
        }
        pub mod diskbalancer {
            tonic::include_proto!("hadoop.hdds.diskbalancer");
        }
        pub mod scmdatanode {
            tonic::include_proto!("hadoop.hdds.scmdatanode");
        }
    }
    pub mod ozone {
        tonic::include_proto!("hadoop.ozone");
        pub mod admin {
            tonic::include_proto!("hadoop.ozone.admin");
        }
    }
}

pub use hadoop::hdds::{
    backgroundservice as background_service, block as block_location,
    container as container_location, datanode, deletionstatus as deletion_status,
    diskbalancer as disk_balancer, scmdatanode as scm_datanode,
};
pub use hadoop::ozone::admin as om_admin;
pub use hadoop::{common, hdds, ozone};
