#include "client/client.h"

#include <grpcpp/grpcpp.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/connection.h"
#include "client/retry.h"
#include "client/status.h"

namespace tokendraw {
namespace {

template <typename Request, typename Response>
using Method = grpc::Status (v1::SamplingService::Stub::*)(grpc::ClientContext*, const Request&,
                                                           Response*);

template <typename Request, typename Response>
absl::StatusOr<Response> Attempt(Endpoint& endpoint, const Deadline& deadline,
                                 Method<Request, Response> method, const Request& request) {
  absl::StatusOr<std::shared_ptr<const Connection>> connection = endpoint.Connect(deadline);
  if (!connection.ok()) return connection.status();
  if (absl::Status size = (*connection)->CheckSize(request); !size.ok()) return size;

  grpc::ClientContext context;
  context.set_deadline(deadline.ForGrpc());
  Response response;
  const grpc::Status status = ((*connection)->stub.get()->*method)(&context, request, &response);
  if (!status.ok()) return ToAbslStatus(status);
  return response;
}

template <typename Request, typename Response>
absl::StatusOr<Response> Call(Endpoints& endpoints, Method<Request, Response> method,
                              const Request& request) {
  const Deadline deadline(endpoints.options().deadline);
  Retry retry(endpoints.options(), deadline);
  for (std::size_t turn = endpoints.NextTurn();; ++turn) {
    absl::StatusOr<Response> response = Attempt(endpoints.At(turn), deadline, method, request);
    if (response.ok()) return response;
    if (absl::Status status = response.status(); !retry.Again(endpoints.At(turn + 1), status)) {
      return status;
    }
  }
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
  return std::unique_ptr<Client>(new Client(std::make_shared<Endpoints>(options)));
}

Client::Client(std::shared_ptr<Endpoints> endpoints) : endpoints_(std::move(endpoints)) {}

Client::~Client() = default;

absl::StatusOr<v1::SampleTokensResponse> Client::SampleTokens(
    const v1::SampleTokensRequest& request) {
  return Call(*endpoints_, &v1::SamplingService::Stub::SampleTokens, request);
}

absl::StatusOr<v1::ValidateParamsResponse> Client::ValidateParams(
    const v1::ValidateParamsRequest& request) {
  return Call(*endpoints_, &v1::SamplingService::Stub::ValidateParams, request);
}

absl::StatusOr<v1::GetServerInfoResponse> Client::GetServerInfo() {
  return Call(*endpoints_, &v1::SamplingService::Stub::GetServerInfo, v1::GetServerInfoRequest());
}

std::unique_ptr<SampleStream> Client::OpenStream() {
  return std::make_unique<SampleStream>(endpoints_);
}

}  // namespace tokendraw
