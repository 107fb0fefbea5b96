# Build environment, sourced by the Makefile and .ci/run. Everything here is a default: what is
# already set wins.

cache="${XDG_CACHE_HOME:-$HOME/.cache}/trioxide"

# Programs that scripts/setup installs: cargo-nextest and cargo-deny.
case ":$PATH:" in *":$cache/bin:"*) ;; *) export PATH="$cache/bin:$PATH" ;; esac

# Outside the clone, so that a fresh clone does not compile RocksDB again.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"

# Where snapshots of tests are found (insta): binaries that were built in another clone know that one.
export INSTA_WORKSPACE_ROOT="${INSTA_WORKSPACE_ROOT:-$PWD}"

if command -v ccache >/dev/null 2>&1; then
    export CCACHE_DIR="${CCACHE_DIR:-$cache/ccache}"
    export CC="${CC:-ccache cc}"
    # Messages of the compiler are in another language then, its output is the same.
    export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-locale}"
fi
# RocksDB's files in groups. The path is the same for all clones: another one would compile RocksDB again.
if [ -x "$cache/bin/rocksdb-c++" ]; then
    export CXX="${CXX:-$cache/bin/rocksdb-c++}"
fi
# A compiler needs 2.2 GB for a group of 40, 1.3 for one of 20, and one runs on each processor.
if [ -z "${ROCKSDB_UNITY_SIZE:-}" ]; then
    per_processor=$(awk -v n="$(nproc)" '$1 == "MemTotal:" {print int($2 / 1024 / n)}' /proc/meminfo 2>/dev/null)
    if [ "${per_processor:-0}" -ge 4000 ]; then
        ROCKSDB_UNITY_SIZE=40
    elif [ "${per_processor:-0}" -ge 2000 ]; then
        ROCKSDB_UNITY_SIZE=20
    else
        ROCKSDB_UNITY_SIZE=10
    fi
    export ROCKSDB_UNITY_SIZE
fi

if [ -z "${RUSTFLAGS:-}" ]; then
    RUSTFLAGS=""
    # RocksDB's hardware CRC32C is chosen at compile time.
    if [ "$(uname -m)" = x86_64 ] && grep -q -w avx2 /proc/cpuinfo 2>/dev/null; then
        RUSTFLAGS="-C target-cpu=x86-64-v3"
    fi
    if command -v mold >/dev/null 2>&1; then
        RUSTFLAGS="$RUSTFLAGS -C link-arg=-fuse-ld=mold"
    fi
    export RUSTFLAGS
fi

# bindgen (for RocksDB's C interface) loads libclang and needs the compiler's own headers.
if [ -z "${LIBCLANG_PATH:-}" ]; then
    for dir in /usr/lib/llvm-*/lib /usr/lib/*-linux-gnu /usr/lib64 /usr/lib "$cache"/libclang; do
        if ls "$dir"/libclang.so* "$dir"/libclang-*.so* >/dev/null 2>&1; then
            export LIBCLANG_PATH="$dir"
            break
        fi
    done
fi
if [ -z "${BINDGEN_EXTRA_CLANG_ARGS:-}" ]; then
    BINDGEN_EXTRA_CLANG_ARGS="-I$(gcc -print-file-name=include 2>/dev/null)"
    export BINDGEN_EXTRA_CLANG_ARGS
fi
