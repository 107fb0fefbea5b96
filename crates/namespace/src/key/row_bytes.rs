//! A key's row as the KeyInfo of an answer, without decoding it.
//!
//! The client's KeyInfo is nearly always equal to the row, byte by byte. So the row is walked once,
//! field by field, to check this; other rows are decoded instead.

use std::ops::Range;

use bytes::Bytes;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use proto::ozone::{KeyArgs, Type};

use super::basic::Fields;
use crate::command::response;

/// Fields of `KeyInfo`.
const KEY_NAME: u32 = 3;
const KEY_LOCATION_LIST: u32 = 7;

/// The wire type of messages and texts.
const LENGTH_DELIMITED: u64 = WireType::LengthDelimited as u64;

/// A row, and the name that it has in the answer if that is another.
pub(crate) struct RowBytes<'a, R = Bytes> {
    row: R,
    name: Option<(Range<usize>, &'a [u8])>,
}

impl<'a, R: AsRef<[u8]>> RowBytes<'a, R> {
    /// The KeyInfo of `row` with all that it has, under `name` if that is another than the row's.
    ///
    /// # Errors
    /// The row, if it is malformed.
    pub(super) fn whole(row: R, name: Option<&'a [u8]>) -> Result<Self, R> {
        match walk(row.as_ref()) {
            Some((_, at)) => Ok(Self { row, name: name.map(|name| (at, name)) }),
            None => Err(row),
        }
    }

    /// The KeyInfo of `row`, under `name` if that is another than the row's.
    ///
    /// # Errors
    /// The row, if it is to be decoded: it is malformed, or `args` requests only part of it.
    pub(crate) fn of(row: R, name: Option<&'a [u8]>, args: &KeyArgs) -> Result<Self, R> {
        let Some((versions, at)) = walk(row.as_ref()) else { return Err(row) };
        let wants_part = args.multipart_number.is_some_and(|part| part > 0);
        let wants_latest = args.latest_version_location == Some(true);
        match wants_part || (wants_latest && versions > 1) {
            true => Err(row),
            false => Ok(Self { row, name: name.map(|name| (at, name)) }),
        }
    }

    pub(super) fn encoded_len(&self) -> usize {
        let row = self.row.as_ref();
        let Some((at, name)) = &self.name else { return row.len() };
        let named = field_len(KEY_NAME, name.len());
        row.len().saturating_sub(at.len()).saturating_add(named)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let row = self.row.as_ref();
        let Some((at, name)) = &self.name else { return out.extend_from_slice(row) };
        out.extend_from_slice(row.get(..at.start).unwrap_or_default());
        encode_key(KEY_NAME, WireType::LengthDelimited, out);
        encode_varint(name.len() as u64, out);
        out.extend_from_slice(name);
        out.extend_from_slice(row.get(at.end..).unwrap_or_default());
    }

    /// The encoded `OMResponse` whose `field` has this key in `key_field`, followed by the contents
    /// of `rest`, the same message without the key.
    pub(crate) fn answer(
        &self,
        command: Type,
        trace_id: Option<&str>,
        field: u32,
        key_field: u32,
        rest: &impl Message,
    ) -> Bytes {
        let key_len = self.encoded_len();
        let body_len = field_len(key_field, key_len).saturating_add(rest.encoded_len());
        let head_len = response::ok_len(command, trace_id);
        let mut out = Vec::with_capacity(head_len.saturating_add(field_len(field, body_len)));
        response::encode_ok(command, trace_id, &mut out);
        encode_key(field, WireType::LengthDelimited, &mut out);
        encode_varint(body_len as u64, &mut out);
        encode_key(key_field, WireType::LengthDelimited, &mut out);
        encode_varint(key_len as u64, &mut out);
        self.encode(&mut out);
        rest.encode_raw(&mut out);
        Bytes::from(out)
    }
}

/// Bytes of a field with `len` bytes in it.
fn field_len(field: u32, len: usize) -> usize {
    key_len(field).saturating_add(encoded_len_varint(len as u64)).saturating_add(len)
}

