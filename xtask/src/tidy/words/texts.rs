//! The prose of a file: comments and texts of a source file, paragraphs and headings of a document.

/// A piece of prose. Code in it is replaced by `` `_` ``.
#[derive(PartialEq, Eq, Debug)]
pub struct Text {
    /// True for an item's documentation and a heading: their beginning counts.
    pub begins: bool,
    pub words: String,
    /// Offsets of lines in `words`, and their numbers.
    lines: Vec<(usize, usize)>,
}

impl Text {
    fn new(begins: bool) -> Self {
        Self { begins, words: String::new(), lines: Vec::new() }
    }

    fn push(&mut self, line: &str, number: usize) {
        if !self.words.is_empty() {
            self.words.push(' ');
        }
        self.lines.push((self.words.len(), number));
        self.words.push_str(line);
    }

    /// The line of a place in `words`.
    pub fn line(&self, at: usize) -> usize {
        self.lines.iter().rev().find(|(from, _)| *from <= at).map_or(0, |(_, number)| *number)
    }
}

/// Adds a text without its code.
fn finish(text: &mut Option<Text>, into: &mut Vec<Text>) {
    let Some(mut text) = text.take() else { return };
    let (mut words, mut lines, mut in_code) = (String::new(), Vec::new(), false);
    let mut next = text.lines.iter().peekable();
    for (at, c) in text.words.char_indices() {
        while let Some((_, number)) = next.next_if(|(from, _)| *from <= at) {
            lines.push((words.len(), *number));
        }
        match c {
            '`' if in_code => words.push_str("_`"),
            _ if in_code => {}
            c => words.push(c),
        }
        in_code ^= c == '`';
    }
    (text.words, text.lines) = (words, lines);
    into.push(text);
}

/// The comments of a source file, and the texts of its code that have a space; those of tests do
/// not count.
pub fn of_source(source: &str, is_test: bool) -> Vec<Text> {
    let mut found = Vec::new();
    let mut scanner = Scanner { source, at: 0, line: 1, in_tests: is_test };
    let (mut comment, mut kind, mut in_block) = (None::<Text>, "", false);
    while let Some(token) = scanner.next_token() {
        match token {
            Token::Comment(line, number) => {
                let opening = ["//!", "///", "//"];
                let opening = opening.iter().find(|o| line.starts_with(**o)).unwrap_or(&"//");
                let words = line[opening.len()..].trim();
                if *opening != kind {
                    finish(&mut comment, &mut found);
                    (kind, in_block) = (opening, false);
                }
                let is_fence = words.starts_with("```");
                in_block ^= is_fence;
                let is_new = words.is_empty() || words.starts_with(['*', '|', '#', '-']);
                if is_fence || in_block || is_new {
                    finish(&mut comment, &mut found);
                }
                if is_fence || in_block || words.is_empty() {
                    // A further paragraph is no beginning.
                    comment.get_or_insert_with(|| Text::new(false));
                } else {
                    let begins = *opening != "//" && found_none(&comment, is_new);
                    let text = comment.get_or_insert_with(|| Text::new(begins));
                    text.push(words.trim_start_matches(['*', '#', '-', ' ']), number);
                }
            }
            Token::Literal(text, number) => {
                finish(&mut comment, &mut found);
                kind = "";
                if text.trim().contains(' ') {
                    let mut prose = Some(Text::new(false));
                    for (line, number) in text.lines().zip(number..) {
                        let line = line.trim().trim_end_matches('\\');
                        prose.iter_mut().for_each(|prose| prose.push(line, number));
                    }
                    finish(&mut prose, &mut found);
                }
            }
            Token::Code => {
                finish(&mut comment, &mut found);
                kind = "";
            }
        }
    }
    finish(&mut comment, &mut found);
    found.retain(|text| !text.words.is_empty());
    found
}

fn found_none(comment: &Option<Text>, is_new: bool) -> bool {
    comment.is_none() && !is_new
}

