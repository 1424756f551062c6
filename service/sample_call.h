// One SampleTokens call.
#ifndef TOKENDRAW_SERVICE_SAMPLE_CALL_H_
#define TOKENDRAW_SERVICE_SAMPLE_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>

#include <atomic>

#include "service/clock.h"
#include "service/hot_calls.h"
#include "service/received_request.h"

namespace tokendraw {

// Waits for a client; when one calls, lets the next object wait. Active until its status has left.
// Deletes itself.
class SampleCall {
 public:
  static void Await(const HotCalls& hot);

 private:
  explicit SampleCall(const HotCalls& hot) : hot_(hot) {}

  void OnCalled(bool ok);
  void Answer(const absl::Status& status);
  void OnEnd();  // of three: the call, the answering, and the sending of the answer

  const HotCalls hot_;
  const CallQueue::Use use_{hot_.queue};
  grpc::ServerContext context_;
  grpc::ByteBuffer bytes_;
  grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> writer_{&context_};
  ReceivedRequest request_;
  v1::SampleTokensResponse response_;
  Clock::time_point begun_;
  bool is_active_ = false;
  std::atomic<bool> cancelled_ = false;
  std::atomic<int> ends_left_ = 3;

  Operation called_{[this](bool ok) { OnCalled(ok); }};
  Operation sent_{[this](bool) { OnEnd(); }};
  Operation done_{[this](bool) {
    cancelled_ = context_.IsCancelled();
    OnEnd();
  }};
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_SAMPLE_CALL_H_
