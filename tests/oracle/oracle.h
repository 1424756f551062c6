// The sampling of one row, slow and obvious: every step as its definition reads, in float64 (the
// edits in float32), by sorting the whole row, with libm's exp and log. The sampling library must
// give the same tokens and kept sets wherever no decision was a near tie.
#ifndef TOKENDRAW_TESTS_ORACLE_ORACLE_H_
#define TOKENDRAW_TESTS_ORACLE_ORACLE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "sampling/params.h"
#include "sampling/types.h"

namespace tokendraw::oracle {

// A decision counts as certain when its quantity is farther than this (relative) from its cut.
inline constexpr double kMargin = 1e-6;

inline constexpr size_t kFilterCount = 17;

struct OracleDraw {
  int32_t token_id = -1;
  std::vector<int32_t> kept_ids;  // ascending
  bool xtc_applied = false;
  bool greedy = false;
  // By Filter: the smallest relative distance of a token's deciding quantity from its cut, at most
  // 1, which is also the value of a filter that is off.
  std::array<double, kFilterCount> margins;

  bool IsCertain() const;  // all margins > kMargin
};

struct OracleResult {
  sampling::RowErrorCode error = sampling::RowErrorCode::kNone;
  int32_t error_token = -1;
  std::vector<OracleDraw> draws;
};

OracleResult Sample(const sampling::Params& params, const sampling::RowInput& row);

}  // namespace tokendraw::oracle

#endif  // TOKENDRAW_TESTS_ORACLE_ORACLE_H_
