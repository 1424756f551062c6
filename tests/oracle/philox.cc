#include "tests/oracle/philox.h"

#include <cmath>

namespace tokendraw::oracle {

std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    const auto a_high = static_cast<uint32_t>(a >> 32), a_low = static_cast<uint32_t>(a);
    const auto b_high = static_cast<uint32_t>(b >> 32), b_low = static_cast<uint32_t>(b);
    counter = {b_high ^ counter[1] ^ key[0], b_low, a_high ^ counter[3] ^ key[1], a_low};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

double Uniform(uint64_t seed, uint64_t position, uint32_t purpose, uint32_t sample_index,
               uint32_t id) {
  const std::array<uint32_t, 4> words = Philox(
      {id / 2, purpose * 65536 + sample_index, static_cast<uint32_t>(position % (1ULL << 32)),
       static_cast<uint32_t>(position / (1ULL << 32))},
      {static_cast<uint32_t>(seed % (1ULL << 32)), static_cast<uint32_t>(seed / (1ULL << 32))});
  const uint64_t low = words[id % 2 == 0 ? 0 : 2];
  const uint64_t high = words[id % 2 == 0 ? 1 : 3];
  const uint64_t top_53_bits = (high * (1ULL << 32) + low) / (1ULL << 11);
  const double u = std::ldexp(static_cast<double>(top_53_bits) + 0.5, -53);
  return u < 1.0 ? u : 1.0 - std::ldexp(1.0, -53);
}

}  // namespace tokendraw::oracle
