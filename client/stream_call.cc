#include "client/stream_call.h"

#include <cstdint>
#include <utility>

#include "client/raw_stub.h"
#include "client/status.h"

namespace tokendraw {

StreamCall::StreamCall(const Connection& connection) {
  connection.Authorize(context_);
  stream_ = RawStub(connection.channel()).PrepareCall(&context_, kStreamSampleTokens, &queue_);
  stream_->StartCall(Begin(kStart));
}

StreamCall::~StreamCall() {
  context_.TryCancel();
  queue_.Shutdown();
  void* tag;
  bool ok;
  while (queue_.Next(&tag, &ok)) {
  }
}

absl::Status StreamCall::Write(const grpc::ByteBuffer& request, const Deadline& deadline) {
  if (absl::Status status = Await(kStart, deadline); !status.ok()) return status;
  if (absl::Status status = Await(kWrite, deadline); !status.ok()) return status;
  if (!failed_[kStart] && !failed_[kWrite]) stream_->Write(request, Begin(kWrite));
  return absl::OkStatus();
}

absl::StatusOr<v1::SampleTokensResponse> StreamCall::Read(const Deadline& deadline) {
  stream_->Read(&response_, Begin(kRead));
  if (absl::Status status = Await(kRead, deadline); !status.ok()) return status;
  if (failed_[kRead]) return ServerStatus(deadline);
  return std::move(response_);
}

absl::Status StreamCall::Finish(const Deadline& deadline) {
  if (absl::Status status = Await(kStart, deadline); !status.ok()) return status;
  if (absl::Status status = Await(kWrite, deadline); !status.ok()) return status;
  if (!failed_[kStart] && !failed_[kWrite]) {
    stream_->WritesDone(Begin(kWrite));
    if (absl::Status status = Await(kWrite, deadline); !status.ok()) return status;
  }
  stream_->Finish(&status_, Begin(kFinish));
  if (absl::Status status = Await(kFinish, deadline); !status.ok()) return status;
  return ToAbslStatus(status_);
}

void* StreamCall::Begin(Operation operation) {
  running_[operation] = true;
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(operation));
}

absl::Status StreamCall::Await(Operation operation, const Deadline& deadline) {
  while (running_[operation]) {
    void* tag;
    bool ok;
    if (queue_.AsyncNext(&tag, &ok, deadline.ForGrpc()) != grpc::CompletionQueue::GOT_EVENT) {
      return absl::DeadlineExceededError("the deadline passed before the server's reply");
    }
    const auto done = static_cast<Operation>(reinterpret_cast<std::uintptr_t>(tag));
    running_[done] = false;
    failed_[done] = !ok;
  }
  return absl::OkStatus();
}

absl::Status StreamCall::ServerStatus(const Deadline& deadline) {
  stream_->Finish(&status_, Begin(kFinish));
  if (absl::Status status = Await(kFinish, deadline); !status.ok()) return status;
  if (status_.ok()) return absl::UnavailableError("the server ended the stream");
  return ToAbslStatus(status_);
}

}  // namespace tokendraw
