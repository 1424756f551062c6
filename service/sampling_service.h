// The RPC handlers. Thin: they move messages between gRPC and the dispatcher.
#ifndef TOKENDRAW_SERVICE_SAMPLING_SERVICE_H_
#define TOKENDRAW_SERVICE_SAMPLING_SERVICE_H_

#include "service/active_calls.h"
#include "service/dispatcher.h"
#include "service/metrics.h"
#include "service/options.h"
#include "tokendraw/v1/sampling.grpc.pb.h"

namespace tokendraw {

class SamplingServiceImpl final : public v1::SamplingService::CallbackService {
 public:
  // All arguments must outlive the service.
  SamplingServiceImpl(const Options& options, Dispatcher& dispatcher, ActiveCalls& calls)
      : options_(options), dispatcher_(dispatcher), calls_(calls) {}

  grpc::ServerUnaryReactor* SampleTokens(grpc::CallbackServerContext* context,
                                         const v1::SampleTokensRequest* request,
                                         v1::SampleTokensResponse* response) override;
  grpc::ServerBidiReactor<v1::SampleTokensRequest, v1::SampleTokensResponse>* StreamSampleTokens(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* ValidateParams(grpc::CallbackServerContext* context,
                                           const v1::ValidateParamsRequest* request,
                                           v1::ValidateParamsResponse* response) override;
  grpc::ServerUnaryReactor* ExplainRow(grpc::CallbackServerContext* context,
                                       const v1::ExplainRowRequest* request,
                                       v1::ExplainRowResponse* response) override;
  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const v1::GetServerInfoRequest* request,
                                          v1::GetServerInfoResponse* response) override;

 private:
  const Options& options_;
  Dispatcher& dispatcher_;
  ActiveCalls& calls_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_SAMPLING_SERVICE_H_
