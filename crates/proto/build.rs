//! Compiles `proto/*.proto` with protox, so that `protoc` need not be installed.

use std::path::Path;

const FILES: [&str; 11] = [
    "security.proto",
    "hdds.proto",
    "ozone.proto",
    "om_admin.proto",
    "datanode.proto",
    "disk_balancer.proto",
    "container_location.proto",
    "block_location.proto",
    "scm_datanode.proto",
    "background_service.proto",
    "deletion_status.proto",
];

/// Numbers of `FieldDescriptorProto.Type.TYPE_MESSAGE` and `.Label.LABEL_OPTIONAL`.
const TYPE_MESSAGE: i32 = 11;
const LABEL_OPTIONAL: i32 = 1;
/// Messages that are rarely set in fields of their type.
const RARE: [&str; 2] =
    [".hadoop.ozone.FileEncryptionInfoProto", ".hadoop.ozone.FileChecksumProto"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = Path::new("proto");
    println!("cargo:rerun-if-changed=proto");
    let files: Vec<_> = FILES.iter().map(|f| dir.join(f)).collect();
    let descriptors = protox::compile(&files, [dir])?;
    let mut builder = tonic_prost_build::configure().bytes(".");
    // OMRequest and OMResponse contain one of some hundred sub-messages: inline they occupy many
    // kilobytes, boxed they are one pointer each. The same applies to the pipeline and token of a
    // block location, which most locations lack, and to a key's encryption and checksum fields.
    for message in descriptors.file.iter().flat_map(|file| &file.message_type) {
        let envelope = matches!(message.name(), "OMRequest" | "OMResponse");
        for field in &message.field {
            if field.r#type != Some(TYPE_MESSAGE) || field.label != Some(LABEL_OPTIONAL) {
                continue;
            }
            if !envelope && !RARE.contains(&field.type_name()) {
                continue;
            }
            builder = builder.boxed(format!(".hadoop.ozone.{}.{}", message.name(), field.name()));
        }
    }
    for field in ["pipeline", "token"] {
        builder = builder.boxed(format!(".hadoop.ozone.KeyLocation.{field}"));
    }
    builder.compile_fds(descriptors)?;
    Ok(())
}