enum Token<'a> {
    Comment(&'a str, usize),
    Literal(&'a str, usize),
    Code,
}

/// Takes a source file apart.
struct Scanner<'a> {
    source: &'a str,
    at: usize,
    line: usize,
    in_tests: bool,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, bytes: usize) -> &'a str {
        let taken = self.rest().get(..bytes).unwrap_or(self.rest());
        self.line += taken.matches('\n').count();
        self.at += taken.len();
        taken
    }

    fn next_token(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = self.rest();
            let first = rest.chars().next()?;
            let number = self.line;
            if rest.starts_with("//") {
                let comment = self.skip(rest.find('\n').unwrap_or(rest.len()));
                return Some(Token::Comment(comment, number));
            }
            if let Some(length) = raw_literal(rest) {
                let taken = self.skip(length);
                if !self.in_tests {
                    return Some(Token::Literal(inside(taken), number));
                }
                continue;
            }
            match first {
                '"' => {
                    let taken = self.skip(literal(rest));
                    if !self.in_tests {
                        return Some(Token::Literal(inside(taken), number));
                    }
                }
                '\'' => _ = self.skip(character(rest)),
                c if c.is_whitespace() => _ = self.skip(c.len_utf8()),
                _ => {
                    let length = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
                    let word = self.skip(length.max(first.len_utf8()));
                    self.in_tests |= word == "mod" && rest.starts_with("mod tests {");
                    return Some(Token::Code);
                }
            }
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The text between the quotes of a literal.
fn inside(literal: &str) -> &str {
    let (from, to) = (literal.find('"').map_or(0, |at| at + 1), literal.rfind('"').unwrap_or(0));
    literal.get(from..to).unwrap_or_default()
}

/// The length of a raw text.
fn raw_literal(rest: &str) -> Option<usize> {
    let inner = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r')?;
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    inner[hashes..].starts_with('"').then_some(())?;
    let end = format!("\"{}", "#".repeat(hashes));
    let before = rest.len() - inner.len() + hashes + 1;
    Some(before + rest[before..].find(&end)? + end.len())
}

/// The length of a text in quotes.
fn literal(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    rest.len()
}

/// The length of a character, or of the mark of a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((at, c))) => {
            let from = at + c.len_utf8();
            rest[from..].find('\'').map_or(1, |end| from + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// Paragraphs, cells' lines, items and headings of a document.
pub fn of_document(document: &str) -> Vec<Text> {
    let mut found = Vec::new();
    let (mut text, mut in_block) = (None::<Text>, false);
    for (line, number) in document.lines().zip(1..) {
        let line = line.trim();
        let is_fence = line.starts_with("```");
        in_block ^= is_fence;
        let is_heading = line.starts_with('#');
        let is_new = line.is_empty() || is_heading || line.starts_with(['|', '*', '-', '<']);
        if is_fence || in_block || is_new {
            finish(&mut text, &mut found);
        }
        if is_fence || in_block || line.is_empty() {
            continue;
        }
        let line = without_targets(line.trim_start_matches(['#', '*', '-', '|', ' ']));
        text.get_or_insert_with(|| Text::new(is_heading)).push(&line, number);
        if is_heading {
            finish(&mut text, &mut found);
        }
    }
    finish(&mut text, &mut found);
    found
}

/// A line whose links are their texts.
fn without_targets(line: &str) -> String {
    let mut parts = line.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once(')').map_or(part, |(_, after)| after));
    }
    text.retain(|c| c != '[' && c != ']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(texts: &[Text]) -> Vec<(usize, bool, &str)> {
        texts.iter().map(|text| (text.line(0), text.begins, text.words.as_str())).collect()
    }

    #[test]
    fn comments_and_texts_of_a_source_are_found() {
        let source = "//! The first\n//! header.\n//!\n//! * an item\n//! ```\n//! code\n//! ```\n\n\
                      use a::b;\n/// Adds `a \"b\"` up.\nfn f<'a>(c: char) -> &'a str {\n\
                      let c = '\"'; let d = '\\''; // A trailing one.\n\
                      let e = r#\"raw \"text\" here\"#;\n\"two words \\\n  \\\" of a text\"\n}\n\
                      \"word\"\nmod tests {\n// In a test.\n\"not a text\"\n}\n";
        let expected = [
            (1, true, "The first header."),
            (4, false, "an item"),
            (10, true, "Adds `_` up."),
            (12, false, "A trailing one."),
            (13, false, "raw \"text\" here"),
            (14, false, "two words  \\\" of a text"),
            (19, false, "In a test."),
        ];
        assert_eq!(shown(&of_source(source, false)), expected);
    }

    #[test]
    fn lines_of_a_long_comment_are_told_apart() {
        let texts = of_source("// One `code\n// code` two\n// three.\n", false);
        assert_eq!(texts[0].words, "One `_` two three.");
        let line = |word| texts[0].line(texts[0].words.find(word).expect("the word"));
        assert_eq!((line("One"), line("two"), line("three")), (1, 2, 3));
    }

    #[test]
    fn paragraphs_items_and_headings_of_a_document_are_found() {
        let document = "# A heading\nOne\ntwo [three](four.md#five).\n\n* item\n* item\n\
                        | `a b` | cell |\n```\ncode\n```\n";
        let expected = [
            (1, true, "A heading"),
            (2, false, "One two three."),
            (5, false, "item"),
            (6, false, "item"),
            (7, false, "`_` | cell |"),
        ];
        assert_eq!(shown(&of_document(document)), expected);
    }
}
