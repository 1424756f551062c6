// The clock of all waiting and measuring: setting the machine's time does not move it.
#ifndef TOKENDRAW_SERVICE_CLOCK_H_
#define TOKENDRAW_SERVICE_CLOCK_H_

#include <chrono>

#include "absl/time/time.h"

namespace tokendraw {

using Clock = std::chrono::steady_clock;

inline absl::Duration Since(Clock::time_point begun) {
  return absl::FromChrono(Clock::now() - begun);
}

}  // namespace tokendraw

#endif  // TOKENDRAW_SERVICE_CLOCK_H_
