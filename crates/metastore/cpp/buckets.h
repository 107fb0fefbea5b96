// What metastore needs of RocksDB's C++ interface that its C interface lacks: table files that end
// where buckets do.
#pragma once

#include <stdint.h>

struct rocksdb_options_t;

extern "C" {

// Has compactions of these options end a table file of at least `bytes` where a bucket ends, and
// one that has rows of several buckets as soon as it has so many bytes; above the last level
// `bytes_above` stand for them. A key's bucket is what it has up to its third slash; keys with fewer
// are all of one. False when there is no memory for it.
bool metastore_end_files_with_buckets(rocksdb_options_t* options, uint64_t bytes,
                                      uint64_t bytes_above);
}
