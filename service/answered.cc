#include "service/answered.h"

#include "absl/time/clock.h"

namespace tokendraw {

void Answered::Add(Rpc rpc, absl::Time begun, const absl::Status& status, LoggedRequest request,
                   const grpc::ServerContextBase& context) {
  metrics_.requests[static_cast<size_t>(rpc)][static_cast<size_t>(status.raw_code())]++;
  if (!log_.Wants(status)) return;
  request.rpc = NameOf(rpc);
  request.duration = absl::Now() - begun;
  log_.Request(request, status, TraceOf(context));
}

}  // namespace tokendraw
