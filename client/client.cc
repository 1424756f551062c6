#include "client/client.h"

#include <grpcpp/grpcpp.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/call.h"
#include "client/endpoint.h"
#include "client/retry.h"
#include "client/status.h"

namespace tokendraw {
namespace {

template <typename Request, typename Response>
using Method = grpc::Status (v1::SamplingService::Stub::*)(grpc::ClientContext*, const Request&,
                                                           Response*);

template <typename Request, typename Response>
absl::StatusOr<Response> Call(Endpoints& endpoints, Method<Request, Response> method,
                              const Request& request) {
  const Deadline deadline(endpoints.options().deadline);
  const auto attempt = [&](Connection& connection, std::size_t) -> absl::StatusOr<Response> {
    if (absl::Status size = connection.CheckSize(request.ByteSizeLong()); !size.ok()) return size;
    grpc::ClientContext context;
    context.set_deadline(deadline.ForGrpc());
    connection.Authorize(context);
    Response response;
    const grpc::Status status = (connection.stub().*method)(&context, request, &response);
    if (!status.ok()) return EndOf(context, status);
    return response;
  };
  return CallWithRetries(endpoints, endpoints.NextTurn(), deadline, attempt);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Create(const ClientOptions& options) {
  if (options.addresses.empty()) {
    return absl::InvalidArgumentError("addresses must not be empty");
  }
  for (const std::string& address : options.addresses) {
    // gRPC would take a bare word for a host, at port 443.
    if (address.find(':') == std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("an address must be unix:PATH or HOST:PORT, not \"", address, "\""));
    }
  }
  if (options.deadline <= std::chrono::milliseconds::zero() ||
      options.deadline > std::chrono::hours(24)) {
    return absl::InvalidArgumentError("deadline must be in (0, 24 h]");
  }
  if (options.hedge_delay < std::chrono::milliseconds::zero()) {
    return absl::InvalidArgumentError("hedge_delay must be >= 0");
  }
  if (options.stream_rotation < std::chrono::milliseconds::zero()) {
    return absl::InvalidArgumentError("stream_rotation must be >= 0");
  }
  absl::StatusOr<std::shared_ptr<Identity>> identity = Identity::Create(options);
  if (!identity.ok()) return identity.status();
  return std::unique_ptr<Client>(
      new Client(std::make_shared<Endpoints>(options, *std::move(identity))));
}

Client::Client(std::shared_ptr<Endpoints> endpoints) : endpoints_(std::move(endpoints)) {}

Client::~Client() = default;

absl::StatusOr<std::shared_ptr<RowBuffer>> Client::CreateRowBuffer(std::size_t bytes) {
  using Directory = std::shared_ptr<const SharedDirectory>;
  if (bytes == 0) return absl::InvalidArgumentError("bytes must be >= 1");
  const Deadline deadline(endpoints_->options().deadline);
  const auto find = [&](Connection& connection, std::size_t) {
    return connection.FindSharedDirectory(deadline);
  };
  // One server must answer; the others are asked as they are.
  absl::StatusOr<Directory> directory =
      CallWithRetries(*endpoints_, endpoints_->NextTurn(), deadline, find);
  if (!directory.ok()) return directory.status();
  for (std::size_t turn = 0; *directory == nullptr && turn < endpoints_->size(); ++turn) {
    const auto connection = endpoints_->At(turn).Connect(deadline);
    if (!connection.ok()) continue;
    if (absl::StatusOr<Directory> other = find(**connection, turn); other.ok()) directory = other;
  }
  return RowBuffer::Create(*std::move(directory), bytes);
}

absl::StatusOr<v1::SampleTokensResponse> Client::SampleTokens(
    const v1::SampleTokensRequest& request, const Rows& rows) {
  return tokendraw::SampleTokens(*endpoints_, endpoints_->NextTurn(),
                                 Deadline(endpoints_->options().deadline), request, rows);
}

absl::StatusOr<v1::ValidateParamsResponse> Client::ValidateParams(
    const v1::ValidateParamsRequest& request) {
  return Call(*endpoints_, &v1::SamplingService::Stub::ValidateParams, request);
}

absl::StatusOr<v1::ExplainRowResponse> Client::ExplainRow(const v1::ExplainRowRequest& request) {
  return Call(*endpoints_, &v1::SamplingService::Stub::ExplainRow, request);
}

absl::StatusOr<v1::GetServerInfoResponse> Client::GetServerInfo() {
  return Call(*endpoints_, &v1::SamplingService::Stub::GetServerInfo, v1::GetServerInfoRequest());
}

absl::StatusOr<bool> Client::CheckHealth(const std::string& service) {
  const Deadline deadline(endpoints_->options().deadline);
  const auto ask = [&](const Endpoint& endpoint, std::size_t) {
    return endpoint.Serves(service, deadline);
  };
  return WithRetries(*endpoints_, endpoints_->NextTurn(), deadline, ask);
}

std::unique_ptr<SampleStream> Client::OpenStream() {
  return std::make_unique<SampleStream>(endpoints_);
}

}  // namespace tokendraw
