//! Number and kind of a block's copies.

use std::fmt;
use std::str::FromStr;

use proto::hdds;

use crate::WireError;

/// Number of full copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReplicationFactor {
    /// One copy.
    One,
    /// Three copies.
    Three,
}

impl ReplicationFactor {
    /// The number of copies.
    pub fn count(self) -> u32 {
        match self {
            Self::One => 1,
            Self::Three => 3,
        }
    }

    /// Converts to the wire's enum.
    pub fn to_wire(self) -> hdds::ReplicationFactor {
        match self {
            Self::One => hdds::ReplicationFactor::One,
            Self::Three => hdds::ReplicationFactor::Three,
        }
    }

    /// # Errors
    /// If `factor` is neither ONE nor THREE.
    pub fn from_wire(factor: i32) -> Result<Self, WireError> {
        match hdds::ReplicationFactor::try_from(factor) {
            Ok(hdds::ReplicationFactor::One) => Ok(Self::One),
            Ok(hdds::ReplicationFactor::Three) => Ok(Self::Three),
            _ => Err(WireError::invalid("replication", "factor", factor)),
        }
    }
}

impl fmt::Display for ReplicationFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One => "ONE",
            Self::Three => "THREE",
        })
    }
}

/// Codec of an erasure-coded replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EcCodec {
    /// Reed-Solomon.
    Rs,
    /// Exclusive or, one parity.
    Xor,
}

impl fmt::Display for EcCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rs => "rs",
            Self::Xor => "xor",
        })
    }
}

/// Maximum number of replicas of a block group: the nonzero elements of GF(2^8).
const MAX_REPLICAS: u32 = 255;

/// An erasure-coded replication, e.g. `rs-6-3-1024k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EcConfig {
    /// Data replicas.
    pub data: u32,
    /// Parity replicas.
    pub parity: u32,
    /// Codec.
    pub codec: EcCodec,
    /// Cell size in bytes.
    pub chunk_size: u32,
}

impl fmt::Display for EcConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}-{}k", self.codec, self.data, self.parity, self.chunk_size / 1024)
    }
}

impl FromStr for EcConfig {
    type Err = WireError;

    fn from_str(s: &str) -> Result<Self, WireError> {
        let bad = || WireError::invalid("ECReplicationConfig", "text", s);
        let lower = s.to_ascii_lowercase();
        let parts: Vec<&str> = lower.split('-').collect();
        let [codec, data, parity, chunk] = parts.as_slice() else { return Err(bad()) };
        let codec = match *codec {
            "rs" => EcCodec::Rs,
            "xor" => EcCodec::Xor,
            _ => return Err(bad()),
        };
        let chunk_size = match chunk.strip_suffix('k') {
            Some(k) => k.parse::<u32>().ok().and_then(|k| k.checked_mul(1024)),
            None => chunk.parse().ok(),
        };
        let config = Self {
            data: data.parse().map_err(|_| bad())?,
            parity: parity.parse().map_err(|_| bad())?,
            codec,
            chunk_size: chunk_size.ok_or_else(bad)?,
        };
        if config.data == 0 || config.parity == 0 || config.chunk_size == 0 {
            return Err(bad());
        }
        config.checked()
    }
}

impl EcConfig {
    /// Converts to the wire's message.
    pub fn to_wire(self) -> hdds::EcReplicationConfig {
        hdds::EcReplicationConfig {
            data: self.data.cast_signed(),
            parity: self.parity.cast_signed(),
            codec: self.codec.to_string(),
            ec_chunk_size: self.chunk_size.cast_signed(),
        }
    }

