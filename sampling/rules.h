// The points on which samplers differ, each a choice. profile.cc says who chose what.
#ifndef TOKENDRAW_SAMPLING_RULES_H_
#define TOKENDRAW_SAMPLING_RULES_H_

namespace tokendraw::sampling {

// Tokens in some order stay while the mass before them is ...
enum class MassCut {
  kBelow,           // < p
  kUpTo,            // <= p
  kBelowWithEqual,  // < p, and all whose key equals that of the last of these
};

// Of tokens tied with the k-th of top_k ...
enum class EqualAtK {
  kCut,           // as many stay as make k
  kStay,          // all stay
  kStayIfBiased,  // all stay if the parameters have a logit_bias, else as many as make k
};

// The sigma of top_n_sigma is that of ...
enum class Sigma {
  kSurvivors,      // the survivors, a population
  kWholeRowAsZero  // the whole row, a sample, in which what does not survive counts as 0
};

// What XTC does.
struct XtcRule {
  bool above_threshold = false;    // members have p > t, not p >= t
  bool coin_may_equal = false;     // acts if u <= P, not u < P
  bool protected_stop_it = false;  // does nothing if a protected token would be removed
};

// When the token is the largest logit, without a draw.
enum class Greedy {
  kTemperatureOrTopK,        // temperature 0 or top_k 1; no filter runs
  kTemperature,              // temperature 0; no filter runs
  kTemperatureUnedited,      // temperature 0; no filter runs, and no edit
  kTemperatureOrTopKButXtc,  // temperature 0 or top_k 1; no filter runs but XTC
  kInChain,  // never: FILTER_TEMPERATURE keeps the first largest if temperature is 0
};

// How often a repetition penalty applies to a token of the window.
enum class Repetition { kOncePerToken, kOncePerOccurrence };

// In which order penalties are taken off.
enum class PenaltyOrder { kRepetitionDryFrequency, kRepetitionFrequencyDry };

// What bad_token_sequences are looked for in.
enum class BadTokensIn { kHistory, kOutput };

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_RULES_H_
