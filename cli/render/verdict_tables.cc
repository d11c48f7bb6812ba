// SPDX-License-Identifier: Apache-2.0
#include "cli/render/verdict_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "cli/render/policy_tables.h"
#include "cli/render/tables.h"
#include "cli/render/telemetry_tables.h"

namespace fabricd::cli {
namespace {

using google::protobuf::util::TimeUtil;

// The worst first.
constexpr std::array kVerdicts = {"NOISY_PHY", "FLAPPING", "SLOW_RECEIVER", "CHATTY",
                                  "SUSPECT",   "VICTIM",   "UNKNOWN",       "HEALTHY"};

std::string Ago(const google::protobuf::Timestamp& time, int64_t now_ms) {
  return SpanText(now_ms - TimeUtil::TimestampToMilliseconds(time));
}

Cell VerdictCell(const pb::Verdict& verdict) {
  if (IsBadVerdict(verdict.verdict())) return {verdict.verdict(), Tone::kBad};
  const bool is_healthy = verdict.verdict() == "HEALTHY";
  return {verdict.verdict(), is_healthy ? Tone::kGood : Tone::kWarning};
}

// "recommend cordon (budget)", "cordon (hold 12)", "overruled".
std::string ActionText(const pb::Verdict& verdict) {
  if (verdict.has_overruled()) return "overruled";
  std::string text = verdict.action() == "none" ? "" : verdict.action();
  if (text == "recommend") text += " " + KindWord(verdict.recommended());
  if (!verdict.hold_id().empty())
    return fmt::format("{}{}hold {}", text, text.empty() ? "" : ", ", verdict.hold_id());
  if (!text.empty() && !verdict.held_back().empty())
    text += fmt::format(" ({})", verdict.held_back());
  return OrDash(text);
}

std::string StageText(const pb::Verdict& verdict) {
  return verdict.stage() + (verdict.stale() ? ",stale" : "") +
         (verdict.needs_operator() ? ",needs operator" : "");
}

// "by ann 5m ago: why"
std::string RemarkText(const pb::VerdictRemark& remark, int64_t now_ms) {
  std::string text = fmt::format("by {} {} ago", remark.by(), Ago(remark.time(), now_ms));
  if (remark.has_until())
    text += fmt::format(", for {} more",
                        SpanText(TimeUtil::TimestampToMilliseconds(remark.until()) - now_ms));
  return remark.reason().empty() ? text : text + ": " + remark.reason();
}

std::string CauseText(const pb::CommonCause& cause) {
  std::string text = fmt::format("{}: {}", cause.cause(), cause.message());
  return cause.node_name().empty() ? text : fmt::format("{} ({})", text, cause.node_name());
}

using PortKey = std::pair<std::string, uint32_t>;
PortKey KeyOf(const pb::PortId& port) { return {port.node_guid(), port.number()}; }

std::string PercentText(double share) { return fmt::format("{:.1f}%", share * 100); }

// The victims of a tree by the port that they wait for.
class TreeText {
 public:
  explicit TreeText(const pb::CongestionTree& tree) : tree_(tree) {
    for (const pb::WaitingPort& victim : tree.victims())
      behind_[KeyOf(victim.towards())].push_back(&victim);
  }
  std::string Render() {
    const pb::WaitingPort& root = tree_.root();
    text_ = fmt::format("{} -> {}  {}{}  wait {}  sends {}  victims {}\n", root.name(),
                        OrDash(tree_.peer_name()), tree_.kind(), tree_.cycle() ? " (cycle)" : "",
                        PercentText(root.wait_share()), PercentText(root.utilisation()),
                        tree_.victims_total());
    Add(root.port());
    const uint32_t more = tree_.victims_total() - static_cast<uint32_t>(tree_.victims_size());
    if (more > 0) text_ += fmt::format("  and {} more\n", more);
    return text_;
  }

 private:
  void Add(const pb::PortId& port) {
    const auto found = behind_.find(KeyOf(port));
    if (found == behind_.end()) return;
    // Once only: ports may wait for each other in a cycle.
    const std::vector<const pb::WaitingPort*> victims = std::move(found->second);
    behind_.erase(found);
    for (const pb::WaitingPort* victim : victims) {
      text_ += fmt::format("{:{}}{}  wait {}  sends {}\n", "", size_t{2} * victim->hops(),
                           victim->name(), PercentText(victim->wait_share()),
                           PercentText(victim->utilisation()));
      Add(victim->port());
    }
  }

