//! The declared key nearest to a mistyped one.

/// Returns the candidate with the fewest edits, if they are few enough for a typing error.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let limit = (name.len() / 6).clamp(1, 4);
    candidates
        .filter(|c| c.len().abs_diff(name.len()) <= limit)
        .map(|c| (strsim::levenshtein(name, c), c))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}
