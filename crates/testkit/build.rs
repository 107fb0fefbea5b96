//! Writes the declarations of the wire messages as a list for tests: one line per message and
//! field.

use std::fmt::Write as _;
use std::path::Path;

const FILES: [&str; 8] = [
    "security.proto",
    "hdds.proto",
    "ozone.proto",
    "om_admin.proto",
    "datanode.proto",
    "container_location.proto",
    "block_location.proto",
    "scm_datanode.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = Path::new("../proto/proto");
    println!("cargo:rerun-if-changed={}", dir.display());
    let files: Vec<_> = FILES.iter().map(|file| dir.join(file)).collect();
    let descriptors = protox::compile(&files, [dir])?;
    let mut list = String::new();
    for file in &descriptors.file {
        let package = format!(".{}", file.package());
        for message in &file.message_type {
            // Nested messages and enums follow their parent under its name.
            let mut nested = vec![(format!("{package}.{}", message.name()), message)];
            while let Some((name, message)) = nested.pop() {
                writeln!(list, "message {name}")?;
                for field in &message.field {
                    writeln!(
                        list,
                        "field {} {} {} {} {}",
                        field.name(),
                        field.number(),
                        field.r#type.unwrap_or_default(),
                        field.label.unwrap_or_default(),
                        if field.type_name().is_empty() { "-" } else { field.type_name() },
                    )?;
                }
                for kind in &message.enum_type {
                    write_enum(
                        &mut list,
                        &name,
                        kind.name(),
                        kind.value.iter().map(|v| v.number()),
                    )?;
                }
                for inner in &message.nested_type {
                    nested.push((format!("{name}.{}", inner.name()), inner));
                }
            }
        }
        for kind in &file.enum_type {
            write_enum(&mut list, &package, kind.name(), kind.value.iter().map(|v| v.number()))?;
        }
    }
    let out = std::env::var("OUT_DIR")?;
    std::fs::write(Path::new(&out).join("messages.txt"), list)?;
    Ok(())
}

fn write_enum(
    list: &mut String,
    parent: &str,
    name: &str,
    values: impl Iterator<Item = i32>,
) -> std::fmt::Result {
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    writeln!(list, "enum {parent}.{name} {}", values.join(" "))
}
