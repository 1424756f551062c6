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
     "that of the profile",
     "The filters that run, in this order; ADAPTIVE_P can only be the last."}},
    {"logprobs", {"", "RAW for the table, otherwise none",
     "The distribution of the reported log-probabilities: the row as it came, or the survivors."}},
    {"top_count", {">= 0", "0", "How many of the most probable tokens to report for each draw."}},
    {"token_ids", {"[0, vocab_size)", "none",
     "Token ids whose log-probabilities to report beside the drawn one's."}},
    {"return_kept", {"", "off", "Reports the ids of the tokens that the filters left."}},
    {"profile", {"", "DEFAULT",
     "The engine whose order, cut rules and defaults of absent parameters apply."}},
    {"dynatemp_range", {"finite and >= 0.0", "0.0, off",
     "Dynamic temperature: how far the entropy moves the temperature up and down."}},
    {"dynatemp_exponent", {"finite and > 0.0", "1.0",
     "Dynamic temperature: bends the way from the lowest to the highest."}},
    {"smoothing_factor", {"finite and >= 0.0", "0.0, off",
     "Bends the logits by the square of their distance to the largest."}},
    {"smoothing_curve", {"[1.0, 3.0]", "1.0", "Smoothing: how much of it is the cube."}},
    {"top_a", {"[0.0, 1.0]", "0.0, off",
     "Keeps tokens with at least this share of the square of the largest probability."}},
    {"tfs_z", {"[0.0, 1.0]", "1.0, off",
     "Tail free sampling: cuts where the curve of sorted probabilities flattens."}},
    {"epsilon_cutoff", {"[0.0, 1.0)", "0.0, off", "Keeps tokens of at least this probability."}},
    {"eta_cutoff", {"[0.0, 1.0)", "0.0, off",
     "Keeps tokens of at least this probability, or of less where the entropy is high."}},
    {"top_h", {"[0.0, 1.0]", "0.0, off",
     "Of the 100 largest, keeps those with this share of their entropy."}},
    {"p_less_norm", {"", "off",
     "As p_less, with the bound lowered by what a uniform row has of it."}},
    {"mirostat", {"[0, 2]", "0, off", "Version of mirostat: keeps the surprise near a target."}},
    {"mirostat_tau", {"finite and >= 0.0", "5.0", "Mirostat: the target surprise, in bits."}},
    {"mirostat_eta", {"finite and >= 0.0", "0.1", "Mirostat: how fast its state moves."}},
    {"adaptive_target", {"-1.0 or [0.0, 1.0]", "-1.0, off",
     "Adaptive-p: the probability that drawn tokens should have on average."}},
    {"adaptive_decay", {"[0.0, 0.99]", "0.9", "Adaptive-p: how much of the past counts."}},
    {"xtc_skip_constrained", {"", "off",
     "XTC leaves rows alone of which only some tokens are allowed."}},
    {"repetition_penalty_slope", {"finite and >= 0.0", "1.0, off",
     "Share of the repetition penalty for tokens that are only in the older half of its window."}},
    {"no_repeat_ngram_size", {">= 0", "0, off",
     "Bans tokens that would complete a sequence of so many which the history has."}},
    {"bad_token_sequences", {"[0, vocab_size)", "none",
     "Bans the last token of a sequence after the others of it."}},
    {"min_tokens", {">= 0", "0, off", "Bans the stop_ids while the output has fewer tokens."}},
    {"stop_ids", {"[0, vocab_size)", "none", "Token ids such as end of sequence."}},
    {"allowed_ids", {"[0, vocab_size)", "all", "Bans every other token."}},
    {"dry_breaker_sequences", {"[0, vocab_size)", "none",
     "DRY: sequences of token ids that end a repeat."}},
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
