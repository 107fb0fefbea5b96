//! What servers count, by their web servers. OMs and SCMs have one in scripts that set
//! `ozone.om.http.enabled` or `ozone.scm.http.enabled`, DataNodes in all.

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Server;
use super::cluster::Cluster;
use super::stage::Stage;

impl Cluster {
    /// A number that a server has counted since it started.
    ///
    /// # Errors
    /// When it does not answer, or counts no such thing.
    pub fn metric(&mut self, server: Server, name: &str) -> anyhow::Result<f64> {
        let port = match server {
            Server::Om(_) => 9874,
            Server::Scm(_) => 9876,
            Server::Datanode(_) => 9882,
            Server::Host(_) => bail!("{server} has no web server"),
        };
        let address = format!("{}:{port}", self.machines().address(server)?);
        let text = self.ask(move |_| get(address, "/metrics"))??;
        let mut values = text.lines().filter_map(|line| line.strip_prefix(name));
        let value = values.find(|rest| rest.starts_with([' ', '{']));
        let value = value.and_then(|rest| rest.split_whitespace().last()?.parse().ok());
        value.with_context(|| format!("{server} counts no {name}: {text}"))
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
