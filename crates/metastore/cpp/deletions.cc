// A collector of table properties that records the positions of tombstones in a file.
//
// The property is a list of samples: the last key of a run of entries, and the number of entries,
// tombstones and deleted keys of the file up to there. Numbers are varints of seven bits per byte,
// the lowest first; a key is preceded by its length. A key counts as deleted once, however many of
// its versions are in the file, and only if the newest one is a tombstone.
//
// No exception leaves this file: its callers, RocksDB and Rust, do not handle any.

#include "deletions.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/table_properties.h"

using ROCKSDB_NAMESPACE::ColumnFamilyHandle;
using ROCKSDB_NAMESPACE::DB;
using ROCKSDB_NAMESPACE::EntryType;
using ROCKSDB_NAMESPACE::Options;
using ROCKSDB_NAMESPACE::SequenceNumber;
using ROCKSDB_NAMESPACE::Slice;
using ROCKSDB_NAMESPACE::Status;
using ROCKSDB_NAMESPACE::TablePropertiesCollection;
using ROCKSDB_NAMESPACE::TablePropertiesCollector;
using ROCKSDB_NAMESPACE::TablePropertiesCollectorFactory;
using ROCKSDB_NAMESPACE::UserCollectedProperties;

// As in RocksDB's db/c.cc: the targets of pointers of the C interface. The version of the crate is
// pinned, since they may change.
struct rocksdb_t {
  DB* rep;
};
struct rocksdb_options_t {
  Options rep;
};
struct rocksdb_column_family_handle_t {
  ColumnFamilyHandle* rep;
};

namespace {

const char kProperty[] = "trioxide.deletions";

void put_number(std::string* to, uint64_t number) {
  while (number >= 0x80) {
    to->push_back(static_cast<char>(number | 0x80));
    number >>= 7;
  }
  to->push_back(static_cast<char>(number));
}

class DeletionCollector : public TablePropertiesCollector {
 public:
  explicit DeletionCollector(uint64_t entries_per_sample)
      : entries_per_sample_(std::max<uint64_t>(entries_per_sample, 1)) {}

  Status AddUserKey(const Slice& key, const Slice& /*value*/, EntryType type,
                    SequenceNumber /*sequence*/, uint64_t /*file_size*/) override {
    if (type == ROCKSDB_NAMESPACE::kEntryRangeDeletion) {
      return Status::OK();
    }
    const bool is_newest = entries_ == 0 || key != Slice(key_);
    if (is_newest) {
      if (entries_ - sampled_ >= entries_per_sample_) {
        sample();
      }
      key_.assign(key.data(), key.size());
    }
    entries_++;
    const bool is_deletion = type == ROCKSDB_NAMESPACE::kEntryDelete ||
                             type == ROCKSDB_NAMESPACE::kEntrySingleDelete ||
                             type == ROCKSDB_NAMESPACE::kEntryDeleteWithTimestamp;
    if (is_deletion) {
      deletions_++;
      deleted_keys_ += is_newest ? 1 : 0;
    }
    return Status::OK();
  }

  Status Finish(UserCollectedProperties* properties) override {
    if (entries_ > sampled_) {
      sample();
    }
    (*properties)[kProperty] = samples_;
    return Status::OK();
  }

  UserCollectedProperties GetReadableProperties() const override { return {}; }

  const char* Name() const override { return "TrioxideDeletionCollector"; }

 private:
  void sample() {
    put_number(&samples_, key_.size());
    samples_.append(key_);
    put_number(&samples_, entries_);
    put_number(&samples_, deletions_);
    put_number(&samples_, deleted_keys_);
    sampled_ = entries_;
  }

  const uint64_t entries_per_sample_;
  uint64_t entries_ = 0;
  uint64_t deletions_ = 0;
  uint64_t deleted_keys_ = 0;
  // Number of entries at the last sample.
  uint64_t sampled_ = 0;
  std::string key_;
  std::string samples_;
};

class DeletionCollectorFactory : public TablePropertiesCollectorFactory {
 public:
  explicit DeletionCollectorFactory(uint64_t entries_per_sample)
      : entries_per_sample_(entries_per_sample) {}

  TablePropertiesCollector* CreateTablePropertiesCollector(
      TablePropertiesCollectorFactory::Context /*context*/) override {
    return new (std::nothrow) DeletionCollector(entries_per_sample_);
  }

  const char* Name() const override { return "TrioxideDeletionCollectorFactory"; }

 private:
  const uint64_t entries_per_sample_;
};

size_t copy(const std::string& text, char* to, size_t room) {
  const size_t length = std::min(text.size(), room);
  std::memcpy(to, text.data(), length);
  return length;
}

}  // namespace

bool metastore_collect_deletions(rocksdb_options_t* options, uint64_t entries) {
  try {
    options->rep.table_properties_collector_factories.push_back(
        std::make_shared<DeletionCollectorFactory>(entries));
    return true;
  } catch (...) {
    return false;
  }
}

size_t metastore_each_file_of(rocksdb_t* db, rocksdb_column_family_handle_t* family,
                              metastore_each_file each, void* state, char* reason, size_t room) {
  try {
    TablePropertiesCollection files;
    const Status status = db->rep->GetPropertiesOfAllTables(family->rep, &files);
    if (!status.ok()) {
      return copy(status.ToString(), reason, room);
    }
    for (const auto& [path, properties] : files) {
      const auto& collected = properties->user_collected_properties;
      const auto found = collected.find(kProperty);
      const Slice samples = found == collected.end() ? Slice() : Slice(found->second);
      each(state, path.data(), path.size(), samples.data(), samples.size(),
           properties->num_entries, properties->num_deletions);
    }
    return 0;
  } catch (const std::exception& error) {
    return copy(error.what(), reason, room);
  } catch (...) {
    return copy("an exception", reason, room);
  }
}
