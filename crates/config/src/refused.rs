//! Keys of Ozone that promise safety which is not there: with such a value nothing starts.
//!
//! A key belongs here when, in Ozone, it makes a cluster safer than ours is. An operator that sets
//! it counts on that, so a warning is not enough. **To add one**, add a line to [`REFUSED`];
//! `make docs` adds it to docs/reference/configuration.md.

use std::collections::BTreeMap;

use crate::error::ConfigError;
use crate::setting::Setting;

/// A key with the values that it may have.
#[derive(Debug)]
pub struct Refused {
    /// Ozone's or Hadoop's name, such as `ozone.security.enabled`.
    pub key: &'static str,
    /// The values that ask for nothing that is not there, in any case; no value at all is always
    /// one.
    pub accepted: &'static [&'static str],
    /// What there is not.
    pub reason: &'static str,
}

const NO_KERBEROS: &str = "there is no Kerberos: the user is the one that the client names";
const NO_TLS: &str = "there is no TLS: everything goes over the network as it is";
const NO_TOKENS: &str = "there are no tokens: a DataNode serves every client that reaches it";
const NO_PROTOCOL_ACLS: &str = "calls of protocols are not checked against users";

const NO_KMS: &str = "there is no key provider: keys of a bucket cannot be encrypted";

const PLACEMENT: &str = "there are no other placement policies: replicas are in two racks, those of an erasure-coded \
                         container in as many as there are, or racks do not matter";

const ORIGINS: &str = "of a container that stays QUASI_CLOSED three replicas are kept and the last \
                       one of each origin, however many origins there are";

const fn refused(
    key: &'static str,
    accepted: &'static [&'static str],
    reason: &'static str,
) -> Refused {
    Refused { key, accepted, reason }
}

