// One StreamSampleTokens call: a worker's decode loop.
#ifndef TOKENDRAW_SERVICE_SAMPLE_STREAM_H_
#define TOKENDRAW_SERVICE_SAMPLE_STREAM_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

#include "absl/time/time.h"
#include "service/active_calls.h"
#include "service/dispatcher.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

// Reads a message, dispatches it, writes its reply; replies keep the order of the messages. At most
// `max_in_flight` messages are taken at a time: the next one is read when the reply of the oldest
// has been taken by the transport. At most one read and one write are outstanding. Deletes itself.
class SampleStream final
    : public grpc::ServerBidiReactor<v1::SampleTokensRequest, v1::SampleTokensResponse>,
      public ActiveStream {
 public:
  static SampleStream* Start(grpc::CallbackServerContext* context, size_t max_in_flight,
                             Dispatcher& dispatcher, ActiveCalls& calls);

  void Drain() override;
  bool StalledSince(absl::Time before) override;
  void Cancel() override;

  // Reactions of gRPC.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  // A message that was read and not yet replied to.
  struct InFlight {
    v1::SampleTokensRequest request;
    v1::SampleTokensResponse response;
    bool answered = false;
  };

  SampleStream(grpc::CallbackServerContext* context, size_t max_in_flight, Dispatcher& dispatcher,
               ActiveCalls& calls);

  void Answer(InFlight& message, const absl::Status& status);
  // Starts whatever may start now: the next read, the next write, or the end. With mutex_ held.
  void Advance();

  grpc::CallbackServerContext* const context_;
  const size_t max_in_flight_;
  Dispatcher& dispatcher_;
  ActiveCalls& calls_;

  std::mutex mutex_;                                 // guards what stands below
  std::deque<std::unique_ptr<InFlight>> in_flight_;  // oldest first
  std::unique_ptr<InFlight> next_;                   // being read
  bool reading_ = false;
  bool writing_ = false;
  absl::Time write_started_;
  bool no_more_reads_ = false;  // the client has sent its last message
  bool broken_ = false;         // the call was cancelled or its peer is gone
  bool draining_ = false;
  bool finished_ = false;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_SAMPLE_STREAM_H_
