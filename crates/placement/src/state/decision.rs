//! Decision of a rule.

use types::DatanodeId;

use super::change::Change;
use super::order::{Order, OrderKind};

/// Decision of a rule: changes to propose and orders to send.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decision {
    /// To be proposed, in this order.
    pub changes: Vec<Change>,
    /// To be sent; they do not depend on the changes.
    pub orders: Vec<Order>,
}

impl Decision {
    /// Returns `true` if there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.orders.is_empty()
    }

    /// Adds the changes and orders of `other`.
    pub fn merge(&mut self, other: Self) {
        self.changes.extend(other.changes);
        self.orders.extend(other.orders);
    }

    pub(crate) fn order(&mut self, node: DatanodeId, kind: OrderKind) {
        self.orders.push(Order { node, kind });
    }
}
