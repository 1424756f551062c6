#include "service/answered.h"

namespace tokendraw {

void Answered::Add(Rpc rpc, Clock::time_point begun, const absl::Status& status,
                   LoggedRequest request, const grpc::ServerContextBase& context) {
  metrics_.requests[static_cast<size_t>(rpc)][static_cast<size_t>(status.raw_code())]++;
  if (!log_.Wants(status)) return;
  request.rpc = NameOf(rpc);
  request.duration = Since(begun);
  log_.Request(request, status, TraceOf(context));
}

}  // namespace tokendraw
