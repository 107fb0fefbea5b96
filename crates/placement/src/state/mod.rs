//! The parts of SCM's state, each with its indexes. They decide nothing: rules read them, and
//! change them through their methods. None of these files uses a rule.

pub mod balancer;
pub mod change;
pub mod container;
pub mod decision;
pub mod deletion;
pub mod evidence;
pub mod history;
pub mod left_bytes;
pub mod lifecycle;
pub mod node;
pub mod nodes;
pub mod order;
pub mod pending;
pub mod pipeline;
pub mod replica;
pub mod sequence;
