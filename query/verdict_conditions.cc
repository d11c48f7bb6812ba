// SPDX-License-Identifier: Apache-2.0
#include "query/verdict_conditions.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "fabric/port_name.h"
#include "policy/verdict/why_text.h"

namespace fabricd::query {
namespace {

using policy::Condition;
using policy::Verdict;

std::string NameOf(PortRef port, const fabric::FabricSnapshot& snapshot,
                   const fabric::NodeNameMap* map) {
  const fabric::Node* node = port.IsNone() ? nullptr : snapshot.node(port.node);
  return node == nullptr ? "a port that is gone" : fabric::PortName(*node, port.port, map);
}

// The numbers of the rows that are raised: "E1 symbol errors" → "321 (limit 15)".
std::vector<std::pair<std::string, std::string>> EvidenceOf(const VerdictRecord& record) {
  std::vector<std::pair<std::string, std::string>> evidence = {
      {"culprit", std::string(policy::CulpritName(CulpritOf(record)))},
      {"confidence", fmt::format("{:.2f}", record.found.confidence)},
      {"stage", std::string(policy::StageName(record.standing.stage))}};
  for (const policy::EvidenceRow& row : record.found.rows) {
    if (!row.IsAtLeast(policy::Level::kSuspect)) continue;
    evidence.emplace_back(fmt::format("{} {}", policy::RowName(row.row), row.signal),
                          fmt::format("{:.6g} (limit {:.6g})", row.value, row.limit));
  }
  return evidence;
}

Condition ConditionOf(const VerdictRecord& record, const VerdictView& verdicts,
                      const fabric::NodeNameMap* map) {
  const fabric::FabricSnapshot& snapshot = *verdicts.snapshot;
  const fabric::Node* a = record.a.IsNone() ? nullptr : snapshot.node(record.a.node);
  const bool is_host_link = a != nullptr && !a->IsSwitch();
  const PortRef about = is_host_link ? record.a : AccusedEnd(record);
  const fabric::Node* node = about.IsNone() ? nullptr : snapshot.node(about.node);
  const std::string name_a = NameOf(record.a, snapshot, map);
  const std::string name_b = NameOf(record.b, snapshot, map);
  Condition condition;
  condition.type = std::string(ConditionTypeOf(VerdictOf(record)));
  condition.subject = fabric::LinkName(name_a, name_b);
  condition.node = node == nullptr ? record.link.a.node : node->guid();
  condition.port = node == nullptr ? record.link.a.port : about.port;
  condition.message = policy::VerdictSentence(record.found, {name_a, name_b});
  if (record.standing.stage == policy::Stage::kRecovering)
    condition.message = fmt::format("RECOVERING; {}", condition.message);
  condition.evidence = EvidenceOf(record);
  condition.mode = verdicts.configured > policy::Action::kRecommend
                       ? policy::ConditionMode::kEnforce
                       : policy::ConditionMode::kRecommend;
  condition.recommended = record.response.recommended.value_or(policy::HoldKind::kCordon);
  condition.hold = record.response.hold;
  condition.held_back = record.response.held_back;
  condition.since = record.standing.since;
  return condition;
}

}  // namespace

std::string_view ConditionTypeOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNoisyPhy: return "NoisyPhy";
    case Verdict::kFlapping: return "Flapping";
    case Verdict::kSlowReceiver: return "SlowReceiver";
    case Verdict::kChatty: return "Chatty";
    case Verdict::kHealthy:
    case Verdict::kSuspect:
    case Verdict::kVictim:
    case Verdict::kUnknown: break;
  }
  return "";
}

std::vector<Condition> ConditionsOf(const VerdictView& verdicts, const fabric::NodeNameMap* map) {
  std::vector<Condition> conditions;
  for (const VerdictRecord& record : verdicts.records)
    if (policy::IsBad(VerdictOf(record))) conditions.push_back(ConditionOf(record, verdicts, map));
  return conditions;
}

std::shared_ptr<const policy::PolicyView> WithVerdicts(
    std::shared_ptr<const policy::PolicyView> policy, const VerdictView& verdicts,
    const fabric::NodeNameMap* map) {
  std::vector<Condition> conditions = ConditionsOf(verdicts, map);
  if (conditions.empty()) return policy;
  auto with = std::make_shared<policy::PolicyView>(*policy);
  std::move(conditions.begin(), conditions.end(), std::back_inserter(with->conditions));
  std::sort(with->conditions.begin(), with->conditions.end(),
            [](const Condition& x, const Condition& y) {
              return std::tie(x.type, x.node, x.port) < std::tie(y.type, y.node, y.port);
            });
  return with;
}

}  // namespace fabricd::query
