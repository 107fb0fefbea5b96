//! Progress of deletions on a status page, as in `o3 admin deletion status`.

use std::time::Duration;

use proto::deletion_status::{DeletionStage, DeletionStatusResponse};

use super::Section;
use crate::readable::{readable_bytes, readable_duration};

/// Maximum number of listed DataNodes.
const MOST_NODES: usize = 200;

impl Section {
    /// Pending deletions at each stage of a server, and the reasons why they wait.
    pub fn deletions(told: &DeletionStatusResponse) -> Vec<Section> {
        if !told.active {
            let leader = "done by the leader".to_owned();
            return vec![Section::facts("Deletions", [("state", leader)])];
        }
        let columns = ["table", "rows", "blocks", "bytes", "longest", "for", "waits for"];
        let rows = told.stages.iter().map(row).collect();
        let mut sections = vec![Section::table("Deletions", &columns, rows)];
        if !told.nodes.is_empty() {
            let columns = ["datanode", "host", "health", "transactions", "blocks"];
            let least = if told.nodes_more() { "at least " } else { "" };
            let rows = told.nodes.iter().take(MOST_NODES).map(|node| {
                vec![
                    node.uuid.clone(),
                    node.host.clone(),
                    node.health.clone(),
                    format!("{least}{}", node.transactions),
                    format!("{least}{}", node.blocks),
                ]
            });
            sections.push(Section::table("Deletions not confirmed", &columns, rows.collect()));
        }
        sections
    }
}

fn row(stage: &DeletionStage) -> Vec<String> {
    let least = if stage.more { "at least " } else { "" };
    let age = stage.oldest_age_ms.map(|ms| {
        let since = if stage.oldest_since_start { "at least " } else { "" };
        format!("{since}{}", readable_duration(Duration::from_millis(ms)))
    });
    vec![
        stage.table.clone(),
        format!("{least}{}", stage.rows),
        format!("{least}{}", stage.blocks),
        format!("{least}{}", readable_bytes(stage.bytes)),
        stage.oldest.clone().unwrap_or_default(),
        age.unwrap_or_default(),
        stage.waits_for.clone().unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use proto::deletion_status::DeletionsOfNode;

    use super::*;

    #[test]
    fn a_stage_says_how_much_waits_for_how_long_and_for_what() {
        let stage = DeletionStage {
            table: "deletedTable".to_owned(),
            rows: 3,
            blocks: 4,
            bytes: 3 << 20,
            more: true,
            oldest: Some("/v/b/k".to_owned()),
            oldest_age_ms: Some(61_000),
            oldest_since_start: false,
            waits_for: Some("KeyDeletingService".to_owned()),
        };
        let node = DeletionsOfNode { uuid: "u".to_owned(), blocks: 9, ..Default::default() };
        let mut told = DeletionStatusResponse { active: true, ..Default::default() };
        (told.stages, told.nodes) = (vec![stage], vec![node]);
        let [Section::Table { rows: stages, .. }, Section::Table { rows: nodes, .. }] =
            &Section::deletions(&told)[..]
        else {
            panic!("two tables")
        };
        let texts = ["at least 3", "at least 4", "at least 3.00 MB", "/v/b/k", "61 s"];
        assert_eq!(stages[0][1..6], texts);
        assert_eq!(nodes[0], ["u", "", "", "0", "9"]);
        told.active = false;
        assert!(matches!(&Section::deletions(&told)[..], [Section::Facts { .. }]));
    }
}
