// The RPC handlers, save those of the hot calls: SampleCall and SampleStream.
#ifndef TOKENDRAW_SERVICE_SAMPLING_SERVICE_H_
#define TOKENDRAW_SERVICE_SAMPLING_SERVICE_H_

#include "service/dispatcher.h"
#include "service/hot_calls.h"
#include "service/options.h"

namespace tokendraw {

class SamplingServiceImpl final : public HotCallService {
 public:
  // All arguments must outlive the service.
  SamplingServiceImpl(const Options& options, Dispatcher& dispatcher)
      : options_(options), dispatcher_(dispatcher) {}

  grpc::Status ValidateParams(grpc::ServerContext* context,
                              const v1::ValidateParamsRequest* request,
                              v1::ValidateParamsResponse* response) override;
  grpc::Status ExplainRow(grpc::ServerContext* context, const v1::ExplainRowRequest* request,
                          v1::ExplainRowResponse* response) override;
  grpc::Status GetServerInfo(grpc::ServerContext* context, const v1::GetServerInfoRequest* request,
                             v1::GetServerInfoResponse* response) override;

 private:
  const Options& options_;
  Dispatcher& dispatcher_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_SAMPLING_SERVICE_H_
