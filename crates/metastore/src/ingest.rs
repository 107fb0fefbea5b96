//! Bulk loads: table files that the database ingests unchanged.

use std::path::PathBuf;

use rust_rocksdb::{IngestExternalFileOptions, Options, SstFileWriter};

use crate::open::table_options;
use crate::{Error, Preset, Result, Store, StoreOptions, Table};

/// Bytes of rows after which a table file ends.
const FILE_SIZE: u64 = 64 << 20;

/// Rows of one table that become visible together, in ascending order of their keys. They replace
/// rows of the same keys. Incomplete files are removed.
pub struct Ingest<'a> {
    store: &'a Store,
    table: Table,
    options: Options,
    files: Vec<PathBuf>,
}

/// A table file being written.
struct Writer<'a>(SstFileWriter<'a>);

impl Store {
    /// Starts a bulk load of `table`, laid out as `preset`.
    ///
    /// # Errors
    /// If the options of a table cannot be created.
    pub fn ingest(&self, table: Table, preset: Preset) -> Result<Ingest<'_>> {
        let options = table_options(preset, &self.inner.cache, &StoreOptions::default())?;
        Ok(Ingest { store: self, table, options, files: Vec::new() })
    }
}

impl Ingest<'_> {
    /// Ingests the rows from `next`, until it returns `None`, and makes them durable and visible.
    /// Returns the bytes of the files.
    ///
    /// # Errors
    /// If keys do not ascend, or a file cannot be written or ingested.
    pub fn rows(mut self, mut next: impl FnMut() -> Option<(Vec<u8>, Vec<u8>)>) -> Result<u64> {
        let options = self.options.clone();
        let (mut bytes, mut writer) = (0_u64, None);
        while let Some((key, value)) = next() {
            let file = match writer.take() {
                Some(file) => file,
                None => self.begin(&options)?,
            };
            let mut file: Writer<'_> = file;
            file.0.put(key, value).map_err(|e| Error::of("write of a table file", e))?;
            if file.0.file_size() < FILE_SIZE {
                writer = Some(file);
            } else {
                bytes = bytes.saturating_add(finish(file)?);
            }
        }
        if let Some(file) = writer {
            bytes = bytes.saturating_add(finish(file)?);
        }
        if self.files.is_empty() {
            return Ok(0);
        }
        let mut how = IngestExternalFileOptions::default();
        how.set_move_files(true);
        let family = self.store.family(self.table.name())?;
        let db = &self.store.inner.db;
        db.ingest_external_file_cf_opts(family, &how, self.files.clone())
            .map_err(|e| Error::of("ingest", e))?;
        Ok(bytes)
    }

    fn begin<'o>(&mut self, options: &'o Options) -> Result<Writer<'o>> {
        let name = format!("ingest-{}-{}.sst", self.table.name(), self.files.len());
        let path = self.store.path().join(name);
        let mut writer = SstFileWriter::create(options);
        writer.open(&path).map_err(|e| Error::of("make a table file", e))?;
        self.files.push(path);
        Ok(Writer(writer))
    }
}

fn finish(mut file: Writer<'_>) -> Result<u64> {
    file.0.finish().map_err(|e| Error::of("write of a table file", e))?;
    Ok(file.0.file_size())
}

impl Drop for Ingest<'_> {
    fn drop(&mut self) {
        for file in &self.files {
            // Ingested files have another name by now.
            let _ = std::fs::remove_file(file);
        }
    }
}
