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

  // true: a call that no server takes (UNAVAILABLE) is tried again until the deadline. false: each
  // address is tried once, without a pause.
  bool wait_for_ready = true;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_OPTIONS_H_
