// The client of a sampling service:
//
//   absl::StatusOr<std::unique_ptr<tokendraw::Client>> client =
//       tokendraw::Client::Create({.addresses = {"unix:/run/tokendraw/tokendraw.sock"}});
//   tokendraw::v1::SampleTokensRequest request;
//   tokendraw::SetInlineLogits(bytes, tokendraw::v1::DATA_TYPE_F32, vocab_size, rows,
//                              *request.mutable_logits());
//   absl::StatusOr<tokendraw::v1::SampleTokensResponse> response =
//   (*client)->SampleTokens(request);
//
// Rows go the fastest way if they are written where the library wants them:
//
//   absl::StatusOr<std::shared_ptr<tokendraw::RowBuffer>> buffer =
//       (*client)->CreateRowBuffer(bytes);
//   ...  // logits to (*buffer)->bytes(); vocab_size, row_count and data_type to request.logits
//   (*client)->SampleTokens(request, {*buffer});
#ifndef TOKENDRAW_CLIENT_CLIENT_H_
#define TOKENDRAW_CLIENT_CLIENT_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/options.h"
#include "client/row_buffer.h"
#include "client/stream.h"
#include "client/tensor.h"
#include "tokendraw/v1/sampling.pb.h"

namespace tokendraw {

class Endpoints;

// Thread-safe. All calls block, no longer than ClientOptions::deadline.
//
// Errors are the server's own, save: UNAVAILABLE is tried again at the next address and, with
// ClientOptions::wait_for_ready, ends in DEADLINE_EXCEEDED; a request larger than the server's
// max_message_bytes is RESOURCE_EXHAUSTED with both numbers and is not sent. The first call to each
// address is preceded by one GetServerInfo, which tells the limits.
class Client {
 public:
  // Connects nowhere yet. INVALID_ARGUMENT if an option is outside its range.
  static absl::StatusOr<std::unique_ptr<Client>> Create(const ClientOptions& options);

  ~Client();

  // Memory for rows: a file in the directory that this process shares with one of the servers if
  // there is such a one, otherwise memory of this process. Asks the servers, with retries, so that
  // one of them must be up. `bytes` >= 1; RESOURCE_EXHAUSTED with the size if there is no room.
  absl::StatusOr<std::shared_ptr<RowBuffer>> CreateRowBuffer(std::size_t bytes);

  // One batch. A retry repeats the request as it is: rows with a seed get the same tokens.
  //
  // With `rows`, those are the tensor of request.logits, which has shape and data_type but no
  // payload. From 64 KiB on they stay where they are if this server shares the buffer's directory;
  // otherwise they go inline, without a copy. RowBuffer::last_payload says which it was.
  // INVALID_ARGUMENT if they are not within the buffer.
  //
  // With `rows` and request.logits.candidates, the candidates are sent, and of `rows` only those
  // that the server answers with NEED_FULL_ROW: the reply is as if they had all been decided at
  // once.
  absl::StatusOr<v1::SampleTokensResponse> SampleTokens(const v1::SampleTokensRequest& request,
                                                        const Rows& rows = {});

  // All violations of parameter sets; violations are not an error.
  absl::StatusOr<v1::ValidateParamsResponse> ValidateParams(
      const v1::ValidateParamsRequest& request);

  // What each stage did to one row.
  absl::StatusOr<v1::ExplainRowResponse> ExplainRow(const v1::ExplainRowRequest& request);

  // Versions and limits of the server whose turn it is.
  absl::StatusOr<v1::GetServerInfoResponse> GetServerInfo();

  // Whether the server whose turn it is serves `service`, by the standard health protocol: from its
  // start until it drains. The empty name is its process. NOT_FOUND for another name.
  absl::StatusOr<bool> CheckHealth(const std::string& service = "tokendraw.v1.SamplingService");

  // A stream for one thread's decode loop. It may outlive the client.
  std::unique_ptr<SampleStream> OpenStream();

 private:
  explicit Client(std::shared_ptr<Endpoints> endpoints);

  const std::shared_ptr<Endpoints> endpoints_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_CLIENT_H_
