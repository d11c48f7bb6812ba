// SPDX-License-Identifier: Apache-2.0
#include "policy/guards.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "common/status.h"
#include "fabric/names.h"
#include "policy/intent_maker.h"
#include "policy/target.h"

namespace fabricd::policy {
namespace {

constexpr size_t kNamesShown = 8;

std::string NameOf(PortRef port, const fabric::FabricSnapshot& snapshot) {
  const fabric::Node* node = snapshot.node(port.node);
  return node == nullptr ? "a port that is gone" : fabric::PortName(*node, port.port);
}

std::string NamesOf(const std::vector<PortRef>& ports, const fabric::FabricSnapshot& snapshot) {
  std::string names;
  for (size_t i = 0; i < std::min(ports.size(), kNamesShown); ++i)
    names += fmt::format("{}{}", i > 0 ? ", " : "", NameOf(ports[i], snapshot));
  if (ports.size() > kNamesShown) names += fmt::format(" and {} more", ports.size() - kNamesShown);
  return names;
}

}  // namespace

bool DisablesLinkOf(const Hold& hold, const fabric::FabricSnapshot& snapshot, PortRef sm_port) {
  const fabric::Port* own = snapshot.port(sm_port);
  if (hold.kind != HoldKind::kDisable || own == nullptr) return false;
  for (const HeldPort& facing : hold.target.facing) {
    const PortRef port = PortRefOf(facing, snapshot);
    if (!port.IsNone() && (port == own->peer || port == sm_port)) return true;
  }
  return false;
}

std::string HoldsOnLinkOf(const HoldBook& holds, const HeldPort& own) {
  std::string certain, possible;
  size_t more = 0;
  // Lifted ones too: their ports are not known to be enabled again.
  for (const auto* book : {&holds.standing(), &holds.lifted()}) {
    for (const auto& [id, hold] : *book) {
      if (hold.kind != HoldKind::kDisable) continue;
      const auto& [nodes, ports] = std::tie(hold.target.nodes, hold.target.ports);
      const bool meant = std::find(nodes.begin(), nodes.end(), own.node) != nodes.end() ||
                         std::find(ports.begin(), ports.end(), own) != ports.end();
      if (!meant && ++more > kNamesShown) continue;
      std::string& into = meant ? certain : possible;
      into += fmt::format("{}hold {} of {} ({})", into.empty() ? "" : ", ", id, hold.owner,
                          hold.target.name);
    }
  }
  if (!certain.empty())
    return fmt::format("{} disables it; fabricd has to run on another port", certain);
  if (possible.empty()) return "";
  if (more > kNamesShown) possible += fmt::format(" and {} more", more - kNamesShown);
  return fmt::format(
      "if it has a cable, one of these may disable it: {}; then fabricd has to run on another port",
      possible);
}

absl::Status CheckGuards(const Hold& hold, const GuardFacts& facts,
                         const fabric::FabricSnapshot& snapshot, PortRef sm_port) {
  const std::string what = fmt::format("{} of {} {}", HoldKindText(hold),
                                       TargetKindName(hold.target.kind), hold.target.name);
  if (DisablesLinkOf(hold, snapshot, sm_port))
    return FailedPrecondition(
        "guard \"SM's own path\": {} would take down the link of the SM's own port {}, and nobody "
        "could enable it again; this cannot be forced",
        what, NameOf(sm_port, snapshot));
  if (hold.forced) return absl::OkStatus();
  if (facts.sm_cut_off)
    return FailedPrecondition("guard \"SM's own path\": {} would cut off the SM's own port {}",
                              what, NameOf(sm_port, snapshot));
  if (!facts.cut_off.empty())
    return FailedPrecondition(
        "guard \"connectivity\": {} would cut off {} other end port{}: {}; hold them first, or "
        "force it",
        what, facts.cut_off.size(), facts.cut_off.size() == 1 ? "" : "s",
        NamesOf(facts.cut_off, snapshot));
  if (!facts.plan_found)
    return FailedPrecondition("guard \"connectivity\": with {} no routes are found: {}", what,
                              facts.why_not);
  if (facts.standing >= facts.budget)
    return FailedPrecondition("guard \"budget\": {} holds of kind {} stand, the budget is {}",
                              facts.standing, HoldKindName(hold.kind), facts.budget);
  return absl::OkStatus();
}

size_t BudgetOf(HoldKind kind, size_t end_ports, const HoldOptions& options) {
  if (kind == HoldKind::kCordon) return std::numeric_limits<size_t>::max();
  return std::max<size_t>(options.budget, end_ports * options.budget_per_mille / 1000);
}

}  // namespace fabricd::policy
