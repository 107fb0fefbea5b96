//! An operator who ends SCM's safe mode, as `o3 admin safemode exit --force` does.

use client::ScmClient;

/// Checks after which safe mode is ended. SCM waits for a share of all closed containers, and if
/// there are few, a single one whose replicas were lost with disks is more than the remaining
/// share. SCM cannot detect that nothing in it was acknowledged; the scenario's later checks show
/// that.
const PATIENCE: u32 = 60;

/// Checks SCM's safe mode repeatedly.
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
