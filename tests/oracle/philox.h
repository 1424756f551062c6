// Philox4x32-10, written from its definition: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers:
// As Easy as 1, 2, 3", SC 2011.
#ifndef TOKENDRAW_TESTS_ORACLE_PHILOX_H_
#define TOKENDRAW_TESTS_ORACLE_PHILOX_H_

#include <array>
#include <cstdint>

namespace tokendraw::oracle {

std::array<uint32_t, 4> Philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Uniform in (0, 1) of semantics section 4. `purpose`: 0 token noise, 1 XTC coin.
double Uniform(uint64_t seed, uint64_t position, uint32_t purpose, uint32_t sample_index,
               uint32_t id);

}  // namespace tokendraw::oracle

#endif  // TOKENDRAW_TESTS_ORACLE_PHILOX_H_
