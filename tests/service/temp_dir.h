#ifndef TOKENDRAW_TESTS_SERVICE_TEMP_DIR_H_
#define TOKENDRAW_TESTS_SERVICE_TEMP_DIR_H_

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace tokendraw {

// A directory that goes with the test. Short: a socket path has at most 107 bytes.
class TempDir {
 public:
  TempDir() {
    char pattern[] = "/tmp/tokendraw.XXXXXX";
    path_ = mkdtemp(pattern);
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_TESTS_SERVICE_TEMP_DIR_H_
