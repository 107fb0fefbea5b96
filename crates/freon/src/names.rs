//! Names of generated keys, the same as Ozone's, so that its generators and ours find each other's
//! keys.

use md5::{Digest, Md5};

/// Volume of keys of a range.
pub(crate) const RANGE_VOLUME: &str = "ockrwvolume";

/// Bucket of keys of a range.
pub(crate) const RANGE_BUCKET: &str = "ockrwbucket";

/// The name of a key in a range by its number: the first seven digits of the number's MD5, so that
/// consecutive keys are not adjacent.
pub(crate) fn md5_name(number: u64) -> String {
    let digest = Md5::digest(number.to_string());
    let digits: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    digits[..7].to_owned()
}

/// The name of a key by its number: names are in the order of numbers.
pub(crate) fn numbered(prefix: &str, number: u64) -> String {
    match prefix {
        "" => format!("{number:019}"),
        prefix => format!("{prefix}/{number:019}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_range_are_those_of_ozone() {
        // `echo -n 0 | md5sum`, `echo -n 1000 | md5sum`
        assert_eq!(md5_name(0), "cfcd208");
        assert_eq!(md5_name(1000), "a9b7ba7");
    }

    #[test]
    fn names_are_in_the_order_of_numbers() {
        assert_eq!(numbered("", 7), "0000000000000000007");
        assert_eq!(numbered("run", 12), "run/0000000000000000012");
        assert!(numbered("run", 9) < numbered("run", 10));
    }
}
