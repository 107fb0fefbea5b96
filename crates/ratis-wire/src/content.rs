//! Messages followed by bulk data, so that the data can be used without a copy: the message's
//! length in four bytes (big endian), the message, the data.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// Size of the length prefix.
const PREFIX: usize = 4;

/// A malformed content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// No complete length prefix.
    #[error("a content of {0} bytes is too short for a length")]
    Short(usize),
    /// A wrong length.
    #[error("the message should have {claimed} bytes, {there} follow")]
    Length {
        /// The declared length.
        claimed: i32,
        /// The actual length.
        there: usize,
    },
}

/// Splits the message from the data after it, without copies.
///
/// # Errors
/// If the length is wrong.
pub fn split(mut content: Bytes) -> Result<(Bytes, Bytes), ContentError> {
    if content.len() < PREFIX {
        return Err(ContentError::Short(content.len()));
    }
    let claimed = content.get_i32();
    let fits = usize::try_from(claimed).ok().filter(|length| *length <= content.len());
    let Some(length) = fits else {
        return Err(ContentError::Length { claimed, there: content.len() });
    };
    let message = content.split_to(length);
    Ok((message, content))
}

/// Joins a message and data; `None` if the message is too long for the length prefix.
pub fn join(message: &[u8], data: &[u8]) -> Option<Bytes> {
    let length = i32::try_from(message.len()).ok()?;
    let mut content = BytesMut::with_capacity(PREFIX + message.len() + data.len());
    content.put_i32(length);
    content.put_slice(message);
    content.put_slice(data);
    Some(content.freeze())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        let cases: [(&[u8], ContentError); 5] = [
            (b"", ContentError::Short(0)),
            (b"\0\0\0", ContentError::Short(3)),
            (b"\0\0\0\x02a", ContentError::Length { claimed: 2, there: 1 }),
            (b"\xff\xff\xff\xffabc", ContentError::Length { claimed: -1, there: 3 }),
            (b"\x7f\xff\xff\xff", ContentError::Length { claimed: i32::MAX, there: 0 }),
        ];
        for (content, error) in cases {
            assert_eq!(split(Bytes::from_static(content)), Err(error), "{content:?}");
        }
    }

    proptest! {
        #[test]
        fn what_was_joined_is_split_again(
            message in prop::collection::vec(any::<u8>(), 0..300),
            data in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let content = join(&message, &data).unwrap();
            let (a, b) = split(content).unwrap();
            prop_assert_eq!((&a[..], &b[..]), (&message[..], &data[..]));
        }

        #[test]
        fn any_bytes_are_split_or_refused(content in prop::collection::vec(any::<u8>(), 0..64)) {
            let whole = Bytes::from(content);
            if let Ok((message, data)) = split(whole.clone()) {
                prop_assert_eq!(PREFIX + message.len() + data.len(), whole.len());
                prop_assert_eq!(&whole[PREFIX..], &[message, data].concat()[..]);
            }
        }
    }
}
