//! What the endpoints lead to: requests of administrators, of OM and of DataNodes, each answered by
//! asking the rules and carrying out what they decide.

pub mod admin;
pub mod block;
pub mod report;
