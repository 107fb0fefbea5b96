//! Compiles the small part of C++ that RocksDB's C interface lacks (cpp/), with the headers of the
//! linked RocksDB.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=cpp");
    // Set by rust-librocksdb-sys.
    let Ok(include) = env::var("DEP_ROCKSDB_INCLUDE") else {
        panic!("rust-librocksdb-sys did not report the path of RocksDB's headers");
    };
    cc::Build::new()
        .cpp(true)
        .std("c++20")
        .include(include)
        .include("cpp")
        .file("cpp/buckets.cc")
        .file("cpp/deletions.cc")
        // With the same flags as RocksDB itself.
        .define("NDEBUG", Some("1"))
        .flag_if_supported("-fno-rtti")
        .warnings(false)
        .compile("metastore_deletions");
}
