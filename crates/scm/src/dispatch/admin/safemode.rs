//! Safe mode: status, rules, exit.

use proto::container_location::*;

use crate::core::Core;

/// InSafeMode.
pub fn status(core: &Core) -> InSafeModeResponseProto {
    InSafeModeResponseProto { in_safe_mode: core.cluster().safe_mode.is_on() }
}

/// GetSafeModeRuleStatuses.
pub fn rules(core: &Core) -> GetSafeModeRuleStatusesResponseProto {
    let rules = core.cluster().safe_mode_rules();
    let one = |r: placement::RuleStatus| SafeModeRuleStatusProto {
        rule_name: r.name.to_owned(),
        validate: r.holds,
        status_text: r.text,
    };
    GetSafeModeRuleStatusesResponseProto {
        safe_mode_rule_statuses_proto: rules.into_iter().map(one).collect(),
    }
}

/// ForceExitSafeMode. True also when SCM was out already, as in Ozone.
pub fn exit(core: &Core) -> ForceExitSafeModeResponseProto {
    let left = core.cluster().force_leave_safe_mode();
    if left {
        tracing::warn!("leaving safe mode on request");
        core.safe_mode_left();
    }
    ForceExitSafeModeResponseProto { exited_safe_mode: true }
}
