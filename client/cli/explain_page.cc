#include "client/cli/explain_page.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_replace.h"
#include "client/cli/command.h"
#include "client/cli/explain_html.h"
#include "client/cli/explain_report.h"
#include "client/cli/vocab.h"

namespace tokendraw::cli {
namespace {

using Json = nlohmann::ordered_json;

// A reply as the page reads it, with short names: it is in there some hundred times.
Json ToJson(const v1::ExplainRowResponse& reply) {
  Json stages = Json::array(), tokens = Json::array();
  for (const v1::ExplainedStage& stage : reply.stages()) {
    Json item = {{"name", StageName(stage)},     {"before", stage.before()},
                 {"after", stage.after()},       {"removed", stage.mass_removed()},
                 {"h0", stage.entropy_before()}, {"h1", stage.entropy_after()},
                 {"cut", CutOf(stage)}};
    stages.push_back(std::move(item));
  }
  for (const v1::ExplainedToken& token : reply.tokens()) {
    Json p = Json::array();
    for (const double value : token.probabilities()) p.push_back(static_cast<float>(value));
    Json item = {{"id", token.token_id()},
                 {"logit", token.has_edited_logit() ? token.edited_logit() : token.logit()},
                 {"p", std::move(p)},
                 {"noise", static_cast<float>(token.noise())}};
    if (token.has_removed_by()) item["gone"] = token.removed_by();
    tokens.push_back(std::move(item));
  }
  Json json = {{"token", reply.token_id()},
               {"greedy", reply.greedy()},
               {"stages", std::move(stages)},
               {"tokens", std::move(tokens)}};
  if (reply.has_xtc_coin()) {
    json["coin"] = {{"u", reply.xtc_coin().u()}, {"acts", reply.xtc_coin().acts()}};
  }
  return json;
}

void AddTexts(const v1::ExplainRowResponse& reply, const std::vector<std::string>& vocab,
              Json& texts) {
  for (const v1::ExplainedToken& token : reply.tokens()) {
    const std::string text = TextOf(token.token_id(), vocab);
    if (!text.empty()) texts[std::to_string(token.token_id())] = text;
  }
}

}  // namespace

std::string ExplainPage(const std::string& title, const v1::ExplainRowResponse& reply,
                        const std::vector<Move>& moves, const v1::SamplingParams& params,
                        const std::vector<std::string>& vocab) {
  Json texts = Json::object(), json_moves = Json::array();
  AddTexts(reply, vocab, texts);
  for (const Move& move : moves) {
    Json replies = Json::array();
    for (const auto& [value, moved] : move.replies) {
      AddTexts(moved, vocab, texts);
      replies.push_back({{"value", value}, {"reply", ToJson(moved)}});
    }
    json_moves.push_back({{"name", move.name},
                          {"given", move.given ? Json(*move.given) : Json()},
                          {"replies", std::move(replies)}});
  }
  const Json data = {{"title", title},
                     {"seed", std::to_string(reply.seed())},
                     {"version", reply.semantics_version()},
                     {"params", JsonOfSet(params)},
                     {"texts", std::move(texts)},
                     {"reply", ToJson(reply)},
                     {"moves", std::move(json_moves)}};
  // Within <script> only "</" and "<!" would mean something.
  const std::string text = absl::StrReplaceAll(
      data.dump(-1, ' ', false, Json::error_handler_t::replace), {{"<", "\\u003c"}});
  return absl::StrReplaceAll(kExplainHtml, {{"@DATA@", text}});
}

}  // namespace tokendraw::cli
