//! Execution of each operation of `ommg`.

use client::{CreateKey, FileOptions, KeyPath, ListKeys};
use proto::ozone::{
    KeyArgs, ListStatusRequest, LookupFileRequest, LookupKeyRequest, OmRequest, Type,
};

use super::Generator;
use super::operation::Operation;
use crate::FreonError;
use crate::names::numbered;
use crate::runner::Tally;
use crate::target::Target;

impl Generator {
    pub(super) async fn perform(
        &self,
        operation: Operation,
        test: u64,
        task: usize,
        tally: &mut Tally,
    ) -> Result<(), FreonError> {
        let Target { volume, bucket, .. } = &self.target;
        let client = self.target.client(test);
        let number = match operation {
            _ if self.random => rand::random::<u64>() % self.tests,
            // A timed run has more tests than keys.
            _ if operation.reads_key() => test % self.tests,
            _ => test,
        };
        let path = self.target.path(numbered(&self.prefix, number));
        match operation {
            Operation::CreateKey => {
                self.target.write(test, CreateKey::new(path), &self.content).await?;
                tally.bytes += self.content.size();
            }
            Operation::CreateFile => {
                let options = FileOptions { recursive: true, overwrite: true };
                let key = CreateKey::new(path).as_file(options);
                self.target.write(test, key, &self.content).await?;
                tally.bytes += self.content.size();
            }
            Operation::ReadKey | Operation::ReadFile => {
                tally.bytes += self.target.read(test, &path).await?;
            }
            Operation::HeadKey => drop(client.key_info(&path).await?),
            Operation::GetKeyinfo => drop(client.open_key(&path).await?),
            Operation::LookupKey => self.lookup_key(test, path).await?,
            Operation::LookupFile => self.lookup_file(test, path).await?,
            Operation::ListKeys => {
                let page = client.list_key_infos_page(&self.keys_of(task), self.batch).await?.0;
                self.listed(operation, page.len(), tally)?;
            }
            Operation::ListKeysLight => {
                let page = client.list_keys_page(&self.keys_of(task), self.batch).await?.0;
                self.listed(operation, page.len(), tally)?;
            }
            Operation::ListStatus | Operation::ListStatusLight => {
                let entries = self.list_status(operation, test, task).await?;
                self.listed(operation, entries, tally)?;
            }
            Operation::InfoBucket => drop(client.bucket_info(volume, bucket).await?),
            Operation::InfoVolume => drop(client.volume_info(volume).await?),
            // Rejected in `assign`.
            Operation::Mixed => {}
        }
        Ok(())
    }

    async fn lookup_key(&self, test: u64, path: KeyPath) -> Result<(), FreonError> {
        let request = OmRequest {
            cmd_type: Type::LookupKey as i32,
            lookup_key_request: Some(Box::new(LookupKeyRequest { key_args: args(path) })),
            ..Default::default()
        };
        self.target.submit(test, request).await.map(drop)
    }

    async fn lookup_file(&self, test: u64, path: KeyPath) -> Result<(), FreonError> {
        let request = OmRequest {
            cmd_type: Type::LookupFile as i32,
            lookup_file_request: Some(Box::new(LookupFileRequest { key_args: args(path) })),
            ..Default::default()
        };
        self.target.submit(test, request).await.map(drop)
    }

    async fn list_status(
        &self,
        operation: Operation,
        test: u64,
        task: usize,
    ) -> Result<usize, FreonError> {
        let is_light = operation == Operation::ListStatusLight;
        let kind = if is_light { Type::ListStatusLight } else { Type::ListStatus };
        let request = OmRequest {
            cmd_type: kind as i32,
            list_status_request: Some(Box::new(ListStatusRequest {
                key_args: args(self.target.path(&self.prefix)),
                recursive: false,
                start_key: self.first_of(task),
                num_entries: self.batch.into(),
                allow_partial_prefix: None,
            })),
            ..Default::default()
        };
        let answer = self.target.submit(test, request).await?;
        Ok(match is_light {
            true => answer.list_status_light_response.map_or(0, |page| page.statuses.len()),
            false => answer.list_status_response.map_or(0, |page| page.statuses.len()),
        })
    }

    /// Start of a task's page: each task lists a different one.
    fn first_of(&self, task: usize) -> String {
        numbered(&self.prefix, (task as u64).saturating_mul(self.batch.into()))
    }

    fn keys_of(&self, task: usize) -> ListKeys {
        let Target { volume, bucket, .. } = &self.target;
        ListKeys::new(volume, bucket).start_after(self.first_of(task))
    }

    /// Counts the entries of a listing. A page with too few entries would be a different load; its
    /// first key may be omitted.
    fn listed(
        &self,
        operation: Operation,
        found: usize,
        tally: &mut Tally,
    ) -> Result<(), FreonError> {
        if found as u64 + 1 < u64::from(self.batch) {
            return Err(FreonError::TooFew {
                operation: operation.name(),
                creator: operation.creator(),
                found,
                batch: self.batch,
            });
        }
        tally.entries += found as u64;
        Ok(())
    }
}

/// A key as an argument of requests.
fn args(path: KeyPath) -> KeyArgs {
    KeyArgs {
        volume_name: path.volume,
        bucket_name: path.bucket,
        key_name: path.key,
        ..Default::default()
    }
}
