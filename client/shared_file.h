// Files in a directory that a server on this host sees too; private to the library.
#ifndef TOKENDRAW_CLIENT_SHARED_FILE_H_
#define TOKENDRAW_CLIENT_SHARED_FILE_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace tokendraw {

// An open directory. Immutable.
class SharedDirectory {
 public:
  // Errors: those of open(2).
  static absl::StatusOr<std::shared_ptr<const SharedDirectory>> Open(const std::string& path);
  ~SharedDirectory();
  SharedDirectory(const SharedDirectory&) = delete;
  SharedDirectory& operator=(const SharedDirectory&) = delete;

  int descriptor() const { return descriptor_; }

  // Whether both are one directory, whatever their paths.
  bool Is(const SharedDirectory& other) const {
    return device_ == other.device_ && inode_ == other.inode_;
  }

  // Removes the files of SharedFile that nobody holds any more, since their process was killed:
  // regular files of that name and of this user, not changed for `age`, that no process has locked.
  // Links are never followed, and other names never touched. What cannot be removed stays.
  void RemoveOrphans(std::chrono::seconds age) const;

 private:
  SharedDirectory(int descriptor, dev_t device, ino_t inode)
      : descriptor_(descriptor), device_(device), inode_(inode) {}

  const int descriptor_;
  const dev_t device_;
  const ino_t inode_;
};

// A new file, mapped and locked (flock) as long as this object lives, and then removed. Its memory
// is there from the start: a file system that fills up later harms nobody who writes to it.
class SharedFile {
 public:
  // `bytes` >= 1 zero bytes in tokendraw-PID-RANDOM.rows, readable by the owner's group. Removes
  // orphans first. RESOURCE_EXHAUSTED with the size if the file system has no room; otherwise
  // errors are those of open(2), posix_fallocate(3), flock(2) and mmap(2).
  static absl::StatusOr<std::unique_ptr<SharedFile>> Create(
      std::shared_ptr<const SharedDirectory> directory, std::size_t bytes);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  const SharedDirectory& directory() const { return *directory_; }
  // Without the directory.
  const std::string& name() const { return name_; }
  std::span<std::byte> bytes() const { return bytes_; }

 private:
  SharedFile(std::shared_ptr<const SharedDirectory> directory, std::string name, int descriptor);

  const std::shared_ptr<const SharedDirectory> directory_;
  const std::string name_;
  const int descriptor_;
  std::span<std::byte> bytes_;  // empty until it is mapped
};

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_SHARED_FILE_H_
