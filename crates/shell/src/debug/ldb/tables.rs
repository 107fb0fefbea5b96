//! Known tables, by name and database.

use uuid::Uuid;

use super::values::ValueForm;
use crate::ShellError;

/// Format of the keys and values of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableForm {
    pub(super) key: KeyForm,
    pub(super) value: ValueForm,
}

/// Format of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyForm {
    /// Text; other bytes are shown as hexadecimal digits.
    Text,
    /// A number of eight bytes, big endian.
    Number,
    /// A UUID of sixteen bytes.
    Uuid,
    /// `<upload id>/` and a number of four bytes.
    Part,
    /// A container's number of eight bytes, `|`, and the rest.
    OfContainer(Rest),
}

/// The part of a key after the container's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    Text,
    Number,
}

impl TableForm {
    const fn new(key: KeyForm, value: ValueForm) -> Self {
        Self { key, value }
    }

    /// The format of a table, identified by the other tables of its database.
    pub(super) fn of(tables: &[String], table: &str, schema: &str) -> Self {
        let has = |name: &str| tables.iter().any(|table| table == name);
        let known = if has("volumeTable") && has("keyTable") {
            of_om(table)
        } else if has("scmTransactionInfos") || has("validSCMCerts") {
            of_scm(table)
        } else if has("block_data") {
            of_datanode(table, schema)
        } else {
            None
        };
        known.unwrap_or(Self::new(KeyForm::Text, ValueForm::Bytes))
    }
}

fn of_om(table: &str) -> Option<TableForm> {
    let (key, value) = match table {
        "volumeTable" => (KeyForm::Text, ValueForm::Volume),
        "bucketTable" => (KeyForm::Text, ValueForm::Bucket),
        "userTable" => (KeyForm::Text, ValueForm::UserVolumes),
        "keyTable" | "openKeyTable" | "fileTable" | "openFileTable" | "deletedDirectoryTable" => {
            (KeyForm::Text, ValueForm::Key)
        }
        "directoryTable" => (KeyForm::Text, ValueForm::Directory),
        "deletedTable" => (KeyForm::Text, ValueForm::DeletedKeys),
        "multipartInfoTable" => (KeyForm::Text, ValueForm::Upload),
        "multipartPartsTable" => (KeyForm::Part, ValueForm::Part),
        "s3SecretTable" => (KeyForm::Text, ValueForm::S3Secret),
        "prefixTable" => (KeyForm::Text, ValueForm::Prefix),
        "snapshotInfoTable" => (KeyForm::Text, ValueForm::Snapshot),
        "snapshotRenamedTable" | "metaTable" => (KeyForm::Text, ValueForm::Text),
        "transactionInfoTable" => (KeyForm::Text, ValueForm::Transaction),
        "dTokenTable" => (KeyForm::Text, ValueForm::Number),
        "tenantStateTable" => (KeyForm::Text, ValueForm::Tenant),
        "tenantAccessIdTable" => (KeyForm::Text, ValueForm::TenantAccessId),
        "principalToAccessIdsTable" => (KeyForm::Text, ValueForm::TenantPrincipal),
        _ => return None,
    };
    Some(TableForm::new(key, value))
}

fn of_scm(table: &str) -> Option<TableForm> {
    let (key, value) = match table {
        "containers" => (KeyForm::Number, ValueForm::Container),
        "pipelines" => (KeyForm::Uuid, ValueForm::Pipeline),
        "deletedBlocks" => (KeyForm::Number, ValueForm::Deletion),
        "sequenceId" => (KeyForm::Text, ValueForm::Number),
        "scmTransactionInfos" => (KeyForm::Text, ValueForm::Transaction),
        "meta" => (KeyForm::Text, ValueForm::Text),
        _ => return None,
    };
    Some(TableForm::new(key, value))
}

fn of_datanode(table: &str, schema: &str) -> Option<TableForm> {
    let key = |rest| match (schema.eq_ignore_ascii_case("V3"), rest) {
        (true, rest) => KeyForm::OfContainer(rest),
        (false, Rest::Text) => KeyForm::Text,
        (false, Rest::Number) => KeyForm::Number,
    };
    let (key, value) = match table {
        "block_data" | "last_chunk_info" => (key(Rest::Text), ValueForm::Block),
        "metadata" | "finalize_blocks" => (key(Rest::Text), ValueForm::Number),
        "delete_txns" => (key(Rest::Number), ValueForm::Deletion),
        "segments" | "deleted_early" | "closed" => (key(Rest::Text), ValueForm::Bytes),
        _ => return None,
    };
    Some(TableForm::new(key, value))
}

impl KeyForm {
    /// Formats a key for people.
    pub(super) fn show(self, key: &[u8]) -> String {
        let shown = match self {
            KeyForm::Text => None,
            KeyForm::Number => number(key),
            KeyForm::Uuid => Uuid::from_slice(key).ok().map(|id| id.to_string()),
            KeyForm::Part => part(key),
            KeyForm::OfContainer(rest) => of_container(key, rest),
        };
        shown.unwrap_or_else(|| text(key))
    }

