#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "sampling/filters.h"
#include "sampling/kernels.h"

namespace tokendraw::sampling {
// With b_i = ln(p_i / p_i+1) = x_i - x_i+1 and t_i = ln((i + 2) / (i + 1)) over the 100 first, the
// probabilities fall like rank^-s, s = sum t b / sum t^2, and with eps = s - 1 and V tokens
// k = (eps 2^mu / (1 - V^-eps))^(1 / s).
void ApplyMirostat1(double mu, int32_t vocab_size, int32_t min_keep, Support& support) {
  constexpr size_t kFirst = 100;
  const std::span<const double> values = support.Descending(kFirst);
  if (values.size() < 2) return;
  double products = 0, squares = 0;
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    const double rank = static_cast<double>(i + 1);
    const double t = Log((rank + 1) / rank);
    products += t * (values[i] - values[i + 1]);
    squares += t * t;
  }
  const double s = products / squares;
  const double eps = s - 1;
  const double log_vocab = Log(static_cast<double>(vocab_size));
  const double y = -eps * log_vocab;
  // eps / (1 - V^-eps), at eps = 0 its limit.
  const double ratio = std::abs(y) < 1e-8 ? 1 / log_vocab : eps / (1 - ExpOfAny(y));
  const double log_k = (Log(ratio) + mu * std::numbers::ln2) / s;
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  if (!(log_k < Log(kMost))) return;  // NaN too: all probabilities equal
  const double k = log_k <= 0 ? 1 : ExpOfAny(log_k);
  support.KeepFirst(static_cast<int32_t>(k), min_keep);
}

// -log2 p <= mu  <=>  x >= m + ln Z - mu ln 2.
void ApplyMirostat2(double mu, int32_t min_keep, Support& support) {
  const double lowest = support.Max() + Log(support.SumExp()) - mu * std::numbers::ln2;
  support.KeepLargest([=](double x) { return x >= lowest; }, min_keep);
}

}  // namespace tokendraw::sampling
