//! The operator: a process on a machine of its own, whose clients carry out what a script asks.

use std::future::Future;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, ensure};
use client::{Client, ScmClient};
use config::Configuration;
use framed::ClientPool;
use tokio::runtime::Handle;

use crate::scenario::now;
use crate::scenario::process::on_runtime;
use crate::world::clock::{Clock, SECOND};
use crate::world::node;

/// Time limit of a script's requests, in simulated seconds: longer than the product retries.
const PATIENCE: u64 = 900;

/// Connections to all servers. Clones share them.
#[derive(Clone)]
pub struct Clients {
    /// For the OMs, and for DataNodes by the OMs' answers.
    pub om: Client,
    /// To the SCM that leads.
    pub scm: ScmClient,
    /// To single DataNodes.
    pub pool: ClientPool,
}

impl Clients {
    /// Of the cluster that `conf` describes.
    ///
    /// # Errors
    /// When the configuration names no OM.
    pub fn connect(conf: &Configuration) -> anyhow::Result<Self> {
        let pool = ClientPool::new(framed::ClientOptions::default());
        Ok(Self { om: Client::connect(conf)?, scm: ScmClient::connect(conf), pool })
    }
}

/// A process that runs what it is given, with clients of some kind.
pub struct Operator<C> {
    runtime: Handle,
    clients: C,
}

impl<C: Clone> Operator<C> {
    /// Begins one with the clients that `connect` makes.
    ///
    /// # Errors
    /// Those of `connect`.
    pub fn new(connect: impl FnOnce() -> anyhow::Result<C>) -> anyhow::Result<Self> {
        let machine = node::add_machine(Clock::default());
        let (tell, told) = channel();
        node::start(machine, "operator", move || {
            on_runtime(async {
                let _ = tell.send(Handle::current());
                std::future::pending::<()>().await;
            });
        });
        let runtime = told.recv().context("the operator has no runtime")?;
        let clients = {
            let _inside = runtime.enter();
            connect()?
        };
        Ok(Self { runtime, clients })
    }

    /// From now on with other clients.
    ///
    /// # Errors
    /// Those of `connect`.
    pub fn reconnect(&mut self, connect: impl FnOnce() -> anyhow::Result<C>) -> anyhow::Result<()> {
        let _inside = self.runtime.enter();
        self.clients = connect()?;
        Ok(())
    }

    /// Has something done meanwhile.
    pub fn begin<F>(&self, work: impl FnOnce(C) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.runtime.spawn(work(self.clients.clone()));
    }

    /// Has something done, and calls `meanwhile` each second until it is.
    ///
    /// # Errors
    /// When it exceeds the time limit.
    pub fn ask<T, F>(
        &self,
        work: impl FnOnce(C) -> F,
        mut meanwhile: impl FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let (tell, told) = channel();
        let work = work(self.clients.clone());
        self.runtime.spawn(async move { tell.send(work.await) });
        let begun = now();
        loop {
            match told.recv_timeout(Duration::from_secs(1)) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => anyhow::bail!("the operator panicked"),
                Err(RecvTimeoutError::Timeout) => meanwhile()?,
            }
            ensure!(now() < begun + PATIENCE * SECOND, "no answer within {PATIENCE} s");
        }
    }
}
