// Every kernel, on every instruction set of this machine, gives the bits of the plainest one.
#include <cstring>
#include <numeric>

#include "hwy/tests/hwy_gtest.h"
#include "sampling/kernels.h"
#include "sampling/noise.h"
#include "tests/sampling/testing.h"

namespace tokendraw::sampling {
namespace {

// Sizes around the lengths of vectors, partial sums and blocks.
const std::vector<size_t> kSizes = {1,   2,   3,   4,   5,    7,    8,    9,    15,   16,  17,  31,
                                    33,  63,  64,  65,  127,  128,  129,  255,  256,  257, 511, 513,
                                    767, 768, 769, 999, 1024, 1025, 2047, 4096, 4099, 9973};

std::vector<Row> Rows(size_t size) {
  const auto seed = static_cast<uint32_t>(size);
  std::vector<Row> rows = {GaussianRow(size, 0.1, seed), GaussianRow(size, 3, seed),
                           GaussianRow(size, 40, seed), PeakedRow(size, seed), Row(size, 1.25f)};
  Row gaps = GaussianRow(size, 3, seed);
  for (size_t i = 0; i + 1 < size; i += 3) gaps[i] = -kInf;
  Row huge = GaussianRow(size, 1e38, seed), denormal = GaussianRow(size, 1e-40, seed),
      far = GaussianRow(size, 2, seed);
  for (float& x : huge) x = std::clamp(x, -3e38f, 3e38f);
  for (float& x : far) x += 90000;
  rows.insert(rows.end(), {gaps, huge, denormal, far});
  return rows;
}

float Max(const Row& row) { return *std::max_element(row.begin(), row.end()); }

template <typename T>
void Append(const T& value, std::string& bits) {
  bits.append(reinterpret_cast<const char*>(&value), sizeof(value));
}
template <typename T>
void AppendAll(std::span<const T> values, std::string& bits) {
  bits.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

class KernelTargetsTest : public hwy::TestWithParamTarget {
 protected:
  // Runs `kernel`, which appends its results to a string, on the plainest target and on this one.
  template <typename Kernel>
  void ExpectSameBits(const Kernel& kernel) {
    std::string expected, actual;
    hwy::SetSupportedTargetsForTest(HWY_EMU128);
    kernel(expected);
    ASSERT_STREQ(SimdTarget(), "EMU128");
    hwy::SetSupportedTargetsForTest(GetParam());
    kernel(actual);
    ASSERT_STREQ(SimdTarget(), hwy::TargetName(GetParam()));
    ASSERT_FALSE(expected.empty());
    ASSERT_EQ(expected.size(), actual.size());
    EXPECT_EQ(std::memcmp(expected.data(), actual.data(), actual.size()), 0);
  }

  template <typename Kernel>
  void ForEachRow(const Kernel& kernel) {
    for (const size_t size : kSizes) {
      for (const Row& row : Rows(size)) {
        SCOPED_TRACE(size);
        ExpectSameBits([&](std::string& bits) { kernel(row, bits); });
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
    }
  }
};
HWY_TARGET_INSTANTIATE_TEST_SUITE_P(KernelTargetsTest);

const std::vector<SumRequest>& Requests() {
  using Kind = SumRequest::Kind;
  static const auto* const kRequests = [] {
    auto* requests = new std::vector<SumRequest>{{Kind::kNone, 1}, {Kind::kStddev, 1}};
    for (const Kind kind : {Kind::kExp, Kind::kWeighted, Kind::kSquared}) {
      for (const double temperature : {1.0, 0.7, 1.9, 0.01, 1e-7, 1e6, 5e-324}) {
        requests->push_back({kind, temperature});
      }
    }
    return requests;
  }();
  return *kRequests;
}

void AppendSums(const RowSums& sums, std::string& bits) {
  for (const double sum : {sums.exp, sums.weighted, sums.squared, sums.stddev}) Append(sum, bits);
}

// What is summed while reading has the bits of what is summed later.
TEST_P(KernelTargetsTest, ReadRow) {
  ForEachRow([](const Row& row, std::string& bits) {
    const auto size = static_cast<int32_t>(row.size());
    std::mt19937 random(7);
    std::vector<std::byte> mask((row.size() + 31) / 32 * 4);
    for (std::byte& byte : mask) byte = static_cast<std::byte>(random());
    std::vector<Patch> patches;
    for (int32_t id = 3; id < size; id += 1 + static_cast<int32_t>(random() % 300)) {
      patches.push_back({id, 1.5f});
    }
    const std::byte* const masks[] = {nullptr, mask.data()};
    for (size_t i = 0; i < Requests().size(); ++i) {
      const SumRequest& request = Requests()[i];
      for (const DataType type : {DataType::kF32, DataType::kF16, DataType::kBF16}) {
        const size_t blocks = BlockCount(row.size());
        Row room(blocks * kBlockSize), block_max(blocks);
        std::vector<const float*> places(blocks);
        const LogitsRow logits = {row.data(), type, size};
        const RowScan scan =
            ReadRow(logits, masks[i % 2], std::span(patches).first(i % 3 == 0 ? 0 : patches.size()),
                    request, room.data(), places, block_max);
        DecodeRest(logits, masks[i % 2], room.data(), places);
        Append(scan.finite, bits);
        if (!scan.finite) continue;  // maxima of NaN are nobody's business
        Append(scan.max, bits);
        for (const float* block : places) AppendAll(std::span(block, kBlockSize), bits);
        AppendAll(std::span<const float>(block_max), bits);
        if (!scan.sums || scan.max == -kInf) continue;
        AppendSums(*scan.sums, bits);
        const RowSums later = SumRow(places, block_max, request);
        ASSERT_EQ(std::memcmp(&later, &*scan.sums, sizeof(later)), 0);
      }
    }
  });
}

TEST_P(KernelTargetsTest, FindsWhatIsNotFinite) {
  ForEachRow([](Row row, std::string& bits) {
    FloatRow in_place;
    const auto read = [&](float logit) {
      row[row.size() / 2] = logit;
      return in_place.Read(InputOf(row).logits, nullptr, {}, {});
    };
    EXPECT_EQ(read(kNan), static_cast<int32_t>(row.size() / 2));
    EXPECT_EQ(read(-kNan), static_cast<int32_t>(row.size() / 2));
    EXPECT_EQ(read(kInf), static_cast<int32_t>(row.size() / 2));
    EXPECT_EQ(read(-kInf), -1);
    EXPECT_EQ(in_place.max(), Max(row));
    Append(in_place.max(), bits);
  });
}

TEST_P(KernelTargetsTest, RowSums) {
  ForEachRow([](const Row& row, std::string& bits) {
    FloatRow in_place;
    in_place.Read(InputOf(row).logits, nullptr, {}, {});
    const auto sum = [&](const SumRequest& request) {
      return SumRow(in_place.blocks(), in_place.block_max(), request);
    };
    for (const SumRequest& request : Requests()) {
      const RowSums sums = sum(request);
      AppendSums(sums, bits);
      if (sums.exp > 0) {
        EXPECT_EQ(sums.exp, sum({SumRequest::Kind::kExp, request.temperature}).exp);
      }
    }
  });
}

TEST_P(KernelTargetsTest, Lists) {
  ForEachRow([](const Row& row, std::string& bits) {
    std::vector<int32_t> ids(row.size() + kListSlack);
    Row found(row.size() + kListSlack);
    const float max = Max(row);
    for (const float low : {-3.4e38f, -1.0f, 0.5f, max}) {
      const size_t size =
          FindBetween(row, 100, low, std::max(low, max / 2), ids.data(), found.data());
      Append(size, bits);
      AppendAll(std::span<const int32_t>(ids).first(size), bits);
      AppendAll(std::span<const float>(found).first(size), bits);
    }
    std::vector<double> values(row.size());
    for (const Tempering& tempering : {Tempering{}, {max, 0.7}, {max, 1e-300}}) {
      Append(ListWeights(row, max, tempering, values), bits);
      AppendAll(std::span<const double>(values), bits);
      for (size_t i = 0; i < row.size(); ++i) {
        ASSERT_EQ(values[i], Exp(tempering(row[i]) - tempering(max))) << i;
      }
      ListDistances(row, tempering, -0.75, values);
      AppendAll(std::span<const double>(values), bits);
      ListNegated(row, tempering, values);
      for (size_t i = 0; i < row.size(); ++i) ASSERT_EQ(values[i], -tempering(row[i])) << i;
    }
  });
}

TEST_P(KernelTargetsTest, Compaction) {
  ForEachRow([](const Row& row, std::string& bits) {
    std::vector<double> keys(row.size());
    ListNegated(row, {.pivot = Max(row), .temperature = 3e38}, keys);  // with ties
    const KeyRange range = RangeOf(keys);
    EXPECT_EQ(range.min, *std::min_element(keys.begin(), keys.end()));
    EXPECT_EQ(range.max, *std::max_element(keys.begin(), keys.end()));
    EXPECT_EQ(ListMax(row), Max(row));

    std::vector<int32_t> bins(row.size());
    const double scale = range.max > range.min ? 20 / (range.max - range.min) : 1;
    FindBins(keys, range.min, scale, 15, bins);
    for (size_t i = 0; i < row.size(); ++i) {
      ASSERT_EQ(bins[i], std::min(static_cast<int32_t>((keys[i] - range.min) * scale), 15)) << i;
    }
    for (const int32_t bin : {0, bins[0], 15}) {
      std::vector<uint32_t> found(row.size()), expected;
      found.resize(FindInBin(bins, bin, found.data()));
      for (size_t i = 0; i < row.size(); ++i) {
        if (bins[i] == bin) expected.push_back(static_cast<uint32_t>(i));
      }
      ASSERT_EQ(found, expected);
    }

    for (const Limit kind : {Limit::kAtMost, Limit::kBelow}) {
      const double limit = keys[row.size() / 2];
      const size_t first = row.size() / 3, out = row.size() / 5;
      std::vector<int32_t> ids = FirstIds(row.size()), expected_ids = ids;
      Row logits = row, expected = row;
      size_t size = out;
      for (size_t i = first; i < row.size(); ++i) {
        if (kind == Limit::kAtMost ? keys[i] > limit : keys[i] >= limit) continue;
        expected_ids[size] = static_cast<int32_t>(i);
        expected[size++] = row[i];
      }
      const size_t kept = CompressList(std::span(keys).subspan(first), kind, limit, first, out,
                                       ids.data(), logits.data());
      ASSERT_EQ(out + kept, size);
      ASSERT_TRUE(std::equal(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(size),
                             expected_ids.begin()));
      AppendAll(std::span<const float>(logits).first(size), bits);
      ASSERT_TRUE(std::equal(logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(size),
                             expected.begin()));
    }
    bits += '.';
  });
}

// The words are those of Random123.
TEST_P(KernelTargetsTest, NoiseOfRowsAndLists) {
  const RandomKey key = {.seed = 0x0123456789abcdef, .position = 0xfedcba9876543210};
  constexpr int32_t kSample = 3;
  const auto word_of = [&](int32_t id) {
    return static_cast<uint32_t>(Uniform(key, Purpose::kToken, kSample, id) * 0x1p32);
  };
  for (const uint32_t threshold : {0u, 0x80000000u, 0xf0000000u, 0xffffffffu}) {
    for (const size_t count : {1u, 2u, 7u, 8u, 9u, 31u, 32u, 33u, 100u, 255u, 256u}) {
      std::vector<int32_t> scattered(count);
      for (size_t i = 0; i < count; ++i) scattered[i] = static_cast<int32_t>(i * i * 5 + 3 * i + 1);
      for (const int32_t first : {0, 256, 262144 - 256, INT32_MAX - 255 - 256}) {
        std::vector<int32_t> row(count);
        std::iota(row.begin(), row.end(), first);
        for (const bool is_list : {false, true}) {
          const std::vector<int32_t>& ids = is_list ? scattered : row;
          LoudTokens found;
          const size_t size = is_list
                                  ? FindLoudTokens(key, kSample, ids, threshold, found)
                                  : FindLoudTokens(key, kSample, first, count, threshold, found);
          std::vector<std::pair<uint32_t, uint32_t>> actual, expected;
          for (size_t i = 0; i < size; ++i) actual.push_back({found[i].position, found[i].word});
          for (uint32_t i = 0; i < count; ++i) {
            if (word_of(ids[i]) >= threshold) expected.push_back({i, word_of(ids[i])});
          }
          ASSERT_EQ(actual, expected) << threshold << " " << count << " " << first;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tokendraw::sampling
