#include "tests/client/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tokendraw {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::string Contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

Process::Process(const std::vector<std::string>& words) {
  int pipe[2];
  if (pipe2(pipe, O_CLOEXEC) != 0) std::abort();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  if (posix_spawn(&pid_, words[0].c_str(), &actions, nullptr, Pointers(words).data(), environ)) {
    std::abort();
  }
  posix_spawn_file_actions_destroy(&actions);
  close(pipe[1]);
  out_ = pipe[0];
}

std::string Process::ReadLine() {
  std::string line;
  for (char c; read(out_, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

void Process::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  close(out_);
  pid_ = -1;
}

Finished RunProgram(const std::vector<std::string>& words, const std::string& input,
                    const std::vector<std::string>& environment) {
  // Files instead of pipes: no end can block the other.
  std::string name = (std::filesystem::temp_directory_path() / "tokendraw.XXXXXX").string();
  const std::filesystem::path directory = mkdtemp(name.data());
  std::ofstream(directory / "in", std::ios::binary) << input;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto open = [&](int fd, const char* file, int flags) {
    posix_spawn_file_actions_addopen(&actions, fd, (directory / file).c_str(), flags, 0600);
  };
  open(STDIN_FILENO, "in", O_RDONLY);
  open(STDOUT_FILENO, "out", O_WRONLY | O_CREAT);
  open(STDERR_FILENO, "err", O_WRONLY | O_CREAT);
  std::vector<std::string> variables = environment;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  pid_t pid;
  Finished finished;
  if (posix_spawn(&pid, words[0].c_str(), &actions, nullptr, Pointers(words).data(),
                  Pointers(variables).data()) == 0) {
    int status = 0;
    waitpid(pid, &status, 0);
    finished = {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                Contents(directory / "out"), Contents(directory / "err")};
  }
  posix_spawn_file_actions_destroy(&actions);
  std::filesystem::remove_all(directory);
  return finished;
}

}  // namespace tokendraw
