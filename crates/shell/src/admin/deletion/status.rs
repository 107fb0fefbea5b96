//! `o3 admin deletion status`.

use std::time::Duration;

use clap::Args;
use client::ClientOptions;
use config::Configuration;
use proto::deletion_status::{DeletionStage, DeletionStatusResponse};
use serde_json::{Value, json};
use service::{readable_bytes, readable_duration};

use crate::admin::servers::{Answer, ServerArgs, each};
use crate::{ShellError, output};

/// Show the number of keys, blocks and bytes pending deletion, at each stage and on each server,
/// with the age of the oldest and the reason for its delay.
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  o3 admin deletion status\n  \
    o3 admin deletion status --role datanode --json")]
pub struct Status {
    #[command(flatten)]
    servers: ServerArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) async fn run(args: Status, conf: &Configuration) -> Result<(), ShellError> {
    let options = ClientOptions::from_configuration(conf);
    let servers = args.servers.of_roles(&options).await?;
    let client = client::ServerClient::new(&options);
    let mut answers = each(servers, async |address| client.deletion_status(&address).await).await;
    args.servers.retain(&mut answers, |told| &told.node_id)?;
    if args.json {
        let all: Vec<Value> = answers.iter().map(as_json).collect();
        output::value(&all.into())?;
    } else {
        for answer in &answers {
            show(answer)?;
        }
    }
    match answers.iter().any(|answer| answer.told.is_ok()) {
        true => Ok(()),
        false => Err(ShellError::Refused("no server answered".to_owned())),
    }
}

fn show(answer: &Answer<DeletionStatusResponse>) -> Result<(), ShellError> {
    let told = match &answer.told {
        Ok(told) => told,
        Err(error) => return output::line(format!("{}: {error}", answer.heading(None))),
    };
    let heading = answer.heading(Some(&told.node_id));
    if !told.active {
        // It has the same tables as the leader.
        return output::line(format!("{heading}: follower"));
    }
    output::line(heading)?;
    for stage in &told.stages {
        output::line(format!("  {}", line(stage)))?;
    }
    let least = if told.nodes_more() { "at least " } else { "" };
    for node in &told.nodes {
        output::line(format!(
            "  not confirmed by datanode {} ({}), {}: {least}{} transactions, {} blocks",
            node.uuid, node.host, node.health, node.transactions, node.blocks
        ))?;
    }
    Ok(())
}

fn line(stage: &DeletionStage) -> String {
    if stage.rows == 0 {
        return format!("{}: nothing pending", stage.table);
    }
    let least = if stage.more { "at least " } else { "" };
    let mut line = format!(
        "{}: {least}{} rows, {} blocks, {}",
        stage.table,
        stage.rows,
        stage.blocks,
        readable_bytes(stage.bytes)
    );
    if let Some(oldest) = &stage.oldest {
        line += &format!("; oldest {oldest}");
        if let Some(age) = stage.oldest_age_ms {
            let least = if stage.oldest_since_start { ", since first seen" } else { "" };
            line += &format!(" ({}{least})", readable_duration(Duration::from_millis(age)));
        }
    }
    if let Some(what) = &stage.waits_for {
        line += &format!("; waits for {what}");
    }
    line
}

fn as_json(answer: &Answer<DeletionStatusResponse>) -> Value {
    let told = match &answer.told {
        Ok(told) => told,
        Err(error) => return answer.failed_json(error),
    };
    let stages: Vec<Value> = told
        .stages
        .iter()
        .map(|stage| {
            json!({
                "table": stage.table,
                "rows": stage.rows,
                "blocks": stage.blocks,
                "bytes": stage.bytes,
                "more": stage.more,
                "oldest": stage.oldest,
                "oldestAgeMs": stage.oldest_age_ms,
                "oldestSinceStart": stage.oldest_since_start,
                "waitsFor": stage.waits_for,
            })
        })
        .collect();
    let nodes: Vec<Value> = told
        .nodes
        .iter()
        .map(|node| {
            json!({
                "uuid": node.uuid,
                "host": node.host,
                "health": node.health,
                "transactions": node.transactions,
                "blocks": node.blocks,
            })
        })
        .collect();
    json!({
        "role": told.role,
        "nodeId": told.node_id,
        "address": answer.server.address,
        "active": told.active,
        "stages": stages,
        "notConfirmedBy": nodes,
        "moreNotConfirmed": told.nodes_more(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_much_waits_for_how_long_and_for_what() {
        let mut stage = DeletionStage { table: "deletedTable".to_owned(), ..Default::default() };
        assert_eq!(line(&stage), "deletedTable: nothing pending");
        stage.rows = 3;
        stage.blocks = 4;
        stage.bytes = 3 << 20;
        stage.oldest = Some("/v/b/k/-9".to_owned());
        stage.oldest_age_ms = Some(61_000);
        stage.waits_for = Some("KeyDeletingService, which failed: no SCM".to_owned());
        assert_eq!(
            line(&stage),
            "deletedTable: 3 rows, 4 blocks, 3.00 MB; oldest /v/b/k/-9 (61 s); waits for \
             KeyDeletingService, which failed: no SCM"
        );
        stage.more = true;
        stage.oldest_since_start = true;
        stage.waits_for = None;
        assert!(line(&stage).contains("at least 3 rows"), "{}", line(&stage));
        assert!(line(&stage).ends_with("(61 s, since first seen)"), "{}", line(&stage));
    }
}
