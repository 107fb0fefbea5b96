//! Addresses of commands: `o3://host:port/volume/bucket/key` and its shorter forms.

use client::Client;
use config::Configuration;

use crate::ShellError;

/// A parsed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    om: Option<String>,
    volume: Option<String>,
    bucket: Option<String>,
    key: Option<String>,
}

/// OM's default port.
const OM_PORT: u16 = 9862;

impl Address {
    /// Parses `[o3:[//host[:port]]/]volume[/bucket[/key]]`; slashes in a key are part of it.
    pub(crate) fn parse(text: &str) -> Result<Self, ShellError> {
        let (om, path) = match scheme(text) {
            None => (None, text),
            Some(("o3", rest)) => match rest.strip_prefix("//") {
                None => (None, rest),
                Some(rest) => {
                    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
                    ((!host.is_empty()).then(|| host.to_owned()), path)
                }
            },
            Some((scheme, _)) => {
                return Err(ShellError::Usage(format!(
                    "Invalid URI, unknown protocol scheme: {scheme}. Use o3:// as the scheme"
                )));
            }
        };
        let path = path.trim_start_matches('/');
        let mut parts = path.splitn(3, '/');
        let mut part = || parts.next().filter(|p| !p.is_empty()).map(str::to_owned);
        let (volume, bucket, key) = (part(), part(), part());
        if bucket.is_none() && key.is_some() {
            return Err(ShellError::Usage(format!("{text}: a name is empty")));
        }
        Ok(Self { om, volume, bucket, key })
    }

    /// Returns a client of the cluster of the address, or else of the configuration.
    pub(crate) fn client(&self, conf: &Configuration) -> Result<Client, ShellError> {
        let Some(om) = &self.om else { return Ok(Client::connect(conf)?) };
        let om = match om.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => om.clone(),
            _ => format!("{om}:{OM_PORT}"),
        };
        let mut options = client::ClientOptions::from_configuration(conf);
        options.om_addresses = vec![om];
        Ok(Client::new(options)?)
    }

    /// Volume, bucket and key, as far as present.
    pub(crate) fn parts(&self) -> (Option<&str>, Option<&str>, Option<&str>) {
        (self.volume.as_deref(), self.bucket.as_deref(), self.key.as_deref())
    }

    /// The level of the address, in the terms of Ozone's tools.
    pub(crate) fn scope(&self) -> &'static str {
        match self.parts() {
            (_, _, Some(_)) => "Key",
            (_, Some(_), None) => "Bucket",
            (Some(_), None, None) => "Volume",
            (None, None, None) => "All Volumes",
        }
    }

    /// The volume, or `None` for the root. Fails for a bucket or key.
    pub(crate) fn volume_or_root(&self) -> Result<Option<&str>, ShellError> {
        if self.bucket.is_some() {
            return Err(ShellError::Usage(
                "Invalid volume name. Delimiters (/) not allowed in volume name".into(),
            ));
        }
        Ok(self.volume.as_deref())
    }

    /// The volume. Fails for a bucket or key.
    pub(crate) fn volume(&self) -> Result<&str, ShellError> {
        self.volume_or_root()?.ok_or_else(|| ShellError::Usage("Volume name is required".into()))
    }

    /// The volume, and the bucket if present. Fails for a key.
    pub(crate) fn volume_or_bucket(&self) -> Result<(&str, Option<&str>), ShellError> {
        if self.key.is_some() {
            return Err(ShellError::Usage("Key address is not supported.".into()));
        }
        let volume = self
            .volume
            .as_deref()
            .ok_or_else(|| ShellError::Usage("Volume name is missing.".into()))?;
        Ok((volume, self.bucket.as_deref()))
    }

    /// Volume and bucket. Fails for a key.
    pub(crate) fn bucket(&self) -> Result<(&str, &str), ShellError> {
        if self.key.is_some() {
            return Err(ShellError::Usage(
                "Invalid bucket name. Delimiters (/) not allowed in bucket name".into(),
            ));
        }
        let volume = self
            .volume
            .as_deref()
            .ok_or_else(|| ShellError::Usage("Volume name is required.".into()))?;
        let bucket = self
            .bucket
            .as_deref()
            .ok_or_else(|| ShellError::Usage("Bucket name is required.".into()))?;
        Ok((volume, bucket))
    }

    /// Volume, bucket and key.
    pub(crate) fn key(&self) -> Result<client::KeyPath, ShellError> {
        match (&self.volume, &self.bucket, &self.key) {
            (Some(volume), Some(bucket), Some(key)) => {
                Ok(client::KeyPath::new(volume, bucket, key))
            }
            _ => Err(ShellError::Usage("Key name is missing.".into())),
        }
    }
}

/// Splits a scheme from the text after its colon. A colon elsewhere is part of a name.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    (!scheme.is_empty() && !scheme.contains('/') && rest.starts_with('/')).then_some((scheme, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_an_address_is_understood() {
        for (text, om, volume, bucket, key) in [
            ("/", None, None, None, None),
            ("", None, None, None, None),
            ("/vol1", None, Some("vol1"), None, None),
            ("vol1/bucket1", None, Some("vol1"), Some("bucket1"), None),
            ("/vol1/bucket1/", None, Some("vol1"), Some("bucket1"), None),
            ("o3://om:9862/v/b/d/k", Some("om:9862"), Some("v"), Some("b"), Some("d/k")),
            ("o3:///v/b/d//k/", None, Some("v"), Some("b"), Some("d//k/")),
            ("o3://om", Some("om"), None, None, None),
            ("o3:/v/b", None, Some("v"), Some("b"), None),
            ("//v", None, Some("v"), None, None),
            ("v/b/a://c", None, Some("v"), Some("b"), Some("a://c")),
        ] {
            let address = Address::parse(text).unwrap();
            let parts = (
                address.om.as_deref(),
                address.volume.as_deref(),
                address.bucket.as_deref(),
                address.key.as_deref(),
            );
            assert_eq!(parts, (om, volume, bucket, key), "{text}");
            assert_eq!(address.parts(), (volume, bucket, key), "{text}");
        }
        for text in ["ofs://om/v", "http://om/v", "/v//k"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let address = Address::parse("/vol1/bucket1").unwrap();
        assert_eq!(address.key().unwrap_err().to_string(), "Key name is missing.");
        assert!(address.volume().is_err());
        assert_eq!(address.volume_or_bucket().unwrap(), ("vol1", Some("bucket1")));
        assert_eq!(address.bucket().unwrap(), ("vol1", "bucket1"));
        for (text, scope) in
            [("/", "All Volumes"), ("/v", "Volume"), ("/v/b", "Bucket"), ("/v/b/d/k", "Key")]
        {
            assert_eq!(Address::parse(text).unwrap().scope(), scope, "{text}");
        }
    }
}
