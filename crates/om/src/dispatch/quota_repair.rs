//! Quota repair: counts the contents of buckets and corrects their counters, in the background.

use std::collections::BTreeSet;
use std::sync::Arc;

use namespace::{OmError, Table, View, recount, source_bucket};
use proto::ozone::{BucketQuotaCount, OmRequest, QuotaRepairRequest, Type};

use super::Dispatcher;
use super::quota_repairs::RepairError;
use crate::state::SnapshotView;

/// Buckets that are put right by one entry of the log.
const BUCKETS_AT_ONCE: usize = 100;

impl Dispatcher {
    /// Begins a repair of these buckets (`/volume/bucket`), or of all; `false` when one is
    /// running.
    pub(super) fn repair_quota(self: &Arc<Self>, buckets: Vec<String>) -> bool {
        if !self.repairs.begin() {
            return false;
        }
        let dispatcher = Arc::clone(self);
        tokio::spawn(async move {
            let result = dispatcher.repair(buckets).await;
            if let Err(e) = &result {
                tracing::warn!("quota repair: {e}");
            }
            dispatcher.repairs.end(result);
        });
        true
    }

    async fn repair(
        self: &Arc<Self>,
        buckets: Vec<String>,
    ) -> Result<Vec<BucketQuotaCount>, RepairError> {
        let dispatcher = Arc::clone(self);
        let counting = tokio::task::spawn_blocking(move || dispatcher.count(&buckets));
        let found = counting.await??;
        for some in found.chunks(BUCKETS_AT_ONCE) {
            let request = OmRequest {
                cmd_type: Type::QuotaRepair as i32,
                client_id: "quota repair".to_owned(),
                quota_repair_request: Some(Box::new(QuotaRepairRequest {
                    bucket_count: some.to_vec(),
                    support_volume_old_quota: false,
                })),
                ..OmRequest::default()
            };
            let answer = self.submit_own(request).await?;
            if answer.success == Some(false) {
                return Err(RepairError::Refused(answer.message.unwrap_or_default()));
            }
        }
        Ok(found)
    }

    /// Counts the differences of the counters of each bucket.
    fn count(&self, buckets: &[String]) -> Result<Vec<BucketQuotaCount>, RepairError> {
        let tables = self.tables()?;
        // Counters and the rows they count must be of one moment.
        let snapshot = SnapshotView::of(&tables);
        let mut wrong = Vec::new();
        for (volume, bucket) in named(&snapshot, buckets)? {
            let count = recount(&snapshot, &volume, &bucket);
            let count = count.map_err(|error| {
                let error = Box::new(error);
                RepairError::Count { volume, bucket, error }
            })?;
            wrong.extend(count.filter(|c| c.diff_used_bytes != 0 || c.diff_used_namespace != 0));
        }
        Ok(wrong)
    }
}

/// Volume and bucket of each name, or of every existing bucket. Each comes once, even if it was
/// named several times: a difference is added to its counters once. A link stands for its source,
/// which has the counters.
fn named(view: &dyn View, names: &[String]) -> Result<Vec<(String, String)>, RepairError> {
    let split = |name: &str| {
        let (volume, bucket) = name.trim_matches('/').split_once('/')?;
        Some((volume.to_owned(), bucket.to_owned()))
    };
    if !names.is_empty() {
        let mut sources = BTreeSet::new();
        for name in names {
            let (volume, bucket) =
                split(name).ok_or_else(|| RepairError::NoBucket(name.clone()))?;
            let source = source_bucket(view, &volume, &bucket).map_err(|error| match error {
                OmError::VolumeNotFound(_) => {
                    OmError::BucketNotFound { volume: volume.clone(), bucket: bucket.clone() }
                }
                other => other,
            });
            sources.insert(source.map_err(|error| {
                let error = Box::new(error);
                RepairError::Count { volume, bucket, error }
            })?);
        }
        return Ok(sources.into_iter().collect());
    }
    let mut all = Vec::new();
    view.scan(Table::BucketTable, b"", None, &mut |key, _| {
        all.extend(split(&String::from_utf8_lossy(key)));
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(all)
}

#[cfg(test)]
mod tests {
    use namespace::{Bucket, Effect, MemoryTables, tables};
    use proto::ozone::{BucketInfo, VolumeInfo};

    use super::*;

    fn put(tables: &mut MemoryTables, name: &str, source: Option<&str>) {
        let info = BucketInfo {
            volume_name: "v".to_owned(),
            bucket_name: name.to_owned(),
            source_volume: source.map(|_| "v".to_owned()),
            source_bucket: source.map(str::to_owned),
            ..BucketInfo::default()
        };
        let key = tables::bucket_key("v", name);
        tables.apply(Effect::PutBucket { key, bucket: Bucket::new(info) });
    }

    #[test]
    fn a_bucket_is_counted_once_under_all_its_names() {
        let mut tables = MemoryTables::default();
        let volume = VolumeInfo { volume: "v".to_owned(), ..VolumeInfo::default() };
        let value = prost::Message::encode_to_vec(&volume).into();
        let (table, key) = (Table::VolumeTable, tables::volume_key("v"));
        tables.apply(Effect::Put { table, key, value });
        let rows = [("b", None), ("link", Some("b")), ("link2", Some("link")), ("c", None)];
        rows.iter().for_each(|(name, source)| put(&mut tables, name, *source));
        put(&mut tables, "gone", Some("none"));
        put(&mut tables, "loop1", Some("loop2"));
        put(&mut tables, "loop2", Some("loop1"));
        let of = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            let found = named(&tables, &names).map_err(|e| e.to_string())?;
            Ok::<_, String>(found.into_iter().map(|(_, name)| name).collect::<Vec<_>>())
        };
        assert_eq!(
            of(&["/v/b", "v/b", "/v/b/", "/v/link2", "/v/c", "/v/link"]).unwrap(),
            ["b", "c"]
        );
        assert_eq!(of(&["/v/link2"]).unwrap(), ["b"], "a link has no counters of its own");
        assert_eq!(of(&["/v/gone"]).unwrap_err(), "/v/gone: Bucket not found: v/none");
        assert!(of(&["/v/loop1"]).unwrap_err().contains("loop"));
        assert_eq!(of(&["v"]).unwrap_err(), "no bucket: v");
        assert_eq!(of(&[]).unwrap().len(), 7, "each row as it is");
    }
}
