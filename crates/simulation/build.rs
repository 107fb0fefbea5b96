//! Exports the C library's functions that the world defines, so that shared libraries take them,
//! too; and has RocksDB's calls of functions that the world wraps come to it. That is so of each
//! executable: of the program, and of the library's unit tests, for which cargo has no narrower
//! kind of argument.

use std::fs;
use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=src/world");
    export(Path::new("src/world"));
    for name in ["pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "getsockname", "getpeername"] {
        println!("cargo:rustc-link-arg=-Wl,--export-dynamic-symbol={name}");
    }
}

fn export(dir: &Path) {
    let Ok(files) = fs::read_dir(dir) else { return };
    for file in files.flatten() {
        if file.path().is_dir() {
            export(&file.path());
            continue;
        }
        let Ok(text) = fs::read_to_string(file.path()) else { continue };
        for line in text.lines() {
            let found = line.trim_start().strip_prefix("unsafe extern \"C\" fn ");
            let name = found.and_then(|rest| rest.split('(').next());
            match name.filter(|name| !name.starts_with('$') && *name != "end") {
                None => {}
                Some(name) => match name.strip_prefix("__wrap_") {
                    Some(theirs) => println!("cargo:rustc-link-arg=-Wl,--wrap={theirs}"),
                    None => {
                        println!("cargo:rustc-link-arg=-Wl,--export-dynamic-symbol={name}")
                    }
                },
            }
        }
    }
}
