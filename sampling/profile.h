// Whose sampling a parameter set asks for.
#ifndef TOKENDRAW_SAMPLING_PROFILE_H_
#define TOKENDRAW_SAMPLING_PROFILE_H_

#include <vector>

#include "sampling/params.h"
#include "sampling/rules.h"

namespace tokendraw::sampling {

// What an engine does where engines differ. The defaults are those of PROFILE_DEFAULT.
struct Rules {
  Params absent;  // what parameters are that a request does not name, its chain too
  PenaltyOrder penalties = PenaltyOrder::kRepetitionDryFrequency;
  Repetition repetition = Repetition::kOncePerToken;
  int32_t longest_dry_match = 0;  // longer ones count as this long; 0: no limit
  BadTokensIn bad_tokens = BadTokensIn::kHistory;
  Greedy greedy = Greedy::kTemperatureOrTopK;
  Sigma sigma = Sigma::kSurvivors;
  MassCut typical_p = MassCut::kBelow;
  MassCut top_p = MassCut::kBelow;
  EqualAtK top_k = EqualAtK::kCut;
  XtcRule xtc;
  std::vector<Filter> no_min_keep;  // filters that keep fewer than min_keep if they say so
  // Changes of a parameter set that the engine makes by itself, or null. `has_chain`: the request
  // named its own.
  void (*adjust)(bool has_chain, Params& params) = nullptr;
};

const Rules& RulesOf(Profile profile);

// Step 4 of the chain: whether no filter runs and nothing is drawn.
bool IsGreedy(const Params& params);

}  // namespace tokendraw::sampling

#endif  // TOKENDRAW_SAMPLING_PROFILE_H_
