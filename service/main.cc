// tokendrawd: the sampling server.
#include <google/protobuf/stubs/logging.h>
#include <malloc.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "service/log.h"
#include "service/options.h"
#include "service/server.h"
#include "service/version.h"

namespace {

// glibc gives large freed blocks back to the kernel, and every message page-faults them in again:
// ten times slower at 39 MB a message. The memory that is kept is bounded by --max_queued_bytes.
void KeepFreedMemory() {
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
}

// A descriptor that becomes readable on SIGTERM and SIGINT. Call it before there are threads: they
// inherit the blocked signals.
int CatchTermination() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return signalfd(-1, &signals, SFD_CLOEXEC);
}

const char* WaitForTermination(int fd) {
  signalfd_siginfo info = {};
  while (read(fd, &info, sizeof(info)) != sizeof(info)) {
  }
  return info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT";
}

void Announce(const tokendraw::Options& options, const tokendraw::Server& server,
              tokendraw::Log& log) {
  std::vector<tokendraw::LogField> fields = {{"version", std::string(tokendraw::kVersion)}};
  if (!server.metrics_address().empty()) fields.push_back({"metrics", server.metrics_address()});
  log.Info(absl::StrCat("serving on ", absl::StrJoin(server.addresses(), ", ")), fields);
  if (options.allow_insecure && options.tls_cert.empty()) {
    log.Warning("--allow_insecure: logits and tokens cross the network in the clear");
  }
}

}  // namespace

int main(int argc, char** argv) {
  KeepFreedMemory();
  // Protobuf's complaints about a message go to its sender; on stderr they would be anybody's to
  // flood.
  google::protobuf::SetLogHandler(nullptr);
  const int termination = CatchTermination();
  const std::vector<std::string> args(argv + 1, argv + argc);
  const absl::StatusOr<tokendraw::CommandLine> command =
      tokendraw::ParseCommandLine(args, [](const char* name) { return std::getenv(name); });
  if (!command.ok()) {
    std::fprintf(stderr, "tokendrawd: %s\n", std::string(command.status().message()).c_str());
    return 2;
  }
  if (command->print) {
    std::fputs(command->print->c_str(), stdout);
    return 0;
  }
  tokendraw::Log log(command->options, stderr);
  const absl::StatusOr<std::unique_ptr<tokendraw::Server>> server =
      tokendraw::Server::Start(command->options, log);
  if (!server.ok()) {
    log.Warning(std::string(server.status().message()));
    return 1;
  }
  Announce(command->options, **server, log);
  log.Info("draining", {{"signal", std::string(WaitForTermination(termination))}});
  (*server)->Drain();
  (*server)->RemoveSockets();
  log.Info("drained");
  // Not through ~Server: gRPC 1.51 ends calls that arrive during its shutdown as CANCELLED, which
  // callers may not retry. When the kernel closes the connections they are UNAVAILABLE.
  std::fflush(nullptr);
  _exit(0);
}
