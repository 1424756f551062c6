// What a client needs to know before its first call.
#ifndef TOKENDRAW_CLIENT_OPTIONS_H_
#define TOKENDRAW_CLIENT_OPTIONS_H_

#include <chrono>
#include <string>
#include <vector>

namespace tokendraw {

struct ClientOptions {
  // The servers, each "unix:PATH" or "HOST:PORT". Calls rotate over them, and over all addresses
  // that a HOST resolves to. At least one.
  std::vector<std::string> addresses;

  // Longest time of one call or one step of a stream, retries included. (0, 24 h].
  std::chrono::milliseconds deadline = std::chrono::seconds(30);

  // true: a call that no server takes (UNAVAILABLE), or that the server advises to repeat
  // (RESOURCE_EXHAUSTED with a pause), is tried again until the deadline. false: each address is
  // tried once, without a pause.
  bool wait_for_ready = true;

  // Where this process sees the directory that a server on this host takes rows from (--shm_dir),
  // if that is not where the server sees it (GetServerInfo.shared_memory_dir). Empty: the same
  // path. That both see one directory is proven before it is used; otherwise rows go inline.
  std::string shm_dir;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_OPTIONS_H_
