//! An operator that lets SCM out of safe mode, as `o3 admin safemode exit --force` does.

use client::ScmClient;

/// Looks after which SCM is let out. It waits for a share of all closed containers, and of a few,
/// one whose replicas went with lost disks is more than that share. It cannot know that nothing in
/// that one was acknowledged; what the scenario looks at afterwards shows that.
const PATIENCE: u32 = 60;

/// Looks at SCM's safe mode, again and again.
#[derive(Debug, Default)]
pub struct Operator {
    looks: u32,
}

impl Operator {
    /// Reasons for SCM's safe mode, in which it repairs nothing.
    pub async fn look(&mut self, scm: &ScmClient) -> Vec<String> {
        let open_rules = open_rules(scm).await;
        self.looks = if open_rules.is_empty() { 0 } else { self.looks + 1 };
        if self.looks >= PATIENCE {
            let _ = scm.exit_safe_mode().await;
        }
        open_rules
    }
}

async fn open_rules(scm: &ScmClient) -> Vec<String> {
    if !matches!(scm.in_safe_mode().await, Ok(true)) {
        return Vec::new();
    }
    let rules = scm.safe_mode_rules().await.unwrap_or_default();
    let open = rules.into_iter().filter(|rule| !rule.validate);
    open.map(|rule| format!("safe mode: {}", rule.status_text)).collect()
}
