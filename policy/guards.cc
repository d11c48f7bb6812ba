// SPDX-License-Identifier: Apache-2.0
#include "policy/guards.h"

#include <algorithm>
#include <limits>

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

bool DisablesLinkOf(const Hold& hold, const fabric::FabricSnapshot& snapshot, PortRef sm_port) {
  const fabric::Port* own = snapshot.port(sm_port);
  if (hold.kind != HoldKind::kDisable || own == nullptr) return false;
  for (const HeldPort& facing : hold.target.facing) {
    const PortRef port = PortRefOf(facing, snapshot);
    if (!port.IsNone() && (port == own->peer || port == sm_port)) return true;
  }
  return false;
}

}  // namespace

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