    /// # Errors
    /// If a number is not positive or the codec is unknown.
    pub fn from_wire(ec: &hdds::EcReplicationConfig) -> Result<Self, WireError> {
        let positive = |field, n: i32| {
            u32::try_from(n)
                .ok()
                .filter(|n| *n > 0)
                .ok_or_else(|| WireError::invalid("ECReplicationConfig", field, n))
        };
        let codec = match ec.codec.to_ascii_lowercase().as_str() {
            "rs" => EcCodec::Rs,
            "xor" => EcCodec::Xor,
            other => return Err(WireError::invalid("ECReplicationConfig", "codec", other)),
        };
        let config = Self {
            data: positive("data", ec.data)?,
            parity: positive("parity", ec.parity)?,
            codec,
            chunk_size: positive("ecChunkSize", ec.ec_chunk_size)?,
        };
        config.checked()
    }

    /// A code over bytes cannot have more replicas.
    fn checked(self) -> Result<Self, WireError> {
        match self.data.saturating_add(self.parity) {
            0..=MAX_REPLICAS => Ok(self),
            many => Err(WireError::invalid("ECReplicationConfig", "data + parity", many)),
        }
    }
}

/// Replication of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReplicationConfig {
    /// Full copies through a Raft group.
    Ratis(ReplicationFactor),
    /// Full copies without consensus (read pipelines, tools).
    StandAlone(ReplicationFactor),
    /// Erasure-coded.
    Ec(EcConfig),
}

impl ReplicationConfig {
    /// RATIS/THREE, the default of the system.
    pub const RATIS_THREE: Self = Self::Ratis(ReplicationFactor::Three);
    /// RATIS/ONE.
    pub const RATIS_ONE: Self = Self::Ratis(ReplicationFactor::One);

    /// Returns `true` if replicas differ from each other, each with an index of its own.
    pub fn is_ec(&self) -> bool {
        matches!(self, Self::Ec(_))
    }

    /// Number of DataNodes in a pipeline of this kind.
    pub fn required_nodes(&self) -> u32 {
        match self {
            Self::Ratis(f) | Self::StandAlone(f) => f.count(),
            Self::Ec(ec) => ec.data.saturating_add(ec.parity),
        }
    }

    /// Bytes on disk for `size` bytes of user data, as in Ozone's quota: copies for full
    /// replication; for EC data plus the parity of every started stripe. `u64::MAX` on overflow:
    /// sizes come from messages.
    pub fn replicated_size(&self, size: u64) -> u64 {
        match self {
            Self::Ratis(f) | Self::StandAlone(f) => size.saturating_mul(u64::from(f.count())),
            Self::Ec(ec) => {
                let (chunk, parity) = (u64::from(ec.chunk_size), u64::from(ec.parity));
                // The product of two 32-bit numbers always fits.
                let stripe = u64::from(ec.data).saturating_mul(chunk).max(1);
                let full = size.checked_div(stripe).unwrap_or(0);
                let rest = size.checked_rem(stripe).unwrap_or(0);
                let of_full = full.saturating_mul(parity.saturating_mul(chunk));
                let of_rest = rest.min(chunk).saturating_mul(parity);
                size.saturating_add(of_full).saturating_add(of_rest)
            }
        }
    }

    /// The wire's replication type.
    pub fn wire_type(&self) -> hdds::ReplicationType {
        match self {
            Self::Ratis(_) => hdds::ReplicationType::Ratis,
            Self::StandAlone(_) => hdds::ReplicationType::StandAlone,
            Self::Ec(_) => hdds::ReplicationType::Ec,
        }
    }

    /// The wire's factor; `None` for EC.
    pub fn wire_factor(&self) -> Option<hdds::ReplicationFactor> {
        match self {
            Self::Ratis(f) | Self::StandAlone(f) => Some(f.to_wire()),
            Self::Ec(_) => None,
        }
    }

    /// The wire's EC part; `None` for full copies.
    pub fn wire_ec(&self) -> Option<hdds::EcReplicationConfig> {
        match self {
            Self::Ec(ec) => Some(ec.to_wire()),
            _ => None,
        }
    }

