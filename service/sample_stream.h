// One StreamSampleTokens call: a worker's decode loop.
#ifndef TOKENDRAW_SERVICE_SAMPLE_STREAM_H_
#define TOKENDRAW_SERVICE_SAMPLE_STREAM_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "service/clock.h"
#include "service/hot_calls.h"
#include "service/received_request.h"

namespace tokendraw {

// Waits for a client; when one calls, lets the next object wait. Then reads a message, dispatches
// it, writes its reply; replies keep the order of the messages. At most `max_in_flight` messages
// are taken at a time: the next one is read when the reply of the oldest has been taken by the
// transport. At most one read and one write are outstanding. Deletes itself.
class SampleStream final : public ActiveStream {
 public:
  static void Await(const HotCalls& hot);

  void Drain() override;
  bool StalledSince(Clock::time_point before) override;
  void Cancel() override;

 private:
  // A message that was read and not yet replied to.
  struct InFlight {
    grpc::ByteBuffer bytes;
    ReceivedRequest request;
    v1::SampleTokensResponse response;
    Clock::time_point begun;
    bool answered = false;
  };

  explicit SampleStream(const HotCalls& hot) : hot_(hot) {}

  void OnCalled(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnDone();

  void Dispatch(InFlight& message);
  void Answer(InFlight& message, const absl::Status& status);
  // Starts whatever may start now: the next read, the next write, or the end. With mutex_ held.
  void Advance();
  // Of an operation that ended and started nothing. The object may be gone after it.
  void EndOperation();

  const HotCalls hot_;
  const CallQueue::Use use_{hot_.queue};
  grpc::ServerContext context_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_{&context_};

  std::mutex mutex_;                                 // guards what stands below
  std::deque<std::unique_ptr<InFlight>> in_flight_;  // oldest first
  std::unique_ptr<InFlight> next_;                   // being read
  int operations_ = 2;  // not ended; two are the call itself and the sending of its status
  bool reading_ = false;
  bool writing_ = false;
  Clock::time_point write_started_;
  bool no_more_reads_ = false;        // the client has sent its last message
  std::atomic<bool> broken_ = false;  // the call was cancelled or its peer is gone
  bool draining_ = false;
  absl::Status refused_;  // not OK: the caller may not use this server
  bool finished_ = false;

  Operation called_{[this](bool ok) { OnCalled(ok); }};
  Operation opened_{[this](bool) { EndOperation(); }};
  Operation read_{[this](bool ok) { OnRead(ok); }};
  Operation written_{[this](bool ok) { OnWritten(ok); }};
  Operation sent_{[this](bool) { EndOperation(); }};
  Operation done_{[this](bool) { OnDone(); }};
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_SAMPLE_STREAM_H_
