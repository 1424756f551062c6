// Tensors that a worker on the same host leaves in files of --shm_dir.
#ifndef TOKENDRAW_SERVICE_SHARED_MEMORY_H_
#define TOKENDRAW_SERVICE_SHARED_MEMORY_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "service/status.h"

namespace tokendraw {

// A file in memory, read-only. Its owner may change or cut it at any time: read with GuardedCopy.
class Mapping {
 public:
  Mapping(int file, size_t size, void* start) : file_(file), size_(size), start_(start) {}
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  int file() const { return file_; }
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(start_), size_};
  }

 private:
  const int file_;
  const size_t size_;
  void* const start_;
};

// Opens files by name and keeps them mapped, so that a worker that writes its rows to one file
// again and again pays for the mapping once. The memory of a file that was removed is freed within
// kMapsPerLook uses of any file. Thread-safe.
class SharedMemory {
 public:
  static constexpr int64_t kMapsPerLook = 64;

  // INVALID_ARGUMENT unless `path` is a directory.
  static absl::StatusOr<std::unique_ptr<SharedMemory>> Open(const std::string& path);
  ~SharedMemory();

  // Maps the file `name`, of which `bytes` from `offset` on are wanted. Null, and added to
  // `violations` under `path`, unless it is a plain name of a regular file that belongs to this
  // process's user or to the directory's, and the range lies in it.
  std::shared_ptr<const Mapping> Map(const std::string& name, int64_t offset, int64_t bytes,
                                     const std::string& path, Violations& violations);

  // Files that are mapped now.
  size_t mapped() const;

 private:
  struct Known {
    dev_t device;
    ino_t inode;  // not given to another file while this one is mapped
    std::shared_ptr<const Mapping> mapping;
  };

  SharedMemory(int directory, uid_t owner) : directory_(directory), owner_(owner) {}
  void ForgetRemoved();

  const int directory_;
  const uid_t owner_;
  mutable std::mutex mutex_;  // guards what stands below
  std::list<Known> known_;    // last used first
  int64_t maps_ = 0;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_SHARED_MEMORY_H_
