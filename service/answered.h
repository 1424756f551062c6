// Every call, and every message of a stream, once it is answered: counted, and logged if asked.
#ifndef TOKENDRAW_SERVICE_ANSWERED_H_
#define TOKENDRAW_SERVICE_ANSWERED_H_

#include <grpcpp/server_context.h>

#include "absl/status/status.h"
#include "service/clock.h"
#include "service/log.h"
#include "service/metrics.h"

namespace tokendraw {

class Answered {
 public:
  // Both must outlive the object.
  Answered(Metrics& metrics, Log& log) : metrics_(metrics), log_(log) {}

  // `request` came at `begun`; its rpc and duration are filled in here.
  void Add(Rpc rpc, Clock::time_point begun, const absl::Status& status, LoggedRequest request,
           const grpc::ServerContextBase& context);

 private:
  Metrics& metrics_;
  Log& log_;
};

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_ANSWERED_H_
