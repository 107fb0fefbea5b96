//! Options that the program which starts an OM sets in addition to the configuration.

/// An S3 key pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootCredentials {
    /// The access key id.
    pub access_key: String,
    /// The secret key.
    pub secret_key: String,
}

/// Options of a caller in addition to the configuration.
#[derive(Debug, Clone, Default)]
pub struct OmOptions {
    /// The cluster id, if the caller has it; otherwise SCM returns it at the first start.
    pub cluster_id: Option<String>,
    /// The root S3 key pair; made at the first start when not given.
    pub root_credentials: Option<RootCredentials>,
    /// Joins a service that runs already.
    pub bootstrap: Option<Bootstrap>,
}

/// Way in which an OM joins a running service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bootstrap {
    /// True if the others need not have it in their configuration, nor answer.
    pub force: bool,
}

impl OmOptions {
    /// With the root key pair of `O3_ACCESS_KEY` and `O3_SECRET_KEY`, when both are set.
    pub fn from_env() -> Self {
        let value = |name| std::env::var(name).ok().filter(|v: &String| !v.is_empty());
        let root_credentials = match (value("O3_ACCESS_KEY"), value("O3_SECRET_KEY")) {
            (Some(access_key), Some(secret_key)) => {
                Some(RootCredentials { access_key, secret_key })
            }
            _ => None,
        };
        Self { root_credentials, ..Self::default() }
    }
}
