//! Compiles `proto/*.proto` with protox, so that `protoc` need not be installed.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let dir = Path::new("proto");
    let files = [dir.join("common.proto"), dir.join("services.proto")];
    tonic_prost_build::configure().bytes(".").compile_fds(protox::compile(files, [dir])?)?;
    Ok(())
}
