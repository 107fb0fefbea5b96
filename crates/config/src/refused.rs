//! Keys of Ozone that enable safety features which are missing here. Such a value prevents the
//! start.
//!
//! A key belongs here if it makes an Ozone cluster safer than ours is. An operator who sets it
//! relies on that, so a warning is not sufficient. **To add one**, add a line to [`REFUSED`]; `make
//! docs` adds it to docs/reference/configuration.md.

use std::collections::BTreeMap;

use crate::error::ConfigError;
use crate::setting::Setting;

/// A key and its accepted values.
#[derive(Debug)]
pub struct Refused {
    /// Ozone's or Hadoop's name, such as `ozone.security.enabled`.
    pub key: &'static str,
    /// The accepted values, in any case; an empty value is always accepted.
    pub accepted: &'static [&'static str],
    /// The missing feature.
    pub reason: &'static str,
}

const NO_KERBEROS: &str = "there is no Kerberos: the client sends the user's name";
const NO_TLS: &str = "there is no TLS: all traffic is unencrypted";
const NO_TOKENS: &str = "there are no tokens: a DataNode serves every client that reaches it";
const NO_PROTOCOL_ACLS: &str = "protocols have no service-level authorization";

const NO_KMS: &str = "there is no key provider: buckets cannot be encrypted";

const PLACEMENT: &str = "there are no other placement policies: replicas are placed in two racks, those of an erasure-coded \
                         container in all racks, or racks are ignored";

const ORIGINS: &str = "a container stuck in QUASI_CLOSED keeps three replicas and at least one of \
                       each origin";

const fn refused(
    key: &'static str,
    accepted: &'static [&'static str],
    reason: &'static str,
) -> Refused {
    Refused { key, accepted, reason }
}

/// Every rejected key, in groups.
pub static REFUSED: &[Refused] = &[
    // Authentication.
    refused(
        "ozone.security.enabled",
        &["false"],
        "there is no security: no Kerberos, no tokens, no certificates",
    ),
    refused("hadoop.security.authentication", &["simple"], NO_KERBEROS),
    refused("ozone.security.http.kerberos.enabled", &["false"], NO_KERBEROS),
    refused("ozone.http.filter.initializers", &[], "web pages and S3 support no filters"),
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
    refused("hdds.prometheus.endpoint.token", &[], "metrics need no token"),
    // Encryption in transit.
    refused("hdds.grpc.tls.enabled", &["false"], NO_TLS),
    refused("ozone.http.policy", &["HTTP_ONLY"], NO_TLS),
    refused("ozone.https.client.need-auth", &["false"], NO_TLS),
    refused("hadoop.rpc.protection", &["authentication"], NO_TLS),
    refused(
        "ozone.security.crypto.compliance.mode",
        &["unrestricted"],
        "algorithms are not restricted to those of a standard",
    ),
    // Encryption at rest.
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
        "only the native authorizer is available, not Ranger or others",
    ),
    refused(
        "hadoop.security.group.mapping",
        &[
            "org.apache.hadoop.security.JniBasedUnixGroupsMappingWithFallback",
            "org.apache.hadoop.security.JniBasedUnixGroupsMapping",
            "org.apache.hadoop.security.ShellBasedUnixGroupsMapping",
            "org.apache.hadoop.security.NullGroupsMapping",
        ],
        "groups come from the host's account files, or from \
         hadoop.user.group.static.mapping.overrides: directory servers are not supported",
    ),
    refused(
        "hadoop.security.sensitive-config-keys",
        &[],
        "the page /conf hides only the keys of this key's default",
    ),
    refused(
        "ozone.om.enable.ofs.shared.tmp.dir",
        &["false"],
        "there is no shared ofs://tmp in which users cannot delete files of others",
    ),
    refused("ozone.om.multitenancy.enabled", &["false"], "tenants are not isolated"),
    refused(
        "ozone.om.object.creation.ignore.client.acls",
        &["false"],
        "ACLs sent by a client are applied",
    ),
    refused("ozone.om.user.rights", &["ALL"], "owners of new objects receive all rights"),
    refused(
        "ozone.om.group.rights",
        &["READ, LIST", "READ,LIST"],
        "the owner's group receives READ and LIST on new objects",
    ),
    // Placement and integrity of replicas.
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
        "a container is empty if it has no block records: its directory is not checked",
    ),
    refused(
        "hdds.scm.replication.push",
        &["true"],
        "replicas are pushed by a DataNode that has one; pulling is not supported",
    ),
    refused("hdds.scm.replication.quasi.closed.stuck.best.origin.copies", &["3"], ORIGINS),
    refused("hdds.scm.replication.quasi.closed.stuck.other.origin.copies", &["1"], ORIGINS),
];

impl Refused {
    /// Returns `true` if the key may have this value.
    pub fn accepts(&self, value: &str) -> bool {
        let value = value.trim();
        value.is_empty()
            || self.accepted.iter().any(|accepted| accepted.eq_ignore_ascii_case(value))
    }
}

/// Rejects a value that enables a missing feature.
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

/// Rejects the first such value among all settings.
pub(crate) fn check_all(settings: &BTreeMap<String, Setting>) -> Result<(), ConfigError> {
    settings.iter().try_for_each(|(key, setting)| check(key, setting))
}
