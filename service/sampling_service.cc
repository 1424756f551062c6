#include "service/sampling_service.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "sampling/sampler.h"
#include "service/convert.h"
#include "service/status.h"
#include "service/version.h"

namespace tokendraw {
namespace {

void Validate(const v1::ValidateParamsRequest& request, v1::ValidateParamsResponse& response) {
  Violations violations;
  FindUnknownFields(request, "", violations);
  CheckValidation(request.validation(), violations);
  if (request.vocab_size() < 0) violations.Add("vocab_size", "vocab_size must be >= 0");
  const int32_t id_limit =
      request.vocab_size() > 0 ? request.vocab_size() : std::numeric_limits<int32_t>::max();
  for (int i = 0; i < request.params_size(); ++i) {
    sampling::Params params;
    ConvertParams(request.params(i), absl::StrCat("params[", i, "]"), request.validation(),
                  id_limit, params, violations);
  }
  for (const Violation& violation : violations.kept()) {
    v1::ParamViolation& added = *response.add_violations();
    added.set_field(violation.field);
    added.set_message(violation.message);
  }
}

}  // namespace

grpc::Status SamplingServiceImpl::Answer(Rpc rpc, grpc::ServerContext* context,
                                         absl::FunctionRef<absl::Status()> handle) {
  const Clock::time_point begun = Clock::now();
  absl::Status status;
  if (token_file_ != nullptr) status = token_file_->Check(*context);
  if (status.ok()) status = handle();
  answered_.Add(rpc, begun, status, {}, *context);
  if (const int32_t retry_after_ms = RetryAfterMs(status); retry_after_ms > 0) {
    context->AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat(retry_after_ms));
  }
  return ToGrpcStatus(status);
}

grpc::Status SamplingServiceImpl::ValidateParams(grpc::ServerContext* context,
                                                 const v1::ValidateParamsRequest* request,
                                                 v1::ValidateParamsResponse* response) {
  return Answer(Rpc::kValidateParams, context, [&] {
    Validate(*request, *response);
    return absl::OkStatus();
  });
}

grpc::Status SamplingServiceImpl::ExplainRow(grpc::ServerContext* context,
                                             const v1::ExplainRowRequest* request,
                                             v1::ExplainRowResponse* response) {
  return Answer(Rpc::kExplainRow, context,
                [&] { return dispatcher_.Explain(*request, *response); });
}

grpc::Status SamplingServiceImpl::GetServerInfo(grpc::ServerContext* context,
                                                const v1::GetServerInfoRequest*,
                                                v1::GetServerInfoResponse* response) {
  return Answer(Rpc::kGetServerInfo, context, [&] {
    response->set_version(kVersion);
    response->set_semantics_version(sampling::kSemanticsVersion);
    response->set_max_message_bytes(options_.max_message_bytes);
    response->set_max_rows(static_cast<int32_t>(options_.max_rows));
    response->set_max_draws(static_cast<int32_t>(options_.max_draws));
    response->set_max_in_flight(static_cast<int32_t>(options_.max_in_flight));
    response->set_max_queued_bytes(options_.max_queued_bytes);
    response->set_simd_target(sampling::SimdTarget());
    response->set_shared_memory(dispatcher_.takes_shared_memory());
    response->set_shared_memory_dir(options_.shm_dir);
    response->set_threads(dispatcher_.threads());
    response->set_max_queued_rows(options_.max_queued_rows);
    response->set_uptime_ms(absl::ToInt64Milliseconds(Since(started_)));
    return absl::OkStatus();
  });
}

}  // namespace tokendraw
