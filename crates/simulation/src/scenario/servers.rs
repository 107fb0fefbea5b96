//! The product's unmodified servers, each until it stops or is stopped; returns the reason.

use std::future::Future;

use config::Configuration;
use datanode::{Datanode, DatanodeOptions};
use om::{Bootstrap, Om, OmOptions};
use s3gateway::{GatewayOptions, S3Gateway};
use scm::{Scm, ScmOptions};

use super::process::after_delay;

/// Reason of a server's intended end.
const OVER: &str = "its term is over";

/// An SCM, until it stops or `over` returns.
pub async fn scm(conf: &Configuration, bootstrap: bool, over: impl Future<Output = ()>) -> String {
    let options = match ScmOptions::from_configuration(conf) {
        Ok(options) => ScmOptions { bootstrap, ..options },
        Err(error) => return error.to_string(),
    };
    match Scm::start_with(options).await {
        Ok(handle) => until_over(handle.stopped(), over).await,
        Err(error) => after_delay(error).await,
    }
}

/// An OM, until it stops or `over` returns.
pub async fn om(conf: &Configuration, bootstrap: bool, over: impl Future<Output = ()>) -> String {
    let bootstrap = bootstrap.then_some(Bootstrap { force: false });
    match Om::start(conf, OmOptions { bootstrap, ..OmOptions::default() }).await {
        Ok(handle) => until_over(handle.stopped(), over).await,
        Err(error) => after_delay(error).await,
    }
}

/// A DataNode, until it fails.
pub async fn datanode(conf: &Configuration) -> String {
    match Datanode::start(conf, DatanodeOptions::default()).await {
        Ok(handle) => handle.failed().await.to_string(),
        Err(error) => after_delay(error).await,
    }
}

/// An S3 gateway, which never stops.
pub async fn gateway(conf: &Configuration) -> String {
    let options = match GatewayOptions::from_configuration(conf) {
        Ok(options) => options,
        Err(error) => return after_delay(error).await,
    };
    match S3Gateway::start(conf, options).await {
        Ok(_handle) => std::future::pending().await,
        Err(error) => after_delay(error).await,
    }
}

async fn until_over(
    stopped: impl Future<Output = String>,
    over: impl Future<Output = ()>,
) -> String {
    let why = tokio::select! {
        why = stopped => why,
        () = over => String::from(OVER),
    };
    after_delay(why).await
}
