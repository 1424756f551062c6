#include "sampling/explain.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sampling/chain.h"
#include "sampling/draw.h"
#include "sampling/kernels.h"
#include "sampling/noise.h"
#include "sampling/outcome.h"
#include "sampling/row.h"
#include "sampling/support.h"

namespace tokendraw::sampling {
namespace {

// Survivors and their softmax.
struct Snapshot {
  struct Token {
    int32_t id;
    float logit;
    double surprise;  // -ln p

    double p() const { return Exp(-surprise); }
  };
  std::vector<Token> tokens;  // by ascending id
  double entropy = 0;

  const Token* Find(int32_t id) const {
    const auto found = std::ranges::lower_bound(tokens, id, {}, &Token::id);
    return found != tokens.end() && found->id == id ? &*found : nullptr;
  }
};

// With p = e^(x - m) / Z: -ln p = ln Z - (x - m), and H = sum of p * -ln p.
Snapshot TakeSnapshot(const Support& support) {
  Snapshot snapshot;
  const double max = support.Max();
  double sum = 0;
  ForEachSurvivor(support, [&](int32_t id, float logit) {
    const double below = max - support.Value(logit);
    snapshot.tokens.push_back({id, logit, below});
    sum += Exp(-below);
  });
  const double log_sum = Log(sum);
  for (Snapshot::Token& token : snapshot.tokens) {
    token.surprise += log_sum;
    // Where p is 0, so is its share, though the surprise may be infinite.
    if (token.p() > 0) snapshot.entropy += token.p() * token.surprise;
  }
  return snapshot;
}

// The ids of the most probable tokens.
std::vector<int32_t> TopIds(const Snapshot& snapshot, size_t count) {
  std::vector<Snapshot::Token> top = snapshot.tokens;
  const size_t size = std::min(count, top.size());
  std::ranges::partial_sort(top, top.begin() + static_cast<ptrdiff_t>(size), {},
                            [](const auto& token) { return std::pair(token.surprise, token.id); });
  std::vector<int32_t> ids;
  for (size_t i = 0; i < size; ++i) ids.push_back(top[i].id);
  return ids;
}

// What the order that `filter` keeps a beginning of goes by.
using Key = double (*)(const Snapshot::Token& token, double entropy);

// Null if it has none.
Key KeyOf(std::optional<Filter> filter) {
  if (!filter) return nullptr;
  switch (*filter) {
    case Filter::kXtc:
    case Filter::kTemperature:
    case Filter::kSmoothing:
    case Filter::kAdaptiveP:
      return nullptr;
    case Filter::kTypicalP:
      return [](const Snapshot::Token& token, double entropy) {
        return std::abs(token.surprise - entropy);
      };
    default:
      return [](const Snapshot::Token& token, double) { return token.surprise; };
  }
}

class Recorder {
 public:
  Recorder(const Params& params, Snapshot raw, Explanation& explanation)
      : params_(params), now_(std::move(raw)), explanation_(explanation) {
    for (ExplainedToken& token : explanation_.tokens) {
      token.logit = now_.Find(token.id)->logit;
      token.probabilities.push_back(Probability(token.id));
    }
  }

  void Record(std::optional<Filter> filter, Snapshot after) {
    const Snapshot before = std::exchange(now_, std::move(after));
    const auto index = static_cast<int32_t>(explanation_.stages.size());
    Stage& stage = explanation_.stages.emplace_back();
    stage.filter = filter;
    stage.before = static_cast<int32_t>(before.tokens.size());
    stage.after = static_cast<int32_t>(now_.tokens.size());
    stage.entropy_before = before.entropy;
    stage.entropy_after = now_.entropy;
    Compare(before, stage);
    if (filter == Filter::kXtc) stage.threshold = params_.xtc_threshold;
    for (ExplainedToken& token : explanation_.tokens) {
      const Snapshot::Token* const left = now_.Find(token.id);
      token.probabilities.push_back(Probability(token.id));
      if (left == nullptr && !token.removed_by) token.removed_by = index;
      if (left != nullptr && !filter) token.edited_logit = left->logit;
    }
  }

 private:
  double Probability(int32_t id) const {
    const Snapshot::Token* const token = now_.Find(id);
    return token != nullptr ? token->p() : 0;
  }

