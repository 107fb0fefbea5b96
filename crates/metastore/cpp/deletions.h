// The part of RocksDB's C++ interface that its C interface lacks: a collector of table properties,
// and the properties of the files of a column family.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rocksdb_t;
struct rocksdb_options_t;
struct rocksdb_column_family_handle_t;

extern "C" {

// Makes every table file with these options record the positions of its tombstones, one sample per
// `entries` entries. Returns false if there is no memory for it.
bool metastore_collect_deletions(rocksdb_options_t* options, uint64_t entries);

// Receives each table file: its name, the collector's property (empty for a file written without
// it), its entries and its tombstones.
typedef void (*metastore_each_file)(void* state, const char* name, size_t name_length,
                                    const char* samples, size_t samples_length, uint64_t entries,
                                    uint64_t deletions);

// Passes every table file of a column family to the callback. Returns zero on success; otherwise up
// to `room` bytes of the reason are written to `reason`, and their number is returned.
size_t metastore_each_file_of(rocksdb_t* db, rocksdb_column_family_handle_t* family,
                              metastore_each_file each, void* state, char* reason, size_t room);
}
