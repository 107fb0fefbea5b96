//! Updates since a copy of the tables, for Recon; and the list of services for people.

use namespace::tables::{TRANSACTION_INFO_KEY, parse_transaction_info};
use namespace::{Table, View};
use proto::hdds::NodeType;
use proto::ozone::{DbUpdatesRequest, DbUpdatesResponse, service_port};
use serde_json::{Map, Value, json};

use super::Dispatcher;

/// The number for "none" in Ozone's answer.
const NO_SEQUENCE: u64 = u64::MAX;

impl Dispatcher {
    /// Updates after a sequence number, or a request to take a new copy.
    pub(super) fn updates(&self, wish: &DbUpdatesRequest) -> DbUpdatesResponse {
        let feed = self.parts.current.feed();
        let limit = wish.limit_count().max(1);
        let updates = self.applied_index().and_then(|applied| {
            feed.since(wish.sequence_number, applied, limit, self.parts.updates_bytes)
        });
        match updates {
            Some(updates) => DbUpdatesResponse {
                sequence_number: updates.sequence,
                data: updates.batches,
                latest_sequence_number: Some(updates.latest),
                db_update_success: Some(true),
            },
            None => DbUpdatesResponse {
                sequence_number: NO_SEQUENCE,
                data: Vec::new(),
                latest_sequence_number: Some(NO_SEQUENCE),
                db_update_success: Some(false),
            },
        }
    }

    /// Index of the last applied log entry.
    fn applied_index(&self) -> Option<u64> {
        let tables = self.parts.current.get()?;
        let position = tables.get(Table::TransactionInfoTable, TRANSACTION_INFO_KEY).ok()??;
        parse_transaction_info(&position).map(|(_, index)| index)
    }

    /// The services of the cluster, as Ozone's servlet lists them.
    pub(crate) fn services_json(&self) -> Value {
        let services = self.service_list().service_info;
        let one = |info: &proto::ozone::ServiceInfo| {
            let kind = NodeType::try_from(info.node_type).map_or("UNKNOWN", |t| t.as_str_name());
            let ports = info.service_ports.iter().map(|port| {
                let name = service_port::Type::try_from(port.r#type);
                (name.map_or("UNKNOWN", |t| t.as_str_name()).to_owned(), port.value.into())
            });
            let ports: Map<String, Value> = ports.collect();
            json!({ "nodeType": kind, "hostname": info.hostname, "ports": ports })
        };
        services.iter().map(one).collect()
    }
}
