//! OM's status page.

use std::sync::Weak;

use namespace::Table;
use service::{BackgroundServices, RpcMetrics, Section, StatusPage};

use crate::room::Room;
use crate::tables::stored;

/// What the page is made from.
pub(crate) struct OmPage {
    pub(crate) room: Weak<Room>,
    pub(crate) rpc: RpcMetrics,
    pub(crate) background: BackgroundServices,
    pub(crate) facts: Vec<(String, String)>,
    pub(crate) node_id: String,
}

impl StatusPage for OmPage {
    fn title(&self) -> String {
        format!("Ozone Manager {}", self.node_id)
    }

    fn sections(&self) -> Vec<Section> {
        let mut sections = vec![Section::facts("Overview", self.facts.clone())];
        if let Some(room) = self.room.upgrade() {
            let group = &room.parts().group;
            let leader = group.leader();
            let role = if group.is_leader() { "LEADER" } else { "FOLLOWER" };
            sections.push(Section::facts(
                "Raft",
                [
                    ("group", group.id().to_string()),
                    ("role", role.to_owned()),
                    ("term", leader.term.to_string()),
                    ("applied", group.applied().to_string()),
                ],
            ));
            if let Some(tables) = room.parts().current.get() {
                let rows = Table::ALL
                    .iter()
                    .map(|t| (*t, tables.store().estimated_rows(stored(*t))))
                    .filter(|(_, rows)| *rows > 0)
                    .map(|(t, rows)| vec![t.name().to_owned(), rows.to_string()])
                    .collect();
                sections.push(Section::table("Tables (estimated)", &["table", "rows"], rows));
            }
        }
        sections.push(Section::rpc("RPC", &self.rpc));
        sections.push(Section::background(&self.background.list()));
        sections
    }
}
