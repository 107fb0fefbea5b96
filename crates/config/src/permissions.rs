//! Permissions of a directory: `700` or `rwx------`, as Ozone accepts them.

use std::fmt;

use crate::declare::{KeySpec, Value};
use crate::error::Expected;

const EXPECTED: &str = "permissions, octal such as 700 or symbolic such as rwxr-x---";
const SYMBOLS: &str = "rwxrwxrwx";

/// Permissions of a directory: the bits of its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirPermissions(u32);

impl DirPermissions {
    /// Access for the owner only: Ozone's default.
    pub const OWNER: Self = Self(0o700);

    /// The bits of the mode, at most `0o777`.
    pub fn mode(self) -> u32 {
        self.0
    }
}

impl Value for DirPermissions {
    const TYPE: &'static str = "permissions";

    fn parse(raw: &str, _: &KeySpec) -> Result<Self, Expected> {
        // Ozone distinguishes the two forms by these letters.
        let mode = match raw.contains(['r', 'w', 'x']) {
            true => symbolic(raw),
            false => octal(raw),
        };
        mode.map(Self).ok_or(Expected(EXPECTED.into()))
    }
}

fn octal(raw: &str) -> Option<u32> {
    let digits = !raw.is_empty() && raw.bytes().all(|digit| digit.is_ascii_digit());
    u32::from_str_radix(raw, 8).ok().filter(|mode| digits && *mode <= 0o777)
}

fn symbolic(raw: &str) -> Option<u32> {
    if raw.len() != SYMBOLS.len() {
        return None;
    }
    raw.bytes().zip(SYMBOLS.bytes()).try_fold(0, |mode, (given, letter)| match given {
        b'-' => Some(mode << 1),
        given if given == letter => Some(mode << 1 | 1),
        _ => None,
    })
}

impl fmt::Display for DirPermissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:03o}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::Configuration;
    use crate::keys::hdds::OZONE_METADATA_DIRS_PERMISSIONS;

    #[test]
    fn permissions_are_octal_or_symbolic() {
        let cases = [
            ("700", Some(0o700)),
            ("0750", Some(0o750)),
            ("7", Some(0o007)),
            ("rwx------", Some(0o700)),
            ("rwxr-x---", Some(0o750)),
            ("r-xr-xr-x", Some(0o555)),
            ("", Some(0o700)),
            ("1777", None),
            ("800", None),
            ("+700", None),
            ("700 750", None),
            ("---------", None),
            ("rwx", None),
            ("rwxrwsr-x", None),
            ("xwr------", None),
            ("u=rwx,g=,o=", None),
        ];
        for (text, expected) in cases {
            let conf = Configuration::default();
            let found = conf.try_with("ozone.metadata.dirs.permissions", text).ok();
            let found = found.map(|conf| conf.get(&OZONE_METADATA_DIRS_PERMISSIONS).mode());
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
