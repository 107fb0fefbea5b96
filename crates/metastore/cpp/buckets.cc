// Table files that end at bucket boundaries.
//
// A range of a table is compacted with the whole of those files that overlap it, and of those of
// the next level that overlap these. If a file contains rows of a bucket with many deletions
// together with many rows of buckets with few, the latter are rewritten again and again; and a file
// with a few rows of many buckets includes all their files of the next level. So files of several
// buckets stay small, above the last level very small.
//
// No exception leaves this file: its callers, RocksDB and Rust, do not handle any.

#include "buckets.h"

#include <cstring>
#include <memory>
#include <new>

#include "rocksdb/options.h"
#include "rocksdb/sst_partitioner.h"

using ROCKSDB_NAMESPACE::Options;
using ROCKSDB_NAMESPACE::PartitionerRequest;
using ROCKSDB_NAMESPACE::PartitionerResult;
using ROCKSDB_NAMESPACE::Slice;
using ROCKSDB_NAMESPACE::SstPartitioner;
using ROCKSDB_NAMESPACE::SstPartitionerFactory;

// As in RocksDB's db/c.cc: the target of a pointer of the C interface. The version of the crate is
// pinned, since this may change.
struct rocksdb_options_t {
  Options rep;
};

namespace {

// The part of a key up to its third slash; empty if it has fewer.
Slice bucket_of(const Slice& key) {
  size_t at = 0;
  for (int slashes = 0; slashes < 3; ++slashes) {
    const void* slash =
        at < key.size() ? std::memchr(key.data() + at, '/', key.size() - at) : nullptr;
    if (slash == nullptr) {
      return Slice();
    }
    at = static_cast<size_t>(static_cast<const char*>(slash) - key.data()) + 1;
  }
  return Slice(key.data(), at);
}

// One per compaction, which calls it for each key in turn.
class BucketPartitioner : public SstPartitioner {
 public:
  explicit BucketPartitioner(uint64_t bytes) : bytes_(bytes) {}

  const char* Name() const override { return "TrioxideBucketPartitioner"; }

  PartitionerResult ShouldPartition(const PartitionerRequest& request) override {
    const Slice& previous = *request.prev_user_key;
    const Slice& current = *request.current_user_key;
    // A file that RocksDB has begun by itself begins with the previous key.
    if (request.current_output_file_size < size_) {
      is_mixed_ = false;
    }
    size_ = request.current_output_file_size;
    const bool is_other = bucket_of(previous) != bucket_of(current);
    if (size_ >= bytes_ && (is_other || is_mixed_)) {
      is_mixed_ = false;
      size_ = 0;
      return PartitionerResult::kRequired;
    }
    is_mixed_ = is_mixed_ || is_other;
    return PartitionerResult::kNotRequired;
  }

  // Flushed files have rows of all buckets: they are split when they leave the first level.
  bool CanDoTrivialMove(const Slice& smallest, const Slice& largest) override {
    return bucket_of(smallest) == bucket_of(largest);
  }

 private:
  const uint64_t bytes_;
  uint64_t size_ = 0;
  // The file has rows of several buckets.
  bool is_mixed_ = false;
};

class BucketPartitionerFactory : public SstPartitionerFactory {
 public:
  BucketPartitionerFactory(int last_level, uint64_t bytes, uint64_t bytes_above)
      : last_level_(last_level), bytes_(bytes), bytes_above_(bytes_above) {}

  const char* Name() const override { return "TrioxideBucketPartitionerFactory"; }

  std::unique_ptr<SstPartitioner> CreatePartitioner(
      const SstPartitioner::Context& context) const override {
    const uint64_t bytes = context.output_level < last_level_ ? bytes_above_ : bytes_;
    // Without memory for it the compaction continues without: it only affects performance.
    return std::unique_ptr<SstPartitioner>(new (std::nothrow) BucketPartitioner(bytes));
  }

 private:
  const int last_level_;
  const uint64_t bytes_;
  const uint64_t bytes_above_;
};

}  // namespace

bool metastore_end_files_with_buckets(rocksdb_options_t* options, uint64_t bytes,
                                      uint64_t bytes_above) {
  try {
    options->rep.sst_partitioner_factory = std::make_shared<BucketPartitionerFactory>(
        options->rep.num_levels - 1, bytes, bytes_above);
    return true;
  } catch (...) {
    return false;
  }
}