  // Which of the tokens before went, and where the cut is.
  void Compare(const Snapshot& before, Stage& stage) const {
    const Key key = KeyOf(stage.filter);
    std::optional<double> last, next;
    auto left = now_.tokens.begin();
    for (const Snapshot::Token& token : before.tokens) {
      const bool stays = left != now_.tokens.end() && left->id == token.id;
      if (stays) {
        ++left;
      } else {
        stage.mass_removed += token.p();
      }
      if (key == nullptr) continue;
      const double at = key(token, before.entropy);
      if (stays) {
        last = std::max(last.value_or(at), at);
      } else {
        next = std::min(next.value_or(at), at);
      }
    }
    const bool is_distance = stage.filter == Filter::kTypicalP;
    if (last) stage.threshold = is_distance ? *last : Exp(-*last);
    if (next) stage.next = is_distance ? *next : Exp(-*next);
  }

  const Params& params_;
  Snapshot now_;
  Explanation& explanation_;
};

// Tokens to follow: the most probable ones of each snapshot, and `token_id`.
std::vector<ExplainedToken> Follow(const Snapshot& raw, const Snapshot& edited,
                                   const Snapshot& final, size_t top, int32_t token_id) {
  std::set<int32_t> ids = {token_id};
  for (const Snapshot* snapshot : {&raw, &edited, &final}) {
    for (const int32_t id : TopIds(*snapshot, top)) ids.insert(id);
  }
  std::vector<ExplainedToken> tokens;
  for (const int32_t id : ids) tokens.emplace_back().id = id;
  return tokens;
}

}  // namespace

Explanation ExplainRow(const Params& params, const RowInput& row, int32_t sample_index, int top) {
  Explanation explanation;
  EditBuffers buffers;
  FloatRow edited_row, raw_row;
  const int32_t bad_token = ReadAndEdit(params, row, buffers, edited_row);
  if (bad_token >= 0) {
    explanation.error = {.code = RowErrorCode::kNotFinite, .token = bad_token};
    return explanation;
  }
  if (edited_row.max() == kMasked) {
    explanation.error = {.code = RowErrorCode::kNoCandidate};
    return explanation;
  }
  raw_row.Read(row.logits, nullptr, {}, {});
  Support raw, edited;
  raw.Reset(raw_row);
  edited.Reset(edited_row);

  const bool may_xtc = MayXtc(params, row) && IsOn(Filter::kXtc, params);
  const bool xtc_acts = may_xtc && XtcActs(params, row.key, sample_index);
  const auto start = [&](Support& support) { support.Reset(edited_row); };
  Outcome outcome;
  outcome.Make(params, row, xtc_acts, start);
  explanation.token_id = outcome.Token(row.key, sample_index);
  explanation.greedy = outcome.greedy();
  if (params.HasState()) {
    explanation.state = outcome.StateAfter(params, row.state, explanation.token_id);
  }
  if (may_xtc) {
    explanation.coin = {.u = Uniform(row.key, Purpose::kXtcCoin, sample_index, 0),
                        .acts = xtc_acts,
                        .applied = outcome.xtc_applied()};
  }
  explanation.tokens =
      Follow(TakeSnapshot(raw), TakeSnapshot(edited), TakeSnapshot(outcome.drawn_from()),
             static_cast<size_t>(top), explanation.token_id);

  // The same again, with what to look at known.
  Recorder recorder(params, TakeSnapshot(raw), explanation);
  recorder.Record(std::nullopt, TakeSnapshot(edited));
  outcome.Make(params, row, xtc_acts, start, [&](Filter filter, Support& after) {
    recorder.Record(filter, TakeSnapshot(after));
    Stage& stage = explanation.stages.back();
    if (filter == Filter::kTemperature) {
      stage.temperature = stage.after < stage.before ? 0 : after.temperature();
    }
  });
  for (ExplainedToken& token : explanation.tokens) {
    token.noise = GumbelNoise(row.key, sample_index, token.id);
  }
  std::ranges::sort(explanation.tokens, {}, [](const ExplainedToken& token) {
    return std::tuple(-token.probabilities[1], -token.probabilities[0], token.id);
  });
  return explanation;
}

}  // namespace tokendraw::sampling
