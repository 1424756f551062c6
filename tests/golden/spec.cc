#include "tests/golden/spec.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "tests/golden/rows.h"

namespace tokendraw::golden {
namespace {

using sampling::Filter;
using sampling::Params;

// In the order of the enum.
constexpr std::string_view kFilterNames[] = {
    "top_n_sigma", "p_less",         "typical_p",   "xtc",       "temperature", "top_k",
    "top_p",       "min_p",          "p_less_norm", "smoothing", "top_h",       "top_a",
    "tfs_z",       "epsilon_cutoff", "eta_cutoff",  "mirostat",  "adaptive_p"};

// Cuts the text up to `separator` off the front of `rest`.
std::string_view Cut(std::string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view piece = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return piece;
}

double ToNumber(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) Fail("not a number", text);
  return value;
}

std::vector<Filter> ToChain(std::string_view names) {
  std::vector<Filter> chain;
  while (!names.empty()) {
    const std::string_view name = Cut(names, ',');
    const auto* const found = std::find(std::begin(kFilterNames), std::end(kFilterNames), name);
    if (found == std::end(kFilterNames)) Fail("no such filter", name);
    chain.push_back(static_cast<Filter>(found - std::begin(kFilterNames)));
  }
  return chain;
}

void SetScalar(std::string_view name, double value, Params& params) {
  for (const sampling::ParamRule& rule : sampling::ParamRules()) {
    if (name == rule.name) return sampling::SetField(rule.field, value, params);
  }
  Fail("no such parameter", name);
}

// The ids of the first `count` ranks: of a peaked row the likely ones.
std::vector<int32_t> FirstRanks(int32_t count, int32_t size) {
  std::vector<int32_t> ids(static_cast<size_t>(std::min(count, size)));
  for (int32_t id = 0; id < size; ++id) {
    const int32_t rank = Rank(id, size);
    if (rank < count) ids[static_cast<size_t>(rank)] = id;
  }
  return ids;
}

std::vector<sampling::LogitBias> Biases(int32_t size) {
  std::vector<sampling::LogitBias> biases;
  for (const int32_t id : FirstRanks(16, size)) {
    const auto i = static_cast<int32_t>(biases.size());
    const bool ban = i % 7 == 1;
    biases.push_back({.id = id,
                      .bias = ban ? -std::numeric_limits<float>::infinity()
                                  : static_cast<float>(i % 5 - 2) * 1.25f});
  }
  return biases;
}

// About half of the tokens.
std::vector<std::byte> Mask(int32_t size) {
  Random random(static_cast<uint64_t>(size));
  std::vector<std::byte> mask;
  for (int32_t first = 0; first < size; first += 32) {
    const uint64_t bits = random.Next();
    for (int shift = 0; shift < 32; shift += 8) {
      mask.push_back(static_cast<std::byte>(bits >> shift & 0xFF));
    }
  }
  return mask;
}

// A phrase of eleven likely tokens, again and again, with other tokens strewn in. Ends within it.
std::vector<int32_t> History(size_t length, int32_t size) {
  const std::vector<int32_t> phrase = FirstRanks(11, size);
  Random random(length);
  std::vector<int32_t> ids;
  for (size_t i = 0; i < length; ++i) {
    const bool other = random.Next() % 16 == 0 && i + 8 < length;
    const auto any = static_cast<int32_t>(random.Next() % static_cast<uint64_t>(size));
    ids.push_back(other ? any : phrase[i % phrase.size()]);
  }
  return ids;
}

void SetWord(std::string_view word, int32_t size, Spec& spec) {
  Params& params = spec.params;
  if (word == "p_less") {
    params.p_less = true;
  } else if (word == "p_less_norm") {
    params.p_less_norm = true;
  } else if (word == "sequences") {
    const std::vector<int32_t> ids = FirstRanks(11, size);
    for (const int32_t id : ids) params.bad_token_sequences.push_back({id, ids.front()});
    params.dry_breaker_sequences = {{ids[4], ids[5]}};
  } else if (word == "stop") {
    params.stop_ids = FirstRanks(2, size);
  } else if (word == "allowed") {
    params.allowed_ids = FirstRanks(40, size);
  } else if (word == "bias") {
    params.logit_bias = Biases(size);
  } else if (word == "mask") {
    spec.mask = Mask(size);
  } else if (word == "history") {
    spec.prompt_ids = History(40, size);
    spec.output_ids = History(73, size);
  } else if (word == "counts") {
    for (const int32_t id : FirstRanks(9, size)) {
      spec.token_counts.push_back({.token_id = id, .output_count = id % 3, .prompt_count = id % 5});
    }
  } else if (word == "breaker") {
    params.dry_breaker_ids = {FirstRanks(6, size).back()};
  } else if (word == "protected") {
    params.xtc_protected_ids = FirstRanks(1, size);
  } else if (word == "output_scope") {
    params.frequency_scope = sampling::FrequencyScope::kOutput;
  } else {
    Fail("no such word", word);
  }
}

}  // namespace

sampling::RowInput Spec::Input(const sampling::LogitsRow& logits,
                               const sampling::RandomKey& key) const {
  sampling::RowInput input{.logits = logits, .key = key, .sample_count = draws};
  if (!mask.empty()) input.allowed_mask = mask;
  input.history = {
      .prompt_ids = prompt_ids, .output_ids = output_ids, .token_counts = token_counts};
  return input;
}

Spec ParseSpec(std::string_view text, int32_t size) {
  Spec spec;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view value = Cut(rest, ' ');
    const bool has_value = value.find('=') != std::string_view::npos;
    const std::string_view name = Cut(value, '=');
    if (!has_value) {
      SetWord(name, size, spec);
    } else if (name == "chain") {
      spec.params.chain = ToChain(value);
    } else if (name == "profile") {
      spec.params.profile = static_cast<sampling::Profile>(ToNumber(value));
    } else if (name == "draws") {
      spec.draws = static_cast<int32_t>(ToNumber(value));
    } else {
      SetScalar(name, ToNumber(value), spec.params);
    }
  }
  if (!sampling::BrokenRules(spec.params).empty()) Fail("out of range", text);
  return spec;
}

}  // namespace tokendraw::golden
