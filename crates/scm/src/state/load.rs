//! From the tables into memory, at the start and after a snapshot.

use metastore::{Cursor, IterRange, KeyCodec, Store, TypedTable, ValueCodec};
use multiraft::LogPosition;
use placement::{Balancer, Cluster, Sequence};

use crate::ScmError;
use crate::state::tables::{
    BALANCER_KEY, BalancerRow, CONTAINERS, DELETED_BLOCKS, DESTINATIONS, DESTINATIONS_KEY,
    NumberRow, PIPELINES, SEQUENCE_ID, SERVICE_CONFIG, TRANSACTION_INFO, TRANSACTION_INFO_KEY,
};

/// Loads every table into an empty cluster; returns how far the store has applied the log.
pub fn load(store: &Store, cluster: &mut Cluster) -> Result<LogPosition, ScmError> {
    each(store, CONTAINERS, |_, row| cluster.containers.insert(row.0))?;
    each(store, PIPELINES, |_, row| {
        cluster.pipelines.insert(row.0);
    })?;
    each(store, DELETED_BLOCKS, |_, row| cluster.deletions.insert(row.0))?;
    for sequence in Sequence::ALL {
        let last = SEQUENCE_ID.get(store, &sequence.name().to_owned())?;
        cluster.sequences.load(sequence, last.map_or(0, |NumberRow(n)| n));
    }
    cluster.balancer = load_balancer(store)?;
    let destinations = DESTINATIONS.get(store, &DESTINATIONS_KEY.to_owned())?;
    cluster.destinations = destinations.map(|row| row.0).unwrap_or_default();
    let position = TRANSACTION_INFO.get(store, &TRANSACTION_INFO_KEY.to_owned())?;
    Ok(position.map(|p| p.0).unwrap_or_default())
}

/// The requested state of the container balancer. A row with an invalid configuration, which
/// Ozone's SCM may write, disables the balancer and does not prevent SCM's start.
fn load_balancer(store: &Store) -> Result<Option<Balancer>, ScmError> {
    let Some(row) = store.get(SERVICE_CONFIG.raw(), BALANCER_KEY.as_bytes())? else {
        return Ok(None);
    };
    let balancer = BalancerRow::decode(&row);
    if balancer.is_none() {
        tracing::error!("cannot read the configuration of the container balancer; it stays off");
    }
    Ok(balancer.map(|row| row.0))
}

fn each<K: KeyCodec, V: ValueCodec>(
    store: &Store,
    table: TypedTable<K, V>,
    mut insert: impl FnMut(K, V),
) -> Result<(), ScmError> {
    let mut cursor: Cursor<'_> = table.iter(store, IterRange::all())?;
    cursor.first();
    while let Some((key, value)) = cursor.row()? {
        let bad = |what: &str| ScmError::Row {
            table: table.raw().name(),
            reason: format!("{what} of {} and {} bytes", key.len(), value.len()),
        };
        let k = K::decode(key).ok_or_else(|| bad("malformed key in a row"))?;
        let v = V::decode(value).ok_or_else(|| bad("malformed value in a row"))?;
        insert(k, v);
        cursor.next();
    }
    Ok(())
}
