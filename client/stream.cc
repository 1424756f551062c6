#include "client/stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/call.h"
#include "client/encode.h"
#include "client/endpoint.h"
#include "client/resend.h"
#include "client/retry.h"
#include "client/status.h"
#include "client/stream_call.h"

namespace tokendraw {

SampleStream::SampleStream(std::shared_ptr<Endpoints> endpoints)
    : endpoints_(std::move(endpoints)), turn_(endpoints_->NextTurn()) {}

SampleStream::~SampleStream() = default;

absl::StatusOr<v1::SampleTokensResponse> SampleStream::Step(const v1::SampleTokensRequest& request,
                                                            const Rows& rows) {
  if (!unanswered_.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("Step with ", unanswered_.size(), " replies to be read"));
  }
  if (absl::Status status = CheckRows(request, rows); !status.ok()) return status;
  RotateIfDue(Deadline(endpoints_->options().deadline));
  // Points to the caller's request and owns nothing: Read leaves no message behind.
  unanswered_.push_back({{std::shared_ptr<const void>(), &request}, rows});
  return Read();
}

absl::Status SampleStream::Write(v1::SampleTokensRequest request, const Rows& rows) {
  if (absl::Status status = CheckRows(request, rows); !status.ok()) return status;
  const Deadline deadline(endpoints_->options().deadline);
  if (unanswered_.empty()) RotateIfDue(deadline);
  Retry retry(endpoints_->options(), deadline);
  absl::Status status = Connect(deadline);
  while (!status.ok()) {
    if (!retry.Again(endpoints_->At(turn_), status)) return status;
    status = Connect(deadline);
  }
  if (unanswered_.size() >= connection_->max_in_flight()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server takes ", connection_->max_in_flight(),
                     " messages of a stream at a time (max_in_flight): Read first"));
  }
  const bool sound = Send(deadline).ok();
  unanswered_.push_back(
      {std::make_shared<const v1::SampleTokensRequest>(std::move(request)), rows});
  if (sound) status = Send(deadline);
  if (absl::IsResourceExhausted(status)) {
    unanswered_.pop_back();
    return status;
  }
  // If the stream broke just now, Read is the one to mend it.
  if (!sound || !status.ok()) Disconnect();
  return absl::OkStatus();
}

absl::StatusOr<v1::SampleTokensResponse> SampleStream::Read() {
  if (unanswered_.empty()) return absl::FailedPreconditionError("no message is unanswered");
  const Deadline deadline(endpoints_->options().deadline);
  Retry retry(endpoints_->options(), deadline);
  // The end of a stream that was open says nothing about the address: it is no attempt.
  bool was_open = call_ != nullptr;
  for (;;) {
    absl::StatusOr<v1::SampleTokensResponse> response = Exchange(deadline);
    absl::Status status = response.ok() ? ErrorOf(*response) : response.status();
    const bool refused = response.ok() && !status.ok() && !absl::IsUnavailable(status);
    if (response.ok() && status.ok()) return Answer(*std::move(response), deadline);
    if (refused) {  // this message alone
      if (connection_->StopsSharing(status, unanswered_.front().payload) ||
          retry.Again(endpoints_->At(turn_), status)) {
        Disconnect();
        continue;
      }
      unanswered_.pop_front();
      --sent_;
      return status;
    }
    // The stream is over, or its server drains: another one will take the messages.
    if (connection_ != nullptr) connection_->Ended(status);
    Disconnect();
    if (std::exchange(was_open, false) && absl::IsUnavailable(status)) continue;
    if (!retry.Again(endpoints_->At(turn_), status)) {
      unanswered_.clear();
      return status;
    }
  }
}

absl::Status SampleStream::Finish() {
  const std::size_t given_up = unanswered_.size();
  absl::Status status;
  if (given_up > 0) {
    status = absl::CancelledError(absl::StrCat(given_up, " messages were unanswered"));
  } else if (call_ != nullptr) {
    status = call_->Finish(Deadline(endpoints_->options().deadline));
    // The server had gone already, and owed nothing.
    if (absl::IsUnavailable(status)) status = absl::OkStatus();
  }
  Disconnect();
  unanswered_.clear();
  return status;
}

absl::Status SampleStream::Connect(const Deadline& deadline) {
  if (call_ != nullptr) return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<Connection>> connection =
      endpoints_->At(turn_++).Connect(deadline);
  if (!connection.ok()) return connection.status();
  connection_ = *std::move(connection);
  call_ = std::make_unique<StreamCall>(*connection_);
  opened_ = std::chrono::steady_clock::now();
  return absl::OkStatus();
}

void SampleStream::RotateIfDue(const Deadline& deadline) {
  const std::chrono::milliseconds most = endpoints_->options().stream_rotation;
  if (call_ == nullptr || most == most.zero()) return;
  if (std::chrono::steady_clock::now() - opened_ < most) return;
  (void)call_->Finish(deadline);  // it owes nothing, however it ends
  Disconnect();
}

absl::Status SampleStream::Send(const Deadline& deadline) {
  for (; sent_ < unanswered_.size(); ++sent_) {
    Message& message = unanswered_[sent_];
    const absl::StatusOr<Outgoing> outgoing =
        connection_->Prepare(*message.request, message.rows, deadline);
    if (!outgoing.ok()) return outgoing.status();
    message.payload = outgoing->payload;
    if (absl::Status status = call_->Write(outgoing->bytes, deadline); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::SampleTokensResponse> SampleStream::Exchange(const Deadline& deadline) {
  if (absl::Status status = Connect(deadline); !status.ok()) return status;
  if (absl::Status status = Send(deadline); !status.ok()) return status;
  return call_->Read(deadline);
}

// What Read gives for `response` to the oldest message.
absl::StatusOr<v1::SampleTokensResponse> SampleStream::Answer(v1::SampleTokensResponse response,
                                                              const Deadline& deadline) {
  const Message message = std::move(unanswered_.front());
  unanswered_.pop_front();
  --sent_;
  const auto send = [&](const v1::SampleTokensRequest& part, const Rows& rows) {
    return SampleTokens(*endpoints_, turn_ - 1, deadline, part, rows);
  };
  return WithWholeRows(*message.request, message.rows, std::move(response), send);
}

void SampleStream::Disconnect() {
  call_.reset();
  connection_.reset();
  sent_ = 0;
}

}  // namespace tokendraw
