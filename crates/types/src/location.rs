//! Network locations: paths such as `/default-rack` or `/dc1/rack2`.

/// The parts of a place.
pub fn parts(location: &str) -> impl Iterator<Item = &str> {
    location.split('/').map(str::trim).filter(|part| !part.is_empty())
}