/// Number of versions of a row, and range of its name, tag and length included; `None` if it is no
/// KeyInfo, or has several names.
fn walk(row: &[u8]) -> Option<(usize, Range<usize>)> {
    let mut fields = Fields::new(row);
    let (mut versions, mut name) = (0_usize, None);
    let mut start = 0;
    while let Some((field, wire_type)) = fields.pass().ok()? {
        let end = row.len().saturating_sub(fields.left());
        let is_name = field == u64::from(KEY_NAME);
        let is_version = field == u64::from(KEY_LOCATION_LIST);
        if (is_name || is_version) && wire_type != LENGTH_DELIMITED {
            return None;
        }
        if is_name && name.replace(start..end).is_some() {
            return None;
        }
        versions = versions.saturating_add(usize::from(is_version));
        start = end;
    }
    Some((versions, name?))
}

#[cfg(test)]
mod tests {
    use proto::ozone::{
        GetKeyInfoResponse, KeyInfo, KeyLocationList, LookupKeyResponse, OmResponse,
    };

    use super::*;

    fn key(versions: u64) -> KeyInfo {
        let list = |version| KeyLocationList { version: Some(version), ..Default::default() };
        KeyInfo {
            volume_name: "v".into(),
            bucket_name: "b".into(),
            key_name: "c".into(),
            data_size: 300,
            key_location_list: (0..versions).map(list).collect(),
            owner_name: Some("ann".into()),
            ..KeyInfo::default()
        }
    }

    fn row(versions: u64) -> Bytes {
        Bytes::from(key(versions).encode_to_vec())
    }

    fn of(row: Bytes, name: Option<&[u8]>) -> Result<RowBytes<'_>, Bytes> {
        RowBytes::of(row, name, &KeyArgs::default())
    }

    #[test]
    fn an_answer_of_bytes_is_the_one_that_the_message_has() {
        for name in [None, Some("a/b/c"), Some(""), Some(&"long".repeat(100))] {
            let key = KeyInfo { key_name: name.unwrap_or("c").to_owned(), ..key(2) };
            let bytes = of(row(2), name.map(str::as_bytes)).ok().unwrap();
            for trace in [None, Some("trace")] {
                let mut message = response::ok(Type::GetKeyInfo);
                message.trace_id = trace.map(str::to_owned);
                let rest = GetKeyInfoResponse {
                    user_principal: Some("ann".into()),
                    ..GetKeyInfoResponse::default()
                };
                let info = GetKeyInfoResponse { key_info: Some(key.clone()), ..rest.clone() };
                message.get_key_info_response = Some(Box::new(info));
                let answer = bytes.answer(Type::GetKeyInfo, trace, 111, 1, &rest);
                assert_eq!(answer, message.encode_to_vec());

                let mut message = response::ok(Type::LookupKey);
                message.trace_id = trace.map(str::to_owned);
                let info = LookupKeyResponse { key_info: Some(key.clone()), ..Default::default() };
                message.lookup_key_response = Some(Box::new(info));
                let answer = bytes.answer(Type::LookupKey, trace, 32, 2, &());
                assert_eq!(OmResponse::decode(answer.clone()).unwrap(), message);
                assert_eq!(answer, message.encode_to_vec());
            }
        }
    }

    #[test]
    fn what_is_not_told_as_it_is_kept_is_decoded() {
        let latest = || KeyArgs { latest_version_location: Some(true), ..KeyArgs::default() };
        assert!(RowBytes::of(row(2), None, &latest()).is_err());
        assert!(RowBytes::of(row(1), None, &latest()).is_ok());
        let part = KeyArgs { multipart_number: Some(1), ..KeyArgs::default() };
        assert!(RowBytes::of(row(1), None, &part).is_err());
        assert!(of(Bytes::new(), None).is_err(), "it has no name");
        let twice = [row(1), row(1)].concat();
        assert!(of(twice.into(), Some(b"a/c")).is_err(), "it has two names");
        let row = row(1);
        for len in 0..row.len() {
            // Cut between two fields it is a row of the preceding fields.
            let cut = row.slice(..len);
            if KeyInfo::decode(cut.clone()).is_err() {
                assert!(of(cut, None).is_err(), "cut after {len} bytes");
            }
        }
    }
}
