//! Metrics of servers, from their web servers. OMs and SCMs have one in scripts that set
//! `ozone.om.http.enabled` or `ozone.scm.http.enabled`, DataNodes in all.

use anyhow::{bail, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Server;
use super::cluster::Cluster;
use super::stage::Stage;

impl Cluster {
    /// A number that a server has counted since it started; all of its kind added up where there
    /// are several.
    ///
    /// # Errors
    /// When it does not answer, or has no such metric.
    pub fn metric(&mut self, server: Server, name: &str) -> anyhow::Result<f64> {
        let port = match server {
            Server::Om(_) => 9874,
            Server::Scm(_) => 9876,
            Server::Datanode(_) => 9882,
            Server::Host(_) | Server::Gateway(_) => bail!("{server} has no web server here"),
        };
        let address = format!("{}:{port}", self.machines().address(server)?);
        let text = self.ask(move |_| get(address, "/metrics"))??;
        let value = |line: &str| {
            let (key, value) = line.rsplit_once(' ')?;
            let labels = key.strip_prefix(name)?;
            let is_it = labels.is_empty() || labels.starts_with('{');
            is_it.then(|| value.parse::<f64>().ok()).flatten()
        };
        let found: Vec<f64> = text.lines().filter_map(value).collect();
        ensure!(!found.is_empty(), "{server} counts no {name}");
        Ok(found.iter().sum())
    }
}

async fn get(address: String, path: &'static str) -> anyhow::Result<String> {
    let mut socket = TcpStream::connect(&address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await?;
    Ok(answer)
}
