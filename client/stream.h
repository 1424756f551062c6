// A worker's decode loop: one message a step, replies in order.
#ifndef TOKENDRAW_CLIENT_STREAM_H_
#define TOKENDRAW_CLIENT_STREAM_H_

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/row_buffer.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

class Connection;
class Deadline;
class Endpoints;
class StreamCall;

// A stream that outlives its servers: when one goes away (UNAVAILABLE), the messages that it has
// not answered are sent again, in order, to the next address. So no reply is lost or doubled, and
// since a token is a pure function of its request, rows with a seed get the same tokens wherever
// they go.
//
// Every call blocks, no longer than ClientOptions::deadline. For one thread at a time.
//
// A message that the server refuses in band (SampleTokensResponse.error) is an error of its Read or
// Step alone: with that code and text, and the stream lives on. After any other error of Read or
// Step all unanswered messages are given up (in_flight() is 0), and the next message opens a new
// stream.
class SampleStream {
 public:
  // Made by Client::OpenStream. Connects nowhere yet.
  explicit SampleStream(std::shared_ptr<Endpoints> endpoints);
  ~SampleStream();

  // Sends one message and waits for its reply, without a copy of the request; `rows` as in
  // Client::SampleTokens. FAILED_PRECONDITION if a reply is still to be read.
  absl::StatusOr<v1::SampleTokensResponse> Step(const v1::SampleTokensRequest& request,
                                                const Rows& rows = {});

  // Sends one message; Read gives its reply, and until then `rows` must not change.
  // FAILED_PRECONDITION if the server's max_in_flight messages are unanswered. An error leaves the
  // stream as it was, without this message.
  absl::Status Write(v1::SampleTokensRequest request, const Rows& rows = {});

  // The reply to the oldest unanswered message. FAILED_PRECONDITION if there is none. Rows that its
  // candidates do not decide are sent whole in calls of their own, past the stream; an error of
  // those is this message's alone.
  absl::StatusOr<v1::SampleTokensResponse> Read();

  // Ends the stream. CANCELLED if messages are unanswered; they are given up.
  absl::Status Finish();

  // Messages written and neither answered nor given up.
  std::size_t in_flight() const { return unanswered_.size(); }

 private:
  struct Message {
    std::shared_ptr<const v1::SampleTokensRequest> request;
    Rows rows;
    Payload payload = Payload::kNone;  // as it was sent
  };

  absl::Status Connect(const Deadline& deadline);
  absl::StatusOr<v1::SampleTokensResponse> Exchange(const Deadline& deadline);
  absl::Status Send(const Deadline& deadline);
  absl::StatusOr<v1::SampleTokensResponse> Answer(v1::SampleTokensResponse response,
                                                  const Deadline& deadline);
  void Disconnect();
  // Ends a stream that is due to go on elsewhere. No message is unanswered.
  void RotateIfDue(const Deadline& deadline);

  const std::shared_ptr<Endpoints> endpoints_;
  std::size_t turn_;                              // of the next connection
  std::shared_ptr<Connection> connection_;        // null or where call_ goes
  std::unique_ptr<StreamCall> call_;              // null while there is no stream
  std::chrono::steady_clock::time_point opened_;  // when it was
  std::deque<Message> unanswered_;
  std::size_t sent_ = 0;  // of unanswered_, over call_
};

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_STREAM_H_
