#include "client/connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/encode.h"
#include "client/shared_file.h"
#include "client/status.h"

namespace tokendraw {
namespace {

// Smaller tensors go inline: opening the file costs more than sending them.
constexpr std::size_t kLeastSharedBytes = 64 * 1024;

}  // namespace

Connection::Connection(std::shared_ptr<grpc::Channel> channel, bool reconnects,
                       v1::GetServerInfoResponse info, const std::string& shm_dir,
                       std::shared_ptr<const Identity> identity)
    : channel_(std::move(channel)),
      stub_(v1::SamplingService::NewStub(channel_)),
      reconnects_(reconnects),
      info_(std::move(info)),
      shm_dir_(shm_dir.empty() ? info_.shared_memory_dir() : shm_dir),
      identity_(std::move(identity)) {}

std::size_t Connection::max_in_flight() const {
  return static_cast<std::size_t>(std::max(info_.max_in_flight(), 1));
}

absl::Status Connection::CheckSize(std::size_t bytes) const {
  const std::int64_t most = info_.max_message_bytes();
  if (most <= 0 || bytes <= static_cast<std::uint64_t>(most)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("the request has ", bytes,
                                                   " bytes, the server takes at most ", most,
                                                   " (max_message_bytes)"));
}

absl::StatusOr<Outgoing> Connection::Prepare(const v1::SampleTokensRequest& request,
                                             const Rows& rows, const Deadline& deadline) {
  Outgoing message;
  if (rows.buffer == nullptr || request.logits().has_candidates()) {
    message.bytes = Encode(request);
  } else {
    message.payload = Payload::kInline;
    const SharedFile* const file = rows.buffer->file();
    if (file != nullptr && TensorBytes(request.logits()) >= kLeastSharedBytes) {
      // Whatever kept the proof from being made, the message itself will meet.
      const auto directory = FindSharedDirectory(deadline);
      if (directory.ok() && *directory != nullptr && file->directory().Is(**directory)) {
        message.payload = Payload::kSharedMemory;
      }
    }
    message.bytes = message.payload == Payload::kSharedMemory ? EncodeShared(request, rows)
                                                              : EncodeInline(request, rows);
  }
  if (absl::Status size = CheckSize(message.bytes.Length()); !size.ok()) return size;
  if (message.payload != Payload::kNone) rows.buffer->set_last_payload(message.payload);
  return message;
}

absl::StatusOr<std::shared_ptr<const SharedDirectory>> Connection::FindSharedDirectory(
    const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  if (directory_.has_value()) return *directory_;
  lock.unlock();  // each caller has its own deadline
  std::shared_ptr<const SharedDirectory> found;
  if (info_.shared_memory() && !shm_dir_.empty()) {
    if (auto directory = SharedDirectory::Open(shm_dir_); directory.ok()) {
      const absl::StatusOr<bool> sees = Sees(*directory, deadline);
      if (!sees.ok()) return sees.status();
      if (*sees) found = *directory;
    }
  }
  lock.lock();
  if (!directory_.has_value()) directory_ = std::move(found);
  return *directory_;
}

bool Connection::StopsSharing(const absl::Status& status, Payload payload) {
  if (payload != Payload::kSharedMemory) return false;
  if (!absl::IsInvalidArgument(status) && !absl::IsUnimplemented(status)) return false;
  if (!absl::StrContains(status.message(), "logits.shared_memory")) return false;
  const std::lock_guard lock(mutex_);
  directory_ = nullptr;
  return true;
}

void Connection::Ended(const absl::Status& status) {
  if (!reconnects_ && absl::IsUnavailable(status)) broken_ = true;
}

// Lets the server draw from a row of one logit in a new file, whose random name is the proof.
absl::StatusOr<bool> Connection::Sees(std::shared_ptr<const SharedDirectory> directory,
                                      const Deadline& deadline) {
  const float logit = 0;
  const auto file = SharedFile::Create(std::move(directory), sizeof(logit));
  if (absl::IsResourceExhausted(file.status())) return file.status();
  if (!file.ok()) return false;
  std::memcpy((*file)->bytes().data(), &logit, sizeof(logit));
  v1::SampleTokensRequest request;
  request.mutable_logits()->set_vocab_size(1);
  request.mutable_logits()->set_row_count(1);
  request.mutable_logits()->set_data_type(v1::DATA_TYPE_F32);
  request.mutable_logits()->mutable_shared_memory()->set_name((*file)->name());

  grpc::ClientContext context;
  context.set_deadline(deadline.ForGrpc());
  Authorize(context);
  v1::SampleTokensResponse response;
  absl::Status status = EndOf(context, stub_->SampleTokens(&context, request, &response));
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
      absl::IsResourceExhausted(status)) {
    return status;
  }
  return status.ok() && response.row_errors().empty();
}

}  // namespace tokendraw
