//! Request handlers behind the endpoints: requests of administrators, OM and DataNodes, answered by
//! the rules of `placement`, whose decisions are carried out here.

pub mod admin;
pub mod block;
pub mod report;
