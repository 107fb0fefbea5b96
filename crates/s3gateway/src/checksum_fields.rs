//! Checksum fields of responses, one for each algorithm.

/// Sets the field of a checksum's algorithm.
macro_rules! set_checksum {
    ($output:expr, $checksum:expr) => {{
        let value = Some($checksum.value.clone());
        match $checksum.algorithm {
            $crate::digest::Algorithm::Crc32 => $output.checksum_crc32 = value,
            $crate::digest::Algorithm::Crc32c => $output.checksum_crc32c = value,
            $crate::digest::Algorithm::Crc64Nvme => $output.checksum_crc64nvme = value,
            $crate::digest::Algorithm::Sha1 => $output.checksum_sha1 = value,
            $crate::digest::Algorithm::Sha256 => $output.checksum_sha256 = value,
        }
    }};
}
pub(crate) use set_checksum;
