//! The refused patterns, which docs/dev/words.md declares.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use serde::Deserialize;

use super::texts::Text;

/// The document with the patterns, from the root of the tree on.
pub const DOCUMENT: &str = "docs/dev/words.md";

#[derive(Deserialize)]
struct Declared {
    find: String,
    but: Option<String>,
    write: String,
}

/// A refused pattern.
pub struct Pattern {
    pub name: String,
    /// The words to write instead.
    pub write: String,
    find: Regex,
    /// Matches that are not meant.
    but: Option<Regex>,
    /// True if only the beginning of a text is meant.
    is_beginning: bool,
}

/// All refused patterns.
pub struct Patterns {
    pub all: Vec<Pattern>,
    /// Finds those that a text has at all.
    any: RegexSet,
}

/// A place with a refused pattern.
#[derive(Debug)]
pub struct Place {
    /// The index of the pattern.
    pub pattern: usize,
    pub line: usize,
    /// The words that were found.
    pub words: String,
}

impl Patterns {
    /// Reads the patterns of a tree.
    ///
    /// # Errors
    /// When the document cannot be read, or a pattern is wrong.
    pub fn read(root: &Path) -> Result<Self> {
        let document = fs::read_to_string(root.join(DOCUMENT)).context(DOCUMENT)?;
        let block = document.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
        Self::parse(block.with_context(|| format!("{DOCUMENT} has no patterns"))?).context(DOCUMENT)
    }

    pub(super) fn parse(block: &str) -> Result<Self> {
        let declared: toml::Table = block.parse()?;
        let mut all = Vec::new();
        let mut texts = Vec::new();
        for (name, value) in declared {
            let Declared { find, but, write } =
                value.try_into().with_context(|| format!("pattern {name}"))?;
            let compile = |text: &str| RegexBuilder::new(text).case_insensitive(true).build();
            let is_beginning = find.starts_with('^');
            let but = but.as_deref().map(compile).transpose()?;
            let pattern = Pattern { name, write, find: compile(&find)?, but, is_beginning };
            texts.push(find);
            all.push(pattern);
        }
        let any = RegexSetBuilder::new(&texts).case_insensitive(true).build()?;
        Ok(Self { all, any })
    }

    /// The refused places of a text; where two patterns meet, the first one counts.
    pub fn places(&self, text: &Text) -> Vec<Place> {
        let mut places = Vec::new();
        let mut taken: Vec<(usize, usize)> = Vec::new();
        for index in self.any.matches(&text.words) {
            let pattern = &self.all[index];
            if pattern.is_beginning && !text.begins {
                continue;
            }
            let meant: Vec<(usize, usize)> = pattern
                .but
                .iter()
                .flat_map(|but| but.find_iter(&text.words))
                .map(|found| (found.start(), found.end()))
                .collect();
            for found in pattern.find.find_iter(&text.words) {
                let overlaps =
                    |(from, to): &(usize, usize)| *from < found.end() && found.start() < *to;
                if !meant.iter().chain(&taken).any(overlaps) {
                    taken.push((found.start(), found.end()));
                    let words = found.as_str().trim_matches([' ', '.', ',', ';', ':']).to_owned();
                    places.push(Place { pattern: index, line: text.line(found.start()), words });
                }
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::super::texts::{of_document, of_source};
    use super::*;

    const BLOCK: &str = "[behind]\nfind = '\\bbehind (it|them)\\b'\nbut = '\\blags behind it'\n\
                         write = 'after'\n[begins]\nfind = '^(what|which)\\b'\nwrite = 'a noun'\n";

    fn found(texts: &[Text]) -> Vec<(usize, String)> {
        let patterns = Patterns::parse(BLOCK).expect("patterns");
        let places = texts.iter().flat_map(|text| patterns.places(text));
        places.map(|place| (place.line, place.words)).collect()
    }

    #[test]
    fn patterns_are_found_with_their_lines_and_exceptions_are_not() {
        let source = "// Something Behind\n// them, and lags behind it.\n// `behind it`\n";
        assert_eq!(found(&of_source(source, false)), [(1, "Behind them".to_owned())]);
    }

    #[test]
    fn a_beginning_counts_in_documentation_and_headings_only() {
        let source = "/// What it is.\nfn f() {}\n// Which one.\n/// A\n/// what.\n";
        assert_eq!(found(&of_source(source, false)), [(1, "What".to_owned())]);
        let document = "# Which one\nWhat is\n";
        assert_eq!(found(&of_document(document)), [(1, "Which".to_owned())]);
    }

    #[test]
    fn a_place_counts_once() {
        let block = "[a]\nfind = '^what'\nwrite = ''\n[b]\nfind = 'what is'\nwrite = ''\n";
        let patterns = Patterns::parse(block).expect("patterns");
        let texts = of_source("/// What is here, and what is there.\n", false);
        let places = patterns.places(&texts[0]);
        let found: Vec<_> = places.iter().map(|place| (place.pattern, &*place.words)).collect();
        assert_eq!(found, [(0, "What"), (1, "what is")]);
    }

    #[test]
    fn a_wrong_pattern_is_an_error() {
        assert!(Patterns::parse("[a]\nfind = '('\nwrite = ''\n").is_err());
        assert!(Patterns::parse("[a]\nfind = 'a'\n").is_err());
    }
}
