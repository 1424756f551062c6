// The client of a sampling service:
//
//   absl::StatusOr<std::unique_ptr<tokendraw::Client>> client =
//       tokendraw::Client::Create({.addresses = {"unix:/run/tokendraw/tokendraw.sock"}});
//   tokendraw::v1::SampleTokensRequest request;
//   tokendraw::SetInlineLogits(bytes, tokendraw::v1::DATA_TYPE_F32, vocab_size, rows,
//                              *request.mutable_logits());
//   absl::StatusOr<tokendraw::v1::SampleTokensResponse> response =
//   (*client)->SampleTokens(request);
#ifndef TOKENDRAW_CLIENT_CLIENT_H_
#define TOKENDRAW_CLIENT_CLIENT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "client/options.h"
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

  // One batch. A retry repeats the request as it is: rows with a seed get the same tokens.
  absl::StatusOr<v1::SampleTokensResponse> SampleTokens(const v1::SampleTokensRequest& request);

  // All violations of parameter sets; violations are not an error.
  absl::StatusOr<v1::ValidateParamsResponse> ValidateParams(
      const v1::ValidateParamsRequest& request);

  // Versions and limits of the server whose turn it is.
  absl::StatusOr<v1::GetServerInfoResponse> GetServerInfo();

  // A stream for one thread's decode loop. It may outlive the client.
  std::unique_ptr<SampleStream> OpenStream();

 private:
  explicit Client(std::shared_ptr<Endpoints> endpoints);

  const std::shared_ptr<Endpoints> endpoints_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_CLIENT_CLIENT_H_
