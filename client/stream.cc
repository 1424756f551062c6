#include "client/stream.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/connection.h"
#include "client/retry.h"
#include "client/status.h"
#include "client/stream_call.h"

namespace tokendraw {

SampleStream::SampleStream(std::shared_ptr<Endpoints> endpoints)
    : endpoints_(std::move(endpoints)), turn_(endpoints_->NextTurn()) {}

SampleStream::~SampleStream() = default;

absl::StatusOr<v1::SampleTokensResponse> SampleStream::Step(
    const v1::SampleTokensRequest& request) {
  if (!unanswered_.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("Step with ", unanswered_.size(), " replies to be read"));
  }
  // Points to the caller's request and owns nothing: Read leaves no message behind.
  unanswered_.emplace_back(std::shared_ptr<const void>(), &request);
  return Read();
}

absl::Status SampleStream::Write(v1::SampleTokensRequest request) {
  const Deadline deadline(endpoints_->options().deadline);
  Retry retry(endpoints_->options(), deadline);
  absl::Status status = Connect(deadline);
  while (!status.ok()) {
    if (!retry.Again(endpoints_->At(turn_), status)) return status;
    status = Connect(deadline);
  }
  if (unanswered_.size() >= connection_->max_in_flight) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server takes ", connection_->max_in_flight,
                     " messages of a stream at a time (max_in_flight): Read first"));
  }
  if (absl::Status size = connection_->CheckSize(request); !size.ok()) return size;
  unanswered_.push_back(std::make_shared<const v1::SampleTokensRequest>(std::move(request)));
  // If the stream broke just now, Read is the one to mend it.
  if (!Send(deadline).ok()) Disconnect();
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
    // A draining server may refuse a message in band; another one will take it.
    if (response.ok() && !absl::IsUnavailable(status)) {
      unanswered_.pop_front();
      --sent_;
      if (!status.ok()) return status;
      return response;
    }
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
  absl::StatusOr<std::shared_ptr<const Connection>> connection =
      endpoints_->At(turn_++).Connect(deadline);
  if (!connection.ok()) return connection.status();
  connection_ = *std::move(connection);
  call_ = std::make_unique<StreamCall>(*connection_->stub);
  return absl::OkStatus();
}

absl::Status SampleStream::Send(const Deadline& deadline) {
  for (; sent_ < unanswered_.size(); ++sent_) {
    const v1::SampleTokensRequest& request = *unanswered_[sent_];
    if (absl::Status size = connection_->CheckSize(request); !size.ok()) return size;
    if (absl::Status status = call_->Write(request, deadline); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::SampleTokensResponse> SampleStream::Exchange(const Deadline& deadline) {
  if (absl::Status status = Connect(deadline); !status.ok()) return status;
  if (absl::Status status = Send(deadline); !status.ok()) return status;
  return call_->Read(deadline);
}

void SampleStream::Disconnect() {
  call_.reset();
  connection_.reset();
  sent_ = 0;
}

}  // namespace tokendraw
