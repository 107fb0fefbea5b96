// The part of RocksDB's C++ interface that its C interface lacks: table files that end at bucket
// boundaries.
#pragma once

#include <stdint.h>

struct rocksdb_options_t;

extern "C" {

// Makes compactions with these options end a table file of at least `bytes` at a bucket boundary,
// and one that has rows of several buckets as soon as it has that size; above the last level
// `bytes_above` is used instead. A key's bucket is its part up to the third slash; keys with fewer
// slashes belong to one bucket. Returns false if there is no memory for it.
bool metastore_end_files_with_buckets(rocksdb_options_t* options, uint64_t bytes,
                                      uint64_t bytes_above);
}