    /// Parses a formatted key.
    ///
    /// # Errors
    /// If it is malformed.
    pub(super) fn parse(self, shown: &str) -> Result<Vec<u8>, ShellError> {
        let malformed =
            |what: &str| ShellError::Usage(format!("{shown} is not a key: {what} is expected"));
        let number = |text: &str| {
            text.parse::<i64>().map(i64::to_be_bytes).map_err(|_| malformed("a number"))
        };
        Ok(match self {
            KeyForm::Text => shown.as_bytes().to_vec(),
            KeyForm::Number => number(shown)?.to_vec(),
            KeyForm::Uuid => {
                Uuid::parse_str(shown).map_err(|_| malformed("a UUID"))?.as_bytes().to_vec()
            }
            KeyForm::Part => {
                let (upload, part) =
                    shown.rsplit_once('/').ok_or_else(|| malformed("<upload id>/<part number>"))?;
                let part: i32 = part.parse().map_err(|_| malformed("a part number"))?;
                [upload.as_bytes(), b"/", &part.to_be_bytes()].concat()
            }
            KeyForm::OfContainer(rest) => {
                let (container, key) =
                    shown.split_once('|').ok_or_else(|| malformed("<container id>|<key>"))?;
                let key = match rest {
                    Rest::Text => key.as_bytes().to_vec(),
                    Rest::Number => number(key)?.to_vec(),
                };
                [&number(container)?[..], b"|", &key].concat()
            }
        })
    }
}

fn number(bytes: &[u8]) -> Option<String> {
    bytes.try_into().ok().map(|bytes| i64::from_be_bytes(bytes).to_string())
}

fn part(key: &[u8]) -> Option<String> {
    let (upload, number) = key.split_last_chunk::<4>()?;
    Some(format!("{}{}", text(upload), i32::from_be_bytes(*number)))
}

fn of_container(key: &[u8], rest: Rest) -> Option<String> {
    let (container, key) = key.split_first_chunk::<8>()?;
    let key = key.strip_prefix(b"|")?;
    let key = match rest {
        Rest::Text => text(key),
        Rest::Number => number(key)?,
    };
    Some(format!("{}|{key}", i64::from_be_bytes(*container)))
}

/// Text unchanged; other bytes as hexadecimal digits.
pub(super) fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_key_is_the_key() {
        let id = Uuid::from_u128(7);
        for (form, key, shown) in [
            (KeyForm::Text, b"/vol1/bkt/a".to_vec(), "/vol1/bkt/a"),
            (KeyForm::Number, 258_u64.to_be_bytes().to_vec(), "258"),
            (KeyForm::Uuid, id.as_bytes().to_vec(), "00000000-0000-0000-0000-000000000007"),
            (KeyForm::Part, b"u-1/\0\0\x01\x02".to_vec(), "u-1/258"),
            (KeyForm::OfContainer(Rest::Text), b"\0\0\0\0\0\0\0\x01|#BCSID".to_vec(), "1|#BCSID"),
            (
                KeyForm::OfContainer(Rest::Number),
                b"\0\0\0\0\0\0\0\x01|\0\0\0\0\0\0\0\x05".to_vec(),
                "1|5",
            ),
        ] {
            assert_eq!(form.show(&key), shown);
            assert_eq!(form.parse(shown).unwrap(), key);
        }
        // A key of another format is shown nevertheless.
        assert_eq!(KeyForm::Number.show(b"abc"), "abc");
        assert_eq!(KeyForm::Uuid.show(b"\xff\0"), "ff00");
        assert_eq!(KeyForm::OfContainer(Rest::Text).show(b"12345678-9"), "12345678-9");
        for (form, shown) in [
            (KeyForm::Number, "x"),
            (KeyForm::Uuid, "7"),
            (KeyForm::Part, "u-1"),
            (KeyForm::OfContainer(Rest::Text), "1"),
        ] {
            assert!(form.parse(shown).is_err(), "{shown}");
        }
    }

    #[test]
    fn a_table_is_known_by_its_neighbours() {
        let of = |tables: &[&str], table| {
            let tables: Vec<String> = tables.iter().map(|t| (*t).to_owned()).collect();
            TableForm::of(&tables, table, "v3").value
        };
        assert_eq!(of(&["volumeTable", "keyTable"], "keyTable"), ValueForm::Key);
        assert_eq!(of(&["scmTransactionInfos"], "containers"), ValueForm::Container);
        assert_eq!(of(&["block_data"], "metadata"), ValueForm::Number);
        assert_eq!(of(&["default"], "default"), ValueForm::Bytes);
        assert_eq!(of(&["block_data"], "keyTable"), ValueForm::Bytes);
    }
}
