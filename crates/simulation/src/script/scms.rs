//! Reports of SCMs about themselves and each other.

use std::time::Duration;

use anyhow::{Context, ensure};
use proto::container_location::{ScmContainerLocationRequest, ScmContainerLocationResponse, Type};
use proto::hdds::GetScmInfoResponseProto;
use proto::method;

use super::Server;
use super::cluster::Cluster;
use super::stage::Stage;

/// Port of SCMs for clients.
const PORT: u16 = 9860;
/// Time limit for an SCM's response.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A request of a type, without its part.
pub fn of_type(kind: Type) -> ScmContainerLocationRequest {
    ScmContainerLocationRequest { cmd_type: kind as i32, ..ScmContainerLocationRequest::default() }
}

impl Cluster {
    /// Has one SCM answer, and no other: it refuses what only the leader answers when it follows.
    ///
    /// # Errors
    /// When it refuses, or does not answer.
    pub fn ask_scm(
        &mut self,
        scm: Server,
        request: ScmContainerLocationRequest,
    ) -> anyhow::Result<ScmContainerLocationResponse> {
        let at = format!("{}:{PORT}", self.machines().address(scm)?);
        let answer = self.ask(move |it| async move {
            let method = method::SCM_CONTAINER_LOCATION;
            framed::message::call(&it.pool.get(&at), method, &request, TIMEOUT).await
        })?;
        let answer: ScmContainerLocationResponse = answer.with_context(|| scm.to_string())?;
        ensure!(answer.success(), "{scm} refuses: {:?}", answer.message);
        Ok(answer)
    }

    /// One SCM's report of its service.
    ///
    /// # Errors
    /// As [`Cluster::ask_scm`].
    pub fn info_of(&mut self, scm: Server) -> anyhow::Result<GetScmInfoResponseProto> {
        let mut request = of_type(Type::GetScmInfo);
        request.get_scm_info_request = Some(Default::default());
        let answer = self.ask_scm(scm, request)?;
        answer.get_scm_info_response.with_context(|| format!("{scm} says nothing of itself"))
    }

    /// The SCMs that run, by the file of all.
    fn running_scms(&self) -> Vec<Server> {
        let servers = self.machines().servers().iter().copied();
        servers.filter(|server| matches!(server, Server::Scm(_)) && self.runs(*server)).collect()
    }

    /// The leading SCM, as reported by one of them.
    ///
    /// # Errors
    /// When it does not answer, or has none.
    pub fn scm_leader_by(&mut self, scm: Server) -> anyhow::Result<Server> {
        let info = self.info_of(scm)?;
        let mut leaders = info.peer_roles.iter().filter(|role| role.contains(":LEADER:"));
        let leader = leaders.next();
        let leader =
            leader.with_context(|| format!("{scm} says that none leads: {:?}", info.peer_roles))?;
        ensure!(leaders.next().is_none(), "{scm} says that several lead: {:?}", info.peer_roles);
        let host = leader.split(':').next().unwrap_or_default();
        self.machines().server_at(host).with_context(|| format!("{leader} leads"))
    }

    /// The leading SCM: it reports itself as the leader, and no running SCM reports another one.
    ///
    /// # Errors
    /// When none does, or they do not agree.
    pub fn scm_leader(&mut self) -> anyhow::Result<Server> {
        let mut told = Vec::new();
        for scm in self.running_scms() {
            // One that has left the service, or has just started, has none.
            if let Ok(leader) = self.scm_leader_by(scm) {
                told.push((scm, leader));
            }
        }
        let own = told.iter().find(|(scm, leader)| scm == leader).map(|(scm, _)| *scm);
        let leader = own.with_context(|| format!("no SCM reports itself as leader: {told:?}"))?;
        ensure!(told.iter().all(|(_, of)| *of == leader), "SCMs do not agree: {told:?}");
        Ok(leader)
    }

    /// Checks that all running SCMs have the same leader.
    ///
    /// # Errors
    /// The first that has none, or another one.
    pub fn scms_agree(&mut self) -> anyhow::Result<Server> {
        let leader = self.scm_leader()?;
        for scm in self.running_scms() {
            let of = self.scm_leader_by(scm)?;
            ensure!(of == leader, "{scm} says that {of} leads, {leader} does");
        }
        Ok(leader)
    }

    /// Decommissions an SCM; returns the reason of a refusal.
    ///
    /// # Errors
    /// When no SCM answers.
    pub fn decommission_scm(&mut self, scm: Server) -> anyhow::Result<Option<String>> {
        let name = scm.to_string();
        Ok(self.ask(move |it| async move { it.scm.decommission_scm(&name).await })??)
    }

    /// The names of the SCMs with a vote.
    ///
    /// # Errors
    /// When no SCM answers.
    pub fn scm_voters(&mut self) -> anyhow::Result<Vec<Server>> {
        let info = self.ask(|it| async move { it.scm.scm_info().await })??;
        let members = info.membership.context("SCM reports no members")?;
        let members = multiraft::Membership::decode(members)?;
        Ok(self.voters(&members))
    }

    /// The open rules of safe mode, if the SCM that leads is in it.
    ///
    /// # Errors
    /// When none leads, or it does not answer.
    pub fn safe_mode(&mut self) -> anyhow::Result<Option<Vec<String>>> {
        let leader = self.scm_leader()?;
        self.safe_mode_of(leader)
    }

    /// The open rules of safe mode, if one SCM reports that it is in it.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn safe_mode_of(&mut self, scm: Server) -> anyhow::Result<Option<Vec<String>>> {
        let mut request = of_type(Type::InSafeMode);
        request.in_safe_mode_request = Some(Default::default());
        let answer = self.ask_scm(scm, request)?.in_safe_mode_response;
        if !answer.with_context(|| format!("{scm} says nothing of safe mode"))?.in_safe_mode {
            return Ok(None);
        }
        let mut request = of_type(Type::GetSafeModeRuleStatuses);
        request.get_safe_mode_rule_statuses_request = Some(Default::default());
        let rules = self.ask_scm(scm, request)?.get_safe_mode_rule_statuses_response;
        let rules = rules.map(|rules| rules.safe_mode_rule_statuses_proto).unwrap_or_default();
        let open = rules.into_iter().filter(|rule| !rule.validate);
        Ok(Some(open.map(|rule| format!("{}: {}", rule.rule_name, rule.status_text)).collect()))
    }
}