/// Every key that is refused, in groups.
pub static REFUSED: &[Refused] = &[
    // Authentication.
    refused(
        "ozone.security.enabled",
        &["false"],
        "there is no security: no Kerberos, no tokens, no certificates",
    ),
    refused("hadoop.security.authentication", &["simple"], NO_KERBEROS),
    refused("ozone.security.http.kerberos.enabled", &["false"], NO_KERBEROS),
    refused("ozone.http.filter.initializers", &[], "web pages and S3 have no filters in front"),
    refused("ozone.om.http.auth.type", &["simple"], NO_KERBEROS),
    refused("hdds.scm.http.auth.type", &["simple"], NO_KERBEROS),
    refused("hdds.datanode.http.auth.type", &["simple"], NO_KERBEROS),
    refused("ozone.s3g.http.auth.type", &["simple"], NO_KERBEROS),
    refused("ozone.om.kerberos.principal", &[], NO_KERBEROS),
    refused("ozone.om.kerberos.keytab.file", &[], NO_KERBEROS),
    refused("hdds.scm.kerberos.principal", &[], NO_KERBEROS),
    refused("hdds.scm.kerberos.keytab.file", &[], NO_KERBEROS),
    refused("hdds.datanode.kerberos.principal", &[], NO_KERBEROS),
    refused("hdds.datanode.kerberos.keytab.file", &[], NO_KERBEROS),
    refused("ozone.s3g.kerberos.principal", &[], NO_KERBEROS),
    refused("ozone.s3g.kerberos.keytab.file", &[], NO_KERBEROS),
    refused("hdds.block.token.enabled", &["false"], NO_TOKENS),
    refused("hdds.container.token.enabled", &["false"], NO_TOKENS),
    refused("hdds.prometheus.endpoint.token", &[], "everybody may read the metrics"),
    // What is seen on the way.
    refused("hdds.grpc.tls.enabled", &["false"], NO_TLS),
    refused("ozone.http.policy", &["HTTP_ONLY"], NO_TLS),
    refused("ozone.https.client.need-auth", &["false"], NO_TLS),
    refused("hadoop.rpc.protection", &["authentication"], NO_TLS),
    refused(
        "ozone.security.crypto.compliance.mode",
        &["unrestricted"],
        "algorithms are not restricted to those of a standard",
    ),
    // What is on the disks.
    refused("hadoop.security.key.provider.path", &[], NO_KMS),
    refused("dfs.encryption.key.provider.uri", &[], NO_KMS),
    // Authorization.
    refused("hadoop.security.authorization", &["false"], NO_PROTOCOL_ACLS),
    refused("ozone.om.security.client.protocol.acl", &["*"], NO_PROTOCOL_ACLS),
    refused("ozone.om.security.admin.protocol.acl", &["*"], NO_PROTOCOL_ACLS),
    refused("hdds.security.client.datanode.container.protocol.acl", &["*"], NO_PROTOCOL_ACLS),
    refused("hdds.security.client.datanode.disk.balancer.protocol.acl", &["*"], NO_PROTOCOL_ACLS),
    refused("hdds.security.client.scm.container.protocol.acl", &["*"], NO_PROTOCOL_ACLS),
    refused("hdds.security.client.scm.block.protocol.acl", &["*"], NO_PROTOCOL_ACLS),
    refused("hdds.security.client.scm.certificate.protocol.acl", &["*"], NO_PROTOCOL_ACLS),
    refused("hdds.security.client.scm.secretkey.datanode.protocol.acl", &["*"], NO_PROTOCOL_ACLS),
    refused("hdds.security.client.scm.secretkey.om.protocol.acl", &["*"], NO_PROTOCOL_ACLS),
    refused("hdds.security.client.scm.secretkey.scm.protocol.acl", &["*"], NO_PROTOCOL_ACLS),
    refused("ozone.security.reconfigure.protocol.acl", &["*"], NO_PROTOCOL_ACLS),
    refused(
        "ozone.acl.authorizer.class",
        &[
            "native",
            "org.apache.hadoop.ozone.security.acl.OzoneNativeAuthorizer",
            "OzoneNativeAuthorizer",
            "org.apache.hadoop.ozone.security.acl.OzoneAccessAuthorizer",
            "OzoneAccessAuthorizer",
        ],
        "only the native authorizer is there, Ranger and others are not",
    ),
    refused(
        "hadoop.security.group.mapping",
        &[
            "org.apache.hadoop.security.JniBasedUnixGroupsMappingWithFallback",
            "org.apache.hadoop.security.JniBasedUnixGroupsMapping",
            "org.apache.hadoop.security.ShellBasedUnixGroupsMapping",
            "org.apache.hadoop.security.NullGroupsMapping",
        ],
        "groups come from the account files of the machine, or from \
         hadoop.user.group.static.mapping.overrides: no directory server is asked",
    ),
    refused(
        "hadoop.security.sensitive-config-keys",
        &[],
        "the page /conf leaves out what the default of this key names, and no more",
    ),
    refused(
        "ozone.om.enable.ofs.shared.tmp.dir",
        &["false"],
        "there is no shared ofs://tmp in which users cannot delete what others made",
    ),
    refused("ozone.om.multitenancy.enabled", &["false"], "tenants are not kept apart"),
    refused(
        "ozone.om.object.creation.ignore.client.acls",
        &["false"],
        "ACLs that a client sends are taken",
    ),
    refused("ozone.om.user.rights", &["ALL"], "owners of new objects get all rights"),
    refused(
        "ozone.om.group.rights",
        &["READ, LIST", "READ,LIST"],
        "the owner's group gets READ and LIST on new objects",
    ),
    // Where replicas are, and whether they are still good.
    refused(
        "ozone.scm.datanode.disallow.same.peers",
        &["false"],
        "the same DataNodes may share several pipelines",
    ),
    refused(
        "ozone.scm.container.placement.impl",
        &[
            "org.apache.hadoop.hdds.scm.container.placement.algorithms.SCMContainerPlacementRackAware",
            "org.apache.hadoop.hdds.scm.container.placement.algorithms.SCMContainerPlacementCapacity",
            "org.apache.hadoop.hdds.scm.container.placement.algorithms.SCMContainerPlacementRandom",
        ],
        PLACEMENT,
    ),
    refused(
        "ozone.scm.container.placement.ec.impl",
        &[
            "org.apache.hadoop.hdds.scm.container.placement.algorithms.SCMContainerPlacementRackScatter",
            "org.apache.hadoop.hdds.scm.container.placement.algorithms.SCMContainerPlacementRackAware",
            "org.apache.hadoop.hdds.scm.container.placement.algorithms.SCMContainerPlacementCapacity",
            "org.apache.hadoop.hdds.scm.container.placement.algorithms.SCMContainerPlacementRandom",
        ],
        PLACEMENT,
    ),
    refused(
        "hdds.datanode.check.empty.container.dir.on.delete",
        &["false"],
        "a container is empty when it has no rows of blocks: its folder is not looked at",
    ),
    refused(
        "hdds.scm.replication.push",
        &["true"],
        "a DataNode that has a replica sends it; none is fetched by the one that gets it",
    ),
    refused("hdds.scm.replication.quasi.closed.stuck.best.origin.copies", &["3"], ORIGINS),
    refused("hdds.scm.replication.quasi.closed.stuck.other.origin.copies", &["1"], ORIGINS),
];

impl Refused {
    /// Whether the key may have this value.
    pub fn accepts(&self, value: &str) -> bool {
        let value = value.trim();
        value.is_empty()
            || self.accepted.iter().any(|accepted| accepted.eq_ignore_ascii_case(value))
    }
}

/// Refuses a value that promises what is not there.
pub(crate) fn check(key: &str, setting: &Setting) -> Result<(), ConfigError> {
    match REFUSED.iter().find(|refused| refused.key == key) {
        Some(refused) if !refused.accepts(&setting.resolved) => Err(ConfigError::Refused {
            key: setting.given_as.clone().unwrap_or_else(|| key.to_owned()),
            value: setting.resolved.clone(),
            origin: setting.origin.clone(),
            reason: refused.reason,
        }),
        _ => Ok(()),
    }
}

/// Refuses the first such value among all.
pub(crate) fn check_all(settings: &BTreeMap<String, Setting>) -> Result<(), ConfigError> {
    settings.iter().try_for_each(|(key, setting)| check(key, setting))
}
