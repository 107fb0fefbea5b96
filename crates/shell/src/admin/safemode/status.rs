//! `o3 admin safemode status`.

use clap::Args;
use client::ScmClient;
use config::Configuration;
use futures::future::join_all;
use serde_json::{Map, Value, json};

use super::leader;
use crate::admin::scm_client::ScmArgs;
use crate::{ShellError, output};

/// Show whether SCM is in safe mode; with --verbose also the state of each rule. Of several SCMs,
/// the leader is queried.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 admin safemode status --verbose\n  \
    o3 admin safemode status --all\n  o3 admin safemode status --scm scm2:9860")]
pub struct Status {
    /// Query every SCM of the service.
    #[arg(short, long, conflicts_with = "scm")]
    all: bool,
    /// Print JSON, rules included.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scm: ScmArgs,
}

/// An SCM to query, and its name; no name if it is the only one.
struct Node {
    client: ScmClient,
    name: Option<Name>,
}

/// The name of one of several SCMs.
struct Name {
    address: String,
    id: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(
    args: Status,
    verbose: bool,
    conf: &Configuration,
) -> Result<(), ShellError> {
    let service = conf.scm_service();
    let nodes = wanted(&args, conf).await?;
    if let (Some(service), false) = (&service, args.json) {
        output::line(format!("Service ID: {}", service.id))?;
    }
    let (mut shown, mut unanswered) = (Vec::new(), Vec::new());
    let answers = join_all(nodes.iter().map(|node| answer_of(node, verbose || args.json))).await;
    for (node, answer) in nodes.iter().zip(answers) {
        match answer {
            Ok(answer) if args.json => shown.push(answer.json(node)),
            Ok(answer) => answer.print(node)?,
            Err(error) => match &node.name {
                Some(name) => unanswered.push(format!("{}: {error}", name.shown())),
                None => return Err(error),
            },
        }
    }
    if args.json {
        let alone = if args.all { None } else { shown.pop() };
        output::value(&alone.unwrap_or(Value::Array(shown)))?;
    }
    if unanswered.is_empty() {
        return Ok(());
    }
    Err(ShellError::Refused(unanswered.join("\n")))
}

/// The SCMs to query.
async fn wanted(args: &Status, conf: &Configuration) -> Result<Vec<Node>, ShellError> {
    let Some(service) = conf.scm_service() else {
        return Ok(vec![Node { client: args.scm.client(conf), name: None }]);
    };
    let of = |node: &config::ScmNode| Node {
        client: ScmArgs::of(&node.client).client(conf),
        name: Some(Name { address: node.client.to_string(), id: Some(node.node_id.clone()) }),
    };
    if args.all {
        return Ok(service.nodes.iter().map(of).collect());
    }
    let Some(address) = &args.scm.scm else {
        return Ok(vec![of(leader::find(&service, conf).await?)]);
    };
    let named = |node: &&config::ScmNode| {
        node.client.to_string() == *address || node.client.host == *address
    };
    let known = service.nodes.iter().find(named).map(of);
    // An SCM that is not in the configuration may be queried, too.
    let name = Some(Name { address: address.clone(), id: None });
    Ok(vec![known.unwrap_or_else(|| Node { client: args.scm.client(conf), name })])
}

impl Name {
    fn shown(&self) -> String {
        match &self.id {
            Some(id) => format!("{} [{id}]", self.address),
            None => self.address.clone(),
        }
    }
}

/// Response of an SCM.
struct Answer {
    inside: bool,
    rules: Vec<proto::container_location::SafeModeRuleStatusProto>,
}

async fn answer_of(node: &Node, with_rules: bool) -> Result<Answer, ShellError> {
    let inside = node.client.in_safe_mode().await?;
    let rules = if with_rules { node.client.safe_mode_rules().await? } else { Vec::new() };
    Ok(Answer { inside, rules })
}

impl Answer {
    fn print(&self, node: &Node) -> Result<(), ShellError> {
        let state = if self.inside { "in" } else { "out of" };
        output::line(match &node.name {
            None => format!("SCM is {state} safe mode."),
            Some(name) => format!("{}: {state} safe mode", name.shown()),
        })?;
        self.rules.iter().try_for_each(|r| {
            output::line(format!("validated:{}, {}, {}", r.validate, r.rule_name, r.status_text))
        })
    }

    fn json(&self, node: &Node) -> Value {
        let rule = |r: &proto::container_location::SafeModeRuleStatusProto| {
            json!({
                "ruleName": r.rule_name,
                "validated": r.validate,
                "statusText": r.status_text,
            })
        };
        let mut object = Map::new();
        if let Some(name) = &node.name {
            object.insert("address".into(), name.address.clone().into());
            object.extend(name.id.clone().map(|id| ("nodeId".to_owned(), id.into())));
        }
        object.insert("inSafeMode".into(), self.inside.into());
        object.insert("rules".into(), self.rules.iter().map(rule).collect());
        Value::Object(object)
    }
}
