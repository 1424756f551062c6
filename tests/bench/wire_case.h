// What the wire is measured with: one size of vocabulary and one chain.
#ifndef TOKENDRAW_TESTS_BENCH_WIRE_CASE_H_
#define TOKENDRAW_TESTS_BENCH_WIRE_CASE_H_

#include <cstdint>

#include "sampling/params.h"
#include "tokendraw/v1/params.pb.h"

namespace tokendraw::bench {

inline constexpr int32_t kWireVocab = 151'936;

// typical_p .9, XTC(.5, .1), T .8, top_p .95, min_p .05.
inline v1::SamplingParams WireParams() {
  v1::SamplingParams params;
  params.set_typical_p(0.9);
  params.set_xtc_probability(0.5);
  params.set_xtc_threshold(0.1);
  params.set_temperature(0.8);
  params.set_top_p(0.95);
  params.set_min_p(0.05);
  return params;
}

inline sampling::Params WireChain() {
  sampling::Params params;
  params.typical_p = 0.9;
  params.xtc_probability = 0.5;
  params.xtc_threshold = 0.1;
  params.temperature = 0.8;
  params.top_p = 0.95;
  params.min_p = 0.05;
  return params;
}

}  // namespace tokendraw::bench

#endif  // TOKENDRAW_TESTS_BENCH_WIRE_CASE_H_
