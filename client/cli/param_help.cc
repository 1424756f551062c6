#include "client/cli/param_help.h"

namespace tokendraw::cli {
namespace {

struct Entry {
  const char* name;
  FlagText text;
};

// clang-format off
constexpr Entry kTexts[] = {
    {"temperature", {">= 0.0", "1.0",
     "Divides the logits; 0 takes the largest logit, and no filter runs."}},
    {"top_k", {">= 0", "0, off", "Keeps the k largest logits; 1 is greedy."}},
    {"top_p", {"(0.0, 1.0]", "1.0, off",
     "Keeps the smallest set of the most probable tokens with this mass."}},
    {"min_p", {"[0.0, 1.0]", "0.0, off",
     "Keeps tokens with at least this share of the largest probability."}},
    {"typical_p", {"(0.0, 1.0]", "1.0, off",
     "Keeps the tokens whose surprise is nearest to the entropy, up to this mass."}},
    {"top_n_sigma", {">= 0.0", "0.0, off",
     "Keeps logits within n standard deviations of the largest."}},
    {"p_less", {"", "off", "Keeps probabilities of at least the sum of their squares."}},
    {"xtc_probability", {"[0.0, 1.0]", "0.0, off",
     "Probability that XTC removes the top choices of a row."}},
    {"xtc_threshold", {"(0.0, 1.0]", "0.1",
     "Tokens of at least this probability are top choices; the least of them stays."}},
    {"repetition_penalty", {"finite and > 0.0", "1.0, off",
     "Divides positive and multiplies negative logits of tokens of the history."}},
    {"frequency_penalty", {"finite", "0.0, off",
     "Subtracted from a logit once for each time that its token occurred."}},
    {"presence_penalty", {"finite", "0.0, off",
     "Subtracted from a logit if its token occurred."}},
    {"penalty_last_n", {">= -1", "-1, all of it",
     "How many tokens of the history these three penalties look at."}},
    {"min_keep", {">= 0", "1", "Least number of tokens that a filter leaves."}},
    {"frequency_scope", {"", "PROMPT_AND_OUTPUT",
     "The part of the history that the frequency and presence penalties count."}},
    {"xtc_protected_ids", {"[0, vocab_size)", "none", "Token ids that XTC never removes."}},
    {"dry_multiplier", {"finite and >= 0.0", "0.0, off",
     "DRY: takes multiplier * base^(n - allowed_length) off a token that extends a repeat of n."}},
    {"dry_base", {"finite and >= 1.0", "1.75", "DRY: growth of the penalty for each token."}},
    {"dry_allowed_length", {">= 1", "2", "DRY: shortest repeat that is punished, in tokens."}},
    {"dry_penalty_last_n", {">= -1", "-1, all of it",
     "DRY: how many tokens of the history it looks at."}},
    {"dry_breaker_ids", {"[0, vocab_size)", "none",
     "DRY: token ids that end a repeat and are never punished."}},
    {"logit_bias", {"finite or -inf", "none",
     "Added to single logits before everything else; -inf bans the token."}},
    {"chain", {"each at most once",
     "TOP_N_SIGMA,P_LESS,TYPICAL_P,XTC,TEMPERATURE,TOP_K,TOP_P,MIN_P",
     "The filters that run, in this order."}},
    {"logprobs", {"", "RAW for the table, otherwise none",
     "The distribution of the reported log-probabilities: the row as it came, or the survivors."}},
    {"top_count", {">= 0", "0", "How many of the most probable tokens to report for each draw."}},
    {"token_ids", {"[0, vocab_size)", "none",
     "Token ids whose log-probabilities to report beside the drawn one's."}},
    {"return_kept", {"", "off", "Reports the ids of the tokens that the filters left."}},
    {"seed", {"0 to 2^64 - 1", "the server draws one for each row",
     "Key of the random numbers, the same for all rows."}},
    {"position", {">= 0", "0", "Position of the first row; row i has this + i."}},
    {"sample_count", {"[0, 65536]", "1", "Independent draws of each row."}},
    {"prompt_ids", {"[0, vocab_size)", "none", "The history of every row: its prompt."}},
    {"output_ids", {"[0, vocab_size)", "none", "The history of every row: what it wrote so far."}},
};
// clang-format on

}  // namespace

FlagText TextOfFlag(const std::string& name) {
  for (const Entry& entry : kTexts) {
    if (name == entry.name) return entry.text;
  }
  return {};
}

}  // namespace tokendraw::cli
