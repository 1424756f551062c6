#include "service/guarded_copy.h"

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace tokendraw {
namespace {

// The copy that runs on this thread.
struct Copy {
  std::span<const std::byte> from;
  sigjmp_buf back;
};
thread_local Copy* volatile current_copy = nullptr;

struct sigaction previous;

void OnBusError(int signal, siginfo_t* info, void* context) {
  Copy* const copy = current_copy;
  const auto* address = static_cast<const std::byte*>(info->si_addr);
  // A fault may be reported at the start of a vector that ends in the range.
  constexpr uintptr_t kWidestAccess = 64;
  if (copy != nullptr &&
      reinterpret_cast<uintptr_t>(address) + kWidestAccess >
          reinterpret_cast<uintptr_t>(copy->from.data()) &&
      address < copy->from.data() + copy->from.size()) {
    siglongjmp(copy->back, 1);
  }
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal, info, context);
  // The fault comes again, and then does what it would have done.
  sigaction(SIGBUS, &previous, nullptr);
}

void TakeBusErrors() {
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &previous);
}

}  // namespace

bool GuardedCopy(std::span<const std::byte> from, std::byte* to) {
  static std::once_flag taken;
  std::call_once(taken, TakeBusErrors);
  if (from.empty()) return true;  // memcpy takes no null
  Copy copy = {.from = from};
  constexpr int kSaveMask = 1;  // the handler, in which the signal is blocked, is left by a jump
  if (sigsetjmp(copy.back, kSaveMask) != 0) {
    current_copy = nullptr;
    return false;
  }
  current_copy = &copy;
  std::memcpy(to, from.data(), from.size());
  current_copy = nullptr;
  return true;
}

}  // namespace tokendraw
