// Other programs, run by a test.
#ifndef TOKENDRAW_TESTS_CLIENT_PROCESS_H_
#define TOKENDRAW_TESTS_CLIENT_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace tokendraw {

// A program with a pipe from its standard output; killed (SIGKILL) at the latest on destruction.
class Process {
 public:
  explicit Process(const std::vector<std::string>& words);
  ~Process() { Kill(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // The next line that it prints, without the newline; waits for it. "" at the end of its output.
  std::string ReadLine();

  // Returns when it is dead.
  void Kill();

 private:
  pid_t pid_ = -1;
  int out_ = -1;
};

struct Finished {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// Runs a program to its end, with `input` as its standard input and `environment` ("NAME=value")
// beside the test's own.
Finished RunProgram(const std::vector<std::string>& words, const std::string& input = "",
                    const std::vector<std::string>& environment = {});

}  // namespace tokendraw

#endif  // TOKENDRAW_TESTS_CLIENT_PROCESS_H_