  const pb::CongestionTree& tree_;
  std::map<PortKey, std::vector<const pb::WaitingPort*>> behind_;
  std::string text_;
};

}  // namespace

bool IsBadVerdict(std::string_view verdict) {
  return std::find(kVerdicts.begin(), kVerdicts.begin() + 4, verdict) != kVerdicts.begin() + 4;
}

const std::string& AccusedName(const pb::Verdict& verdict) {
  const bool is_b = verdict.has_end() && KeyOf(verdict.end()) == KeyOf(verdict.b());
  return is_b ? verdict.b_name() : verdict.a_name();
}

std::string WhyNoVerdicts(const pb::ListVerdictsResponse& verdicts) {
  if (!verdicts.enabled())
    return "no verdicts: telemetry does not poll, or verdicts.enabled is false (fabricctl "
           "describe telemetry)";
  return verdicts.has_assessed() ? "" : "no verdicts: links have not been assessed yet";
}

Table VerdictTable(const pb::ListVerdictsResponse& verdicts, bool wide, int64_t now_ms) {
  std::vector<std::string> headers = {"LINK",       "VERDICT", "STAGE",  "CULPRIT",
                                      "CONFIDENCE", "SINCE",   "ACTION", "REASON"};
  if (wide) headers.insert(headers.end(), {"PEER", "CAUSE", "ACKNOWLEDGED", "REMEDY"});
  Table table(headers);
  for (const pb::Verdict& verdict : verdicts.verdicts()) {
    const std::string& accused = AccusedName(verdict);
    std::vector<Cell> cells = {accused,
                               VerdictCell(verdict),
                               StageText(verdict),
                               OrDash(verdict.culprit()),
                               fmt::format("{:.2f}", verdict.confidence()),
                               verdict.has_since() ? Ago(verdict.since(), now_ms) : "-",
                               ActionText(verdict),
                               OrDash(verdict.reason())};
    if (wide) {
      cells.emplace_back(&accused == &verdict.a_name() ? verdict.b_name() : verdict.a_name());
      cells.emplace_back(OrDash(verdict.common_cause().cause()));
      cells.emplace_back(OrDash(verdict.acknowledged().by()));
      cells.emplace_back(OrDash(verdict.remedy()));
    }
    table.AddRow(std::move(cells));
  }
  return table;
}

std::string VerdictNotes(const pb::ListVerdictsResponse& verdicts) {
  std::string text;
  uint32_t links = 0;
  for (const char* name : kVerdicts) {
    const auto found = verdicts.counts().find(std::string(name));
    if (found == verdicts.counts().end() || found->second == 0) continue;
    links += found->second;
    text += fmt::format(", {} {}", found->second, name);
  }
  text = fmt::format("{} links{}; assessed {} ago\n", links, text,
                     SpanText(TimeUtil::DurationToMilliseconds(verdicts.age())));
  for (const pb::CommonCause& cause : verdicts.common_causes())
    text += fmt::format("common cause {}\n", CauseText(cause));
  if (verdicts.breaker_open())
    text +=
        "the breaker is open: no action follows from a verdict until `fabricctl verdicts "
        "reset-breaker`\n";
  return text;
}

std::string DescribeVerdict(const pb::GetVerdictResponse& response, int64_t now_ms) {
  const pb::Verdict& verdict = response.verdict();
  std::string text = response.text();
  if (text.empty())
    text = fmt::format("{}  {} - {}  confidence {:.2f}\n", verdict.verdict(), verdict.a_name(),
                       verdict.b_name(), verdict.confidence());
  const auto add = [&](const char* key, const std::string& value) {
    text += fmt::format("{:<12}{}\n", key, value);
  };
  if (const std::string action = ActionText(verdict); action != "-") add("action", action);
  if (verdict.has_acknowledged()) add("seen", RemarkText(verdict.acknowledged(), now_ms));
  if (verdict.has_overruled()) add("overruled", RemarkText(verdict.overruled(), now_ms));
  if (verdict.has_common_cause()) add("cause", CauseText(verdict.common_cause()));
  if (verdict.has_root()) add("waits for", PortText(verdict.root()));
  return text;
}

std::string CongestionText(const pb::ListCongestionResponse& congestion) {
  std::string text;
  for (const pb::CongestionTree& tree : congestion.trees()) text += TreeText(tree).Render();
  if (congestion.without_root() > 0)
    text += fmt::format("{} waiting ports without a root\n", congestion.without_root());
  return text;
}

}  // namespace fabricd::cli
