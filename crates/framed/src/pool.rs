//! Clients by address.

use std::sync::Arc;

use parking_lot::RwLock;
use rustc_hash::FxHashMap;

use crate::{Client, ClientOptions};

/// Clients by address, created on first use. Clones share them.
#[derive(Clone)]
pub struct ClientPool {
    options: ClientOptions,
    clients: Arc<RwLock<FxHashMap<Arc<str>, Client>>>,
}

impl ClientPool {
    /// An empty pool whose clients get `options`.
    pub fn new(options: ClientOptions) -> Self {
        Self { options, clients: Arc::default() }
    }

    /// The client of `address`.
    pub fn get(&self, address: &str) -> Client {
        if let Some(client) = self.clients.read().get(address) {
            return client.clone();
        }
        let address: Arc<str> = address.into();
        self.clients
            .write()
            .entry(address.clone())
            .or_insert_with(|| Client::new(address, self.options.clone()))
            .clone()
    }

    /// Closes the connections to `address` once no call uses them.
    pub fn forget(&self, address: &str) {
        self.clients.write().remove(address);
    }
}
