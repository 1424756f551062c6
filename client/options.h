// What a client needs to know before its first call.
#ifndef TOKENDRAW_CLIENT_OPTIONS_H_
#define TOKENDRAW_CLIENT_OPTIONS_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tokendraw {

// PEM files, which are read again when they have changed.
struct TlsOptions {
  // Authority of the servers' certificates. Empty: the system's.
  std::string ca_file;
  // This client's certificate chain and key, for servers that ask for one; both or none.
  std::string cert_file;
  std::string key_file;
  // The name that servers' certificates must have. Empty: the HOST of the address.
  std::string server_name;
};

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

  // For addresses with a port. Nothing: no TLS.
  std::optional<TlsOptions> tls;

  // File whose first word goes with every call as `authorization: Bearer TOKEN`. Empty: none.
  std::string token_file;

  // A call of Client::SampleTokens that is not answered after so long is also made at the next
  // address, and the first answer counts: the same tokens, if every row has a seed. Other calls are
  // not made twice. 0: never.
  std::chrono::milliseconds hedge_delay{0};

  // A stream that is older goes on at the next address, between two steps: streams that live for
  // days would never use a replica that came later. 0: never.
  std::chrono::milliseconds stream_rotation{0};

  // Where this process sees the directory that a server on this host takes rows from (--shm_dir),
  // if that is not where the server sees it (GetServerInfo.shared_memory_dir). Empty: the same
  // path. That both see one directory is proven before it is used; otherwise rows go inline.
  std::string shm_dir;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_OPTIONS_H_
