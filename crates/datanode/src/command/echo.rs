//! Echo: bytes back, for tests of the connection.

use std::time::Duration;

use bytes::Bytes;
use proto::datanode as dn;
use proto::datanode::ContainerCommandResponseProto;

use super::answer::{Answer, Failure, success};
use super::{Command, CommandContext, Read};
use crate::settings::MAX_CHUNK;

/// Longest pause that the caller may request.
const MAX_SLEEP: Duration = Duration::from_secs(60);

/// Sends bytes back: the client's if it requests no size, zeros otherwise.
pub(super) async fn read(context: &CommandContext<'_>, command: &Command) -> Read {
    let Some(echo) = &command.request.echo else {
        return Ok(Err(Failure::malformed("echo is missing")));
    };
    let sleep = Duration::from_millis(u64::try_from(echo.sleep_time_ms()).unwrap_or(0));
    if !sleep.is_zero() {
        tokio::time::sleep(sleep.min(MAX_SLEEP)).await;
    }
    let size = usize::try_from(echo.payload_size_resp()).unwrap_or(0).saturating_mul(1024);
    let size = size.min(MAX_CHUNK);
    let _room = context.read_budget.acquire(size, command.deadline).await?;
    let payload = match size {
        0 => echo.payload.clone().unwrap_or_default(),
        size => Bytes::from(vec![0; size]),
    };
    let response = ContainerCommandResponseProto {
        echo: Some(dn::EchoResponseProto { payload: Some(payload) }),
        ..success(&command.request)
    };
    Ok(Ok(Answer::message(response)))
}
