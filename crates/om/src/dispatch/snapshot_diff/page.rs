//! Pages of a report. A token is the kind and the number of the next entry: Ozone's form, whose
//! texts sort in the order of the entries.

use proto::ozone::diff_report_entry_proto::DiffTypeProto;
use proto::ozone::{DiffReportEntryProto, SnapshotDiffRequest};

/// Error of a requested page, in Ozone's words.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WrongPage {
    #[error("Page size (given: 0) should be a positive number > 0.")]
    Size,
    #[error(
        "Passed token is invalid. Resend the request with valid token returned in previous \
         request."
    )]
    Token,
    #[error("Token {0} has invalid prefix. Valid prefixes: 3,4,1,2")]
    Prefix(String),
    #[error("Token {token} has invalid numeric part: {number}. It should be a valid integer.")]
    Number { token: String, number: String },
}

/// Requested part of a report.
#[derive(Debug)]
pub(super) struct Page {
    token: String,
    size: usize,
}

impl Page {
    /// The page of a request, with at most `most` entries.
    pub(super) fn of(wanted: &SnapshotDiffRequest, most: usize) -> Result<Self, WrongPage> {
        let size = match wanted.page_size {
            None => most,
            Some(0) => return Err(WrongPage::Size),
            Some(size) => usize::try_from(size).unwrap_or(most).min(most),
        };
        let token = wanted.token().to_owned();
        if token.is_empty() {
            return Ok(Self { token, size });
        }
        if !token.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(WrongPage::Token);
        }
        let (kind, number) = token.split_at(1);
        if !["1", "2", "3", "4"].contains(&kind) {
            return Err(WrongPage::Prefix(token));
        }
        if number.parse::<u64>().is_err() {
            let number = number.to_owned();
            return Err(WrongPage::Number { token, number });
        }
        Ok(Self { token, size })
    }

    /// The entries of the page, and the token of the next one.
    pub(super) fn cut(
        &self,
        entries: &[DiffReportEntryProto],
    ) -> (Vec<DiffReportEntryProto>, Option<String>) {
        let numbers: Vec<usize> = (0..entries.len()).collect();
        let first = numbers.partition_point(|n| token(&entries[*n], *n) < self.token);
        let end = first.saturating_add(self.size).min(entries.len());
        let next = entries.get(end).map(|entry| token(entry, end));
        (entries[first..end].to_vec(), next)
    }
}

fn token(entry: &DiffReportEntryProto, number: usize) -> String {
    let kind = match entry.diff_type() {
        DiffTypeProto::Delete => 1,
        DiffTypeProto::Rename => 2,
        DiffTypeProto::Create => 3,
        DiffTypeProto::Modify => 4,
    };
    format!("{kind}{number:020}")
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    fn wanted(token: &str, size: u32) -> SnapshotDiffRequest {
        let (token, page_size) = (Some(token.to_owned()), Some(size));
        SnapshotDiffRequest { token, page_size, ..SnapshotDiffRequest::default() }
    }

    /// Of all kinds, in the order of a report.
    fn entries() -> Vec<DiffReportEntryProto> {
        let kinds = [
            DiffTypeProto::Delete,
            DiffTypeProto::Delete,
            DiffTypeProto::Rename,
            DiffTypeProto::Create,
            DiffTypeProto::Modify,
        ];
        let entry = |kind: DiffTypeProto| DiffReportEntryProto {
            diff_type: Some(kind as i32),
            ..DiffReportEntryProto::default()
        };
        kinds.into_iter().map(entry).collect()
    }

    #[test]
    fn any_token_leads_on_or_is_refused() {
        let read = |data: &[u8]| {
            let Ok(wanted) = SnapshotDiffRequest::decode(data) else { return };
            let Ok(page) = Page::of(&wanted, 3) else { return };
            let (part, next) = page.cut(&entries());
            assert!(part.len() <= 3);
            assert!(next.is_none_or(|next| next.as_str() > wanted.token()));
        };
        let seeds = [wanted("", 2), wanted("200000000000000000002", 1)];
        let seeds = seeds.iter().map(Message::encode_to_vec).collect();
        testkit::fuzz(vec![("om-diff-page", read, seeds)]);
    }

    #[test]
    fn pages_follow_each_other() {
        let entries = entries();
        let (mut seen, mut token) = (Vec::new(), String::new());
        loop {
            let page = Page::of(&wanted(&token, 2), 1000).unwrap();
            let (part, next) = page.cut(&entries);
            assert!(part.len() <= 2);
            seen.extend(part);
            match next {
                Some(next) => token = next,
                None => break,
            }
        }
        assert_eq!(seen, entries);
        // All deletions are passed.
        let (part, next) = Page::of(&wanted("12", 1), 1000).unwrap().cut(&entries);
        assert_eq!(
            (part, next.as_deref()),
            (vec![entries[2].clone()], Some("300000000000000000003"))
        );
        let (part, next) = Page::of(&wanted("499", 9), 1000).unwrap().cut(&entries);
        assert_eq!((part.len(), next), (0, None));
    }

    #[test]
    fn wrong_tokens_are_refused_in_ozones_words() {
        let of = |token: &str| Page::of(&wanted(token, 2), 1000).unwrap_err().to_string();
        assert_eq!(of("2"), "Token 2 has invalid numeric part: . It should be a valid integer.");
        assert_eq!(of("900"), "Token 900 has invalid prefix. Valid prefixes: 3,4,1,2");
        assert!(of("x").starts_with("Passed token is invalid."));
        assert!(of(&"1".repeat(40)).contains("invalid numeric part"));
        assert!(Page::of(&wanted("", 0), 1000).is_err());
    }
}