    /// Converts from the triple (type, factor, EC part) of messages.
    ///
    /// # Errors
    /// If the type is NONE or CHAINED, or the part that the type requires is absent or wrong.
    pub fn from_wire(
        kind: i32,
        factor: Option<i32>,
        ec: Option<&hdds::EcReplicationConfig>,
    ) -> Result<Self, WireError> {
        let factor = || {
            factor
                .ok_or(WireError::Missing { message: "replication", field: "factor" })
                .and_then(ReplicationFactor::from_wire)
        };
        match hdds::ReplicationType::try_from(kind) {
            Ok(hdds::ReplicationType::Ratis) => Ok(Self::Ratis(factor()?)),
            Ok(hdds::ReplicationType::StandAlone) => Ok(Self::StandAlone(factor()?)),
            Ok(hdds::ReplicationType::Ec) => {
                let missing =
                    WireError::Missing { message: "replication", field: "ecReplicationConfig" };
                EcConfig::from_wire(ec.ok_or(missing)?).map(Self::Ec)
            }
            _ => Err(WireError::invalid("replication", "type", kind)),
        }
    }

    /// Parses the two words of a command line or setting: `RATIS` `THREE` (or `3`), `EC`
    /// `rs-3-2-1024k`.
    ///
    /// # Errors
    /// If a word is unknown.
    pub fn parse(kind: &str, value: &str) -> Result<Self, WireError> {
        let factor = || match value.to_ascii_uppercase().as_str() {
            "ONE" | "1" => Ok(ReplicationFactor::One),
            "THREE" | "3" => Ok(ReplicationFactor::Three),
            _ => Err(WireError::invalid("replication", "factor", value)),
        };
        match kind.to_ascii_uppercase().as_str() {
            "RATIS" => Ok(Self::Ratis(factor()?)),
            "STAND_ALONE" | "STANDALONE" => Ok(Self::StandAlone(factor()?)),
            "EC" => value.parse().map(Self::Ec),
            _ => Err(WireError::invalid("replication", "type", kind)),
        }
    }
}

impl fmt::Display for ReplicationConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratis(n) => write!(f, "RATIS/{n}"),
            Self::StandAlone(n) => write!(f, "STAND_ALONE/{n}"),
            Self::Ec(ec) => write!(f, "EC/{ec}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_wire_agree() {
        for (kind, value, shown) in [
            ("RATIS", "3", "RATIS/THREE"),
            ("ratis", "ONE", "RATIS/ONE"),
            ("STAND_ALONE", "1", "STAND_ALONE/ONE"),
            ("EC", "rs-6-3-1024k", "EC/rs-6-3-1024k"),
            ("EC", "XOR-2-1-1048576", "EC/xor-2-1-1024k"),
        ] {
            let config = ReplicationConfig::parse(kind, value).unwrap();
            assert_eq!(config.to_string(), shown);
            let back = ReplicationConfig::from_wire(
                config.wire_type() as i32,
                config.wire_factor().map(|f| f as i32),
                config.wire_ec().as_ref(),
            );
            assert_eq!(back, Ok(config));
        }
        for (kind, value) in [
            ("RATIS", "2"),
            ("EC", "rs-3-2"),
            ("EC", "rs-0-2-1k"),
            ("EC", "rs-200-56-1k"),
            ("NONE", "1"),
        ] {
            assert!(ReplicationConfig::parse(kind, value).is_err(), "{kind} {value}");
        }
    }

    #[test]
    fn replicated_size_counts_copies_and_parity() {
        assert_eq!(ReplicationConfig::RATIS_THREE.replicated_size(10), 30);
        let ec = ReplicationConfig::parse("EC", "rs-3-2-1024k").unwrap();
        let mib = 1 << 20;
        assert_eq!(ec.replicated_size(3 * mib), 5 * mib);
        assert_eq!(ec.replicated_size(10), 30);
        assert_eq!(ec.replicated_size(5 * mib), 5 * mib + 4 * mib);
    }
}
