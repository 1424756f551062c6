// One connection to one server; private to the library.
#ifndef TOKENDRAW_CLIENT_CONNECTION_H_
#define TOKENDRAW_CLIENT_CONNECTION_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/identity.h"
#include "client/retry.h"
#include "client/row_buffer.h"
#include "tokendraw/v1/sampling.grpc.pb.h"

namespace tokendraw {

// A message on its way.
struct Outgoing {
  grpc::ByteBuffer bytes;
  Payload payload = Payload::kNone;  // of its rows
};

// A server that has told its limits. Thread-safe.
class Connection {
 public:
  // `shm_dir` as in ClientOptions. `reconnects`: the channel does, by itself.
  Connection(std::shared_ptr<grpc::Channel> channel, bool reconnects,
             v1::GetServerInfoResponse info, const std::string& shm_dir,
             std::shared_ptr<const Identity> identity);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  v1::SamplingService::Stub& stub() const { return *stub_; }
  // Before a call: adds what the server wants to see.
  void Authorize(grpc::ClientContext& context) const { identity_->Authorize(context); }
  // Messages of one stream that the server takes at a time. >= 1.
  std::size_t max_in_flight() const;

  // RESOURCE_EXHAUSTED with both numbers if a message of so many bytes is more than the server
  // takes.
  absl::Status CheckSize(std::size_t bytes) const;

  // `request` as this server takes it fastest, with `rows` (CheckRows) as its tensor if there are
  // any. Errors: those of CheckSize.
  absl::StatusOr<Outgoing> Prepare(const v1::SampleTokensRequest& request, const Rows& rows,
                                   const Deadline& deadline);

  // The directory that the server sees, too, or null. The first call proves it: the server reads a
  // small file there. Errors: those that say nothing about the directory; then the next call tries
  // again.
  absl::StatusOr<std::shared_ptr<const SharedDirectory>> FindSharedDirectory(
      const Deadline& deadline);

  // Whether `status`, the end of a message with `payload`, says that the server could not read its
  // file, proof or not: behind one name there may be another server now. Rows go inline from then
  // on.
  bool StopsSharing(const absl::Status& status, Payload payload);

  // Tells how a call or stream ended. A channel that cannot reconnect is broken by UNAVAILABLE.
  void Ended(const absl::Status& status);
  // Whether it is of no more use.
  bool broken() const { return broken_.load(std::memory_order_relaxed); }

 private:
  absl::StatusOr<bool> Sees(std::shared_ptr<const SharedDirectory> directory,
                            const Deadline& deadline);

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::SamplingService::Stub> stub_;
  const bool reconnects_;
  const v1::GetServerInfoResponse info_;
  const std::string shm_dir_;
  const std::shared_ptr<const Identity> identity_;
  std::atomic<bool> broken_ = false;
  std::mutex mutex_;
  // Guarded by mutex_. Nothing: not known yet.
  std::optional<std::shared_ptr<const SharedDirectory>> directory_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_CONNECTION_H_
