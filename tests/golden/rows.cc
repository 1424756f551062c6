#include "tests/golden/rows.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace tokendraw::golden {
namespace {

using sampling::DataType;

constexpr float kMasked = -std::numeric_limits<float>::infinity();

float Gaussian(Random& random, float width) {
  return static_cast<float>(random.Normal()) * (width * 0x1p-16f);
}

bool Coin(Random& random) { return random.Next() >> 63 != 0; }

// What the logit of one id is made of.
struct Token {
  Random& random;
  int32_t id;
  int32_t size;
};

struct Recipe {
  const char* name;
  float (*logit)(const Token& token);
};

constexpr Recipe kRecipes[] = {
    {"normal1/4", [](const Token& t) { return Gaussian(t.random, 0.25f); }},
    {"normal1", [](const Token& t) { return Gaussian(t.random, 1); }},
    {"normal2", [](const Token& t) { return Gaussian(t.random, 2); }},
    {"normal3", [](const Token& t) { return Gaussian(t.random, 3); }},
    {"normal8", [](const Token& t) { return Gaussian(t.random, 8); }},
    {"normal64", [](const Token& t) { return Gaussian(t.random, 64); }},
    // Twelve likely tokens above a wide tail, like the row of a language model.
    {"peaked",
     [](const Token& t) {
       const float tail = Gaussian(t.random, 2);
       const int32_t rank = Rank(t.id, t.size);
       return rank < 12 ? 22 - static_cast<float>(rank) / 2 : tail;
     }},
    {"certain",
     [](const Token& t) {
       const float tail = Gaussian(t.random, 1);
       return Rank(t.id, t.size) == 0 ? 40 : tail;
     }},
    // Frequencies of powers of two, most of them ties.
    {"steps",
     [](const Token& t) {
       const auto rank = static_cast<uint32_t>(Rank(t.id, t.size));
       return -0.75f * static_cast<float>(std::bit_width(rank));
     }},
    {"far_from_zero", [](const Token& t) { return 5000 + Gaussian(t.random, 2); }},
    {"equal", [](const Token&) { return 0.5f; }},
    {"zeros", [](const Token& t) { return Coin(t.random) ? 0.0f : -0.0f; }},
    {"halves",
     [](const Token& t) { return static_cast<float>(t.random.Normal() / (1 << 14)) / 2; }},
    {"gap",
     [](const Token& t) {
       const float logit = Gaussian(t.random, 2);
       return t.id >= t.size / 4 && t.id < t.size / 2 ? kMasked : logit;
     }},
    {"sparse",
     [](const Token& t) {
       const float logit = Gaussian(t.random, 2);
       return t.random.Next() % 8 == 0 ? logit : kMasked;
     }},
    {"one", [](const Token& t) { return t.id == t.size / 3 ? -2.5f : kMasked; }},
    {"huge",
     [](const Token& t) {
       const float size = 3e38f - static_cast<float>(t.random.Next() >> 56) * 0x1p104f;
       return Coin(t.random) ? size : -size;
     }},
    {"denormal",
     [](const Token& t) {
       return std::bit_cast<float>(static_cast<uint32_t>(t.random.Next()) & 0x807FFFFF);
     }},
    {"tiny", [](const Token& t) { return Gaussian(t.random, 0x1p-16f); }},
    {"nan",
     [](const Token& t) {
       return t.id == t.size / 2 ? std::numeric_limits<float>::quiet_NaN() : 1.0f;
     }},
    {"infinite", [](const Token& t) { return t.id == t.size - 1 ? -kMasked : 1.0f; }},
    {"masked", [](const Token&) { return kMasked; }},
};

const Recipe& Find(std::string_view name) {
  for (const Recipe& recipe : kRecipes) {
    if (name == recipe.name) return recipe;
  }
  Fail("no such recipe", name);
}

// Rounds toward zero.
uint16_t ToF16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
  uint32_t half = (magnitude - 0x38000000) >> 13;
  if (magnitude < 0x38800000) {  // below 2^-14
    half = static_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p24f);
  }
  if (magnitude == 0x7F800000) half = 0x7C00;
  if (magnitude > 0x7F800000) half = 0x7E00;
  return static_cast<uint16_t>(sign | half);
}

uint16_t ToBF16(float x) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16); }

template <typename Element>
void Append(Element element, std::vector<std::byte>& bytes) {
  const size_t size = bytes.size();
  bytes.resize(size + sizeof(element));
  std::memcpy(&bytes[size], &element, sizeof(element));
}

}  // namespace

uint64_t Random::Next() {
  uint64_t z = state_ += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

int32_t Random::Normal() {
  int32_t sum = -6 * 65535;
  for (int word = 0; word < 3; ++word) {
    const uint64_t bits = Next();
    for (int shift = 0; shift < 64; shift += 16) sum += static_cast<int32_t>(bits >> shift & 65535);
  }
  return sum;
}

Row MakeRow(std::string_view recipe, int32_t size) {
  const size_t dot = recipe.find('.');
  const std::string_view name = recipe.substr(0, dot);
  const std::string_view type = dot == std::string_view::npos ? "" : recipe.substr(dot);
  const Recipe& found = Find(name);
  Row row{.size = size};
  if (type == ".f16") row.type = DataType::kF16;
  if (type == ".bf16") row.type = DataType::kBF16;
  row.bytes.reserve(static_cast<size_t>(size) * sampling::ElementSize(row.type));
  Hash seed;
  seed.Add(name);
  Random random(seed.value());
  for (int32_t id = 0; id < size; ++id) {
    const float logit = found.logit({random, id, size});
    if (row.type == DataType::kF32) Append(logit, row.bytes);
    if (row.type == DataType::kF16) Append(ToF16(logit), row.bytes);
    if (row.type == DataType::kBF16) Append(ToBF16(logit), row.bytes);
  }
  return row;
}

void Fail(std::string_view what, std::string_view text) {
  std::fprintf(stderr, "golden_tokens: %.*s: %.*s\n", static_cast<int>(what.size()), what.data(),
               static_cast<int>(text.size()), text.data());
  std::exit(2);
}

}  // namespace tokendraw::golden
