//! Column families of `om.db`: [`namespace::Table`] lists the tables, their form on disk is here.

use metastore::{Preset, Table as StoreTable, TableSpec};
use namespace::Table;

/// A column family of our own that the rules do not use: answers of writes that clients may retry.
pub(crate) const RETRY_TABLE: &str = "trioxideRetryTable";

/// Layout of a table. Rows that are found by their full key lie in small blocks; rows that are
/// listed in somewhat larger ones; rows that soon go again compact themselves.
const fn preset(table: Table) -> Preset {
    match table {
        Table::OpenKeyTable
        | Table::OpenFileTable
        | Table::DeletedTable
        | Table::DeletedDirectoryTable
        | Table::MultipartInfoTable
        | Table::MultipartPartsTable
        | Table::SnapshotRenamedTable
        | Table::SnapshotChangeTable
        | Table::SnapshotGarbageTable => Preset::Queue,
        Table::KeyTable | Table::FileTable | Table::DirectoryTable | Table::SnapshotRowTable => {
            Preset::Scan
        }
        _ => Preset::Point,
    }
}

/// Column families of the database: all of Ozone's, used yet or not, so that its tools find them,
/// and our own.
pub(crate) fn specs() -> Vec<TableSpec> {
    let ozones = Table::ALL.iter().map(|t| {
        let spec = TableSpec::new(t.name(), preset(*t));
        match t {
            Table::KeyTable | Table::FileTable | Table::DirectoryTable => spec.in_buckets(),
            _ => spec,
        }
    });
    ozones.chain([TableSpec::new(RETRY_TABLE, Preset::Queue)]).collect()
}

/// The store's name for a table.
pub(crate) const fn stored(table: Table) -> StoreTable {
    StoreTable::named(table.name())
}
