//! Scans of rows that may not decode: the first failure ends the scan and is its result.

use std::ops::ControlFlow;

use crate::error::OmError;
use crate::state::view::View;
use crate::tables::Table;

/// As [`View::scan`], with an `each` that may fail.
///
/// # Errors
/// When the store or `each` fails.
pub(crate) fn try_scan<V: View + ?Sized>(
    view: &V,
    table: Table,
    start: &[u8],
    end: Option<&[u8]>,
    each: &mut dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, OmError>,
) -> Result<(), OmError> {
    let mut outcome = Ok(());
    view.scan(table, start, end, &mut |key, value| match each(key, value) {
        Ok(flow) => flow,
        Err(error) => {
            outcome = Err(error);
            ControlFlow::Break(())
        }
    })?;
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Effect, MemoryTables};

    fn tables() -> MemoryTables {
        let mut tables = MemoryTables::default();
        for key in ["a", "b", "c"] {
            let effect = Effect::Put {
                table: Table::KeyTable,
                key: key.into(),
                value: bytes::Bytes::from_static(b"value"),
            };
            tables.apply(effect);
        }
        tables
    }

    fn scan(
        each: impl Fn(&[u8]) -> Result<ControlFlow<()>, OmError>,
    ) -> (Result<(), OmError>, usize) {
        let mut seen = 0;
        let outcome = try_scan(&tables(), Table::KeyTable, b"a", None, &mut |key, _| {
            seen += 1;
            each(key)
        });
        (outcome, seen)
    }

    #[test]
    fn a_scan_goes_on_until_it_is_ended() {
        let (outcome, seen) = scan(|_| Ok(ControlFlow::Continue(())));
        assert_eq!((outcome.unwrap(), seen), ((), 3));
        let until_b = |key: &[u8]| match key {
            b"b" => Ok(ControlFlow::Break(())),
            _ => Ok(ControlFlow::Continue(())),
        };
        let (outcome, seen) = scan(until_b);
        assert_eq!((outcome.unwrap(), seen), ((), 2));
    }

    #[test]
    fn the_first_failure_ends_a_scan() {
        let (outcome, seen) =
            scan(|key| Err(crate::state::row::damaged(Table::KeyTable, key, &"not a key").into()));
        assert!(outcome.is_err());
        assert_eq!(seen, 1);
    }
}
