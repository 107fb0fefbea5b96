//! Arguments that Ozone's shell accepts and clap does not.

use std::ffi::OsString;

/// The arguments of a command line, with Ozone's options of two letters after one dash replaced by
/// their long form.
pub fn words(given: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut is_option = true;
    let long = |word: OsString| {
        is_option &= word != "--";
        let rest = word.to_str().and_then(|word| word.strip_prefix("-id"));
        match rest {
            Some(rest) if is_option && (rest.is_empty() || rest.starts_with('=')) => {
                format!("--service-id{rest}").into()
            }
            _ => word,
        }
    };
    given.into_iter().map(long).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ozones_id_is_the_id_of_a_service() {
        for (given, expected) in [
            ("o3 debug -id scms /", "o3 debug --service-id scms /"),
            ("o3 debug -id=scms /", "o3 debug --service-id=scms /"),
            ("o3 sh key put -identity", "o3 sh key put -identity"),
            ("o3 sh key put -- -id", "o3 sh key put -- -id"),
        ] {
            let words = words(given.split(' ').map(OsString::from));
            let expected: Vec<OsString> = expected.split(' ').map(OsString::from).collect();
            assert_eq!(words, expected, "{given}");
        }
    }
}
