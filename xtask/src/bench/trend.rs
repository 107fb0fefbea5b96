//! The last figure of each name against the median of the ones before, on one machine.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::results::Row;

/// A change by less than this share is left without a word: figures of a shared machine vary.
const NOISE: f64 = 0.1;

/// A table of all names that were measured on `machine`, with the ratio of the last figure to the
/// median of the ones before.
pub fn table(rows: &[Row], machine: &str) -> String {
    let mut names: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.machine == machine) {
        names.entry(&row.figure.name).or_default().push(row);
    }
    let mut text = format!("{machine}: {} names\n", names.len());
    let elsewhere = rows.iter().filter(|row| row.machine != machine).count();
    if elsewhere > 0 {
        let _ = writeln!(text, "{elsewhere} figures of other machines are left out");
    }
    let _ = writeln!(
        text,
        "{:60} {:>12} {:>12} {:>6} {:>8}  unit",
        "name", "last", "median", "before", "ratio"
    );
    for (name, rows) in names {
        let Some((last, before)) = rows.split_last() else { continue };
        let (value, unit) = (last.figure.value, last.figure.unit.as_str());
        // A figure in another unit is of another benchmark.
        let before: Vec<f64> = before
            .iter()
            .filter(|row| row.figure.unit == unit)
            .map(|row| row.figure.value)
            .collect();
        let number = |value: f64| format!("{value:.*}", if value < 100.0 { 3 } else { 0 });
        let (median, ratio, verdict) = match median(before.clone()) {
            Some(median) if median > 0.0 => {
                let ratio = value / median;
                (number(median), format!("{ratio:.2}"), verdict(ratio, unit))
            }
            _ => ("-".to_owned(), "-".to_owned(), ""),
        };
        let _ = writeln!(
            text,
            "{name:60} {:>12} {median:>12} {:>6} {ratio:>8}  {unit} {verdict} ({})",
            number(value),
            before.len(),
            last.commit
        );
    }
    text
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => Some((values.get(middle.checked_sub(1)?)? + values.get(middle)?) / 2.0),
        _ => values.get(middle).copied(),
    }
}

/// Of a rate more is better, of anything else less.
fn verdict(ratio: f64, unit: &str) -> &'static str {
    let gain = if unit.ends_with("/s") { ratio } else { 1.0 / ratio };
    match gain {
        gain if gain > 1.0 + NOISE => "better",
        gain if gain < 1.0 / (1.0 + NOISE) => "WORSE",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::Figure;

    fn row(name: &str, value: f64, unit: &str, machine: &str) -> Row {
        let figure = Figure { name: name.into(), value, unit: unit.into() };
        Row { figure, commit: "abc".into(), machine: machine.into() }
    }

    fn line<'t>(table: &'t str, name: &str) -> &'t str {
        table.lines().find(|line| line.starts_with(name)).unwrap_or_default()
    }

    #[test]
    fn the_last_figure_is_held_against_the_median_of_those_before() {
        let rows: Vec<Row> = [100.0, 300.0, 200.0, 400.0]
            .into_iter()
            .map(|value| row("slower", value, "ns", "here"))
            .collect();
        let table = table(&rows, "here");
        let words: Vec<&str> = line(&table, "slower").split_whitespace().collect();
        assert_eq!(words, ["slower", "400", "200", "3", "2.00", "ns", "WORSE", "(abc)"]);
    }

    #[test]
    fn more_of_a_rate_is_better_and_noise_is_left_without_a_word() {
        let pairs = [("rate", 1.0, 2.0, "ops/s"), ("same", 1.0, 1.05, "ns")];
        let rows: Vec<Row> = pairs
            .into_iter()
            .flat_map(|(name, a, b, unit)| [row(name, a, unit, "here"), row(name, b, unit, "here")])
            .collect();
        let table = table(&rows, "here");
        assert!(line(&table, "rate").contains("better"), "{table}");
        assert!(!line(&table, "same").contains("better"), "{table}");
        assert!(!line(&table, "same").contains("WORSE"), "{table}");
    }

    #[test]
    fn figures_of_other_machines_and_first_figures_have_no_ratio() {
        let rows = [row("a", 1.0, "ns", "there"), row("a", 9.0, "ns", "here")];
        let table = table(&rows, "here");
        let words: Vec<&str> = line(&table, "a ").split_whitespace().collect();
        assert_eq!(words, ["a", "9.000", "-", "0", "-", "ns", "(abc)"]);
        assert!(table.contains("1 figures of other machines are left out"), "{table}");
    }
}
