// What was measured, for programs and for people.
#ifndef TOKENDRAW_TESTS_BENCH_REPORT_H_
#define TOKENDRAW_TESTS_BENCH_REPORT_H_

#include <cstdio>
#include <span>

#include "tests/bench/measure.h"

namespace tokendraw::bench {

// One JSON object a line.
void PrintJson(std::FILE* file, std::span<const Result> results);

void PrintTable(std::FILE* file, std::span<const Result> results);

// Each target, with the value that is farthest from it.
void PrintTargets(std::FILE* file, std::span<const Result> results);

}  // namespace tokendraw::bench

#endif  // TOKENDRAW_TESTS_BENCH_REPORT_H_
