#include "client/cli/explain_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "client/cli/explain_page.h"
#include "client/cli/param_sweep.h"

namespace tokendraw::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

v1::ExplainedStage Stage(v1::Filter filter) {
  v1::ExplainedStage stage;
  stage.set_filter(filter);
  return stage;
}

TEST(ExplainReportTest, NamesOfStages) {
  EXPECT_EQ(StageName(Stage(v1::FILTER_UNSPECIFIED)), "edits");
  EXPECT_EQ(StageName(Stage(v1::FILTER_TOP_N_SIGMA)), "top_n_sigma");
  EXPECT_EQ(StageName(Stage(static_cast<v1::Filter>(99))), "filter 99") << "of a newer server";
}

TEST(ExplainReportTest, Cuts) {
  v1::ExplainedStage stage = Stage(v1::FILTER_MIN_P);
  EXPECT_EQ(CutOf(stage), "");
  stage.set_threshold(0.25);
  EXPECT_EQ(CutOf(stage), "p down to 0.25");
  stage.set_next(0.125);
  EXPECT_EQ(CutOf(stage), "p down to 0.25, next 0.125");
  stage.set_filter(v1::FILTER_TYPICAL_P);
  EXPECT_EQ(CutOf(stage), "|-ln p - H| to 0.2500, next 0.1250");
  stage = Stage(v1::FILTER_XTC);
  stage.set_threshold(0.1);
  EXPECT_EQ(CutOf(stage), "p >= 0.1");
  stage = Stage(v1::FILTER_TEMPERATURE);
  stage.set_temperature(0.8);
  EXPECT_EQ(CutOf(stage), "T = 0.8");
}

v1::ExplainRowResponse Reply() {
  v1::ExplainRowResponse reply;
  reply.set_token_id(1);
  reply.set_seed(7);
  *reply.add_stages() = Stage(v1::FILTER_UNSPECIFIED);
  *reply.add_stages() = Stage(v1::FILTER_XTC);
  for (const int id : {0, 1}) {
    v1::ExplainedToken& token = *reply.add_tokens();
    token.set_token_id(id);
    token.set_edited_logit(1);
    for (const double p : {0.5, id == 0 ? 0.6 : 0.3, id == 0 ? 0.0 : 1.0}) {
      token.add_probabilities(p);
    }
  }
  reply.mutable_tokens(0)->set_removed_by(1);
  return reply;
}

std::string Printed(const v1::ExplainRowResponse& reply, const v1::SamplingParams& params) {
  std::ostringstream out;
  PrintExplanation(reply, params, {}, out);
  return out.str();
}

TEST(ExplainReportTest, TheCoin) {
  v1::ExplainRowResponse reply = Reply();
  v1::SamplingParams params;
  params.set_xtc_probability(0.5);
  EXPECT_THAT(Printed(reply, params), Not(HasSubstr("coin")));
  reply.mutable_xtc_coin()->set_u(0.75);
  EXPECT_THAT(Printed(reply, params),
              HasSubstr("XTC coin: u = 0.7500, xtc_probability 0.5: does not act\n"));
  reply.mutable_xtc_coin()->set_acts(true);
  EXPECT_THAT(Printed(reply, params), HasSubstr(": acts, and finds nothing to remove\n"));
  reply.mutable_xtc_coin()->set_applied(true);
  EXPECT_THAT(Printed(reply, params), HasSubstr(": acts\n"));
}

TEST(ExplainReportTest, GreedyRowsShowNoNoise) {
  v1::ExplainRowResponse reply = Reply();
  EXPECT_THAT(Printed(reply, {}), HasSubstr("noise"));
  reply.set_greedy(true);
  EXPECT_THAT(Printed(reply, {}), Not(HasSubstr("noise")));
  EXPECT_THAT(Printed(reply, {}), HasSubstr("largest logit: token 1\n"));
}

TEST(ParamSweepTest, OffersOtherValues) {
  v1::SamplingParams params;
  params.set_top_k(40);
  params.set_top_a(0.33);
  bool has_top_a = false;
  for (const ParamSweep& sweep : SweepsOf(params)) {
    EXPECT_TRUE(std::ranges::is_sorted(sweep.values)) << sweep.name;
    EXPECT_NE(sweep.name, "tfs_z") << "is not set";
    if (sweep.name == "top_a") has_top_a = true;
    if (sweep.name == "top_k") {
      EXPECT_EQ(sweep.given, 40);
      EXPECT_THAT(sweep.values, ElementsAre(0, 1, 2, 3, 5, 10, 20, 100));
    }
    if (sweep.name == "min_p") {
      EXPECT_FALSE(sweep.given.has_value());
    }
  }
  EXPECT_TRUE(has_top_a);
}

TEST(ParamSweepTest, MovesOneParameter) {
  v1::SamplingParams params;
  params.set_top_k(40);
  EXPECT_EQ(WithValue(params, "top_k", 5).top_k(), 5);
  EXPECT_EQ(WithValue(params, "min_p", 0.05).min_p(), 0.05);
  EXPECT_EQ(WithValue(params, "min_p", 0.05).top_k(), 40);
  EXPECT_EQ(WithValue(params, "repetition_penalty", 1.5).repetition_penalty(), 1.5f);
}

// Every value that the page offers is one that the service takes: see e2e.explain for the service.
TEST(ExplainPageTest, HoldsItsDataAsText) {
  const std::string page = ExplainPage("a < b", Reply(), {}, {}, {"</script>", "x"});
  EXPECT_THAT(page, Not(HasSubstr("@DATA@")));
  EXPECT_THAT(page, HasSubstr("a \\u003c b"));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>"));
}

}  // namespace
}  // namespace tokendraw::cli
