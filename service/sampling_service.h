// The RPC handlers, save those of the hot calls: SampleCall and SampleStream.
#ifndef TOKENDRAW_SERVICE_SAMPLING_SERVICE_H_
#define TOKENDRAW_SERVICE_SAMPLING_SERVICE_H_

#include "absl/functional/function_ref.h"
#include "service/answered.h"
#include "service/clock.h"
#include "service/dispatcher.h"
#include "service/hot_calls.h"
#include "service/options.h"
#include "service/token_file.h"

namespace tokendraw {

class SamplingServiceImpl final : public HotCallService {
 public:
  // All arguments must outlive the service. `token_file` is null if nobody needs a token.
  SamplingServiceImpl(const Options& options, Dispatcher& dispatcher, Answered& answered,
                      TokenFile* token_file)
      : options_(options), dispatcher_(dispatcher), answered_(answered), token_file_(token_file) {}

  grpc::Status ValidateParams(grpc::ServerContext* context,
                              const v1::ValidateParamsRequest* request,
                              v1::ValidateParamsResponse* response) override;
  grpc::Status ExplainRow(grpc::ServerContext* context, const v1::ExplainRowRequest* request,
                          v1::ExplainRowResponse* response) override;
  grpc::Status GetServerInfo(grpc::ServerContext* context, const v1::GetServerInfoRequest* request,
                             v1::GetServerInfoResponse* response) override;

 private:
  // Answers a call with what `handle` returns, unless the caller may not call.
  grpc::Status Answer(Rpc rpc, grpc::ServerContext* context,
                      absl::FunctionRef<absl::Status()> handle);

  const Options& options_;
  Dispatcher& dispatcher_;
  Answered& answered_;
  TokenFile* const token_file_;
  const Clock::time_point started_ = Clock::now();
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_SAMPLING_SERVICE_H_
