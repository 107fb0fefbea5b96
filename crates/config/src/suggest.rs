//! The declared key nearest to a mistyped one.

/// The candidate that needs the fewest edits, if few enough to be meant.
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
