// SPDX-License-Identifier: Apache-2.0
#include "sim/run/members.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "mad/wire/tables.h"
#include "sim/checkers/end_ports.h"
#include "sim/faults/draw.h"

namespace fabricd::sim {
namespace {

constexpr size_t kMostFindings = 10;
constexpr uint8_t kSlowestRate = 2;  // 2.5 Gb/s

const routing::MulticastTree* TreeOf(const sweep::FabricView& view, Lid mlid) {
  for (const auto& tree : view.multicast->trees)
    if (tree->mlid == mlid) return tree.get();
  return nullptr;
}

// Why the manager says that it does not serve a member.
std::optional<routing::Unserved> WhyNot(const sweep::FabricView& view, Lid mlid, Guid guid) {
  if (const auto* tree = TreeOf(view, mlid))
    for (const auto& member : tree->unserved)
      if (member.port_guid == guid) return member.reason;
  return std::nullopt;
}

}  // namespace

Members::Members(Simulation& simulation, const Faults& faults, uint64_t seed,
                 std::function<void(const std::string& text)> note)
    : simulation_(simulation), faults_(faults), rng_(seed), note_(std::move(note)) {
  for (const EndPort& port : EndPorts(simulation.fabric()))
    if (port.ref.port != PortNum(0)) ports_.push_back(port.guid);
}

void Members::Plan() {
  const auto groups = static_cast<size_t>(Count(faults_.groups));
  if (groups == 0 || ports_.empty()) return;
  for (size_t i = 0; i < groups; ++i) {
    fabric::MulticastGroup group;
    group.mlid = Lid(static_cast<uint16_t>(fabric::kFirstMulticastLid.value() + i));
    group.mtu = 1;
    group.rate = kSlowestRate;
    groups_.groups.push_back(std::move(group));
  }
  const Duration phase = Seconds(faults_.phase_s);
  for (size_t part = 0; part < 4; ++part)
    simulation_.At(simulation_.now() + UpTo(phase / 2, rng_),
                   [this, groups] { Change(groups / 2 + 1, 6); });
  for (int i = 0; i < Count(faults_.joins); ++i)
    simulation_.At(simulation_.now() + UpTo(phase, rng_), [this] { Change(1 + rng_.Below(3), 3); });
}

void Members::Change(size_t groups, size_t changes) {
  if (stopped_) return;
  note_(fmt::format("members of {} groups join and leave", groups));
  for (size_t i = 0; i < groups; ++i)
    ChangeGroup(groups_.groups[rng_.Below(groups_.groups.size())], 1 + rng_.Below(changes));
  Tell();
}

void Members::ChangeGroup(fabric::MulticastGroup& group, size_t changes) {
  std::map<Guid, bool> members;
  for (const auto& member : group.members) members[member.port_guid] = member.receives;
  for (size_t i = 0; i < changes; ++i) {
    const Guid guid = ports_[rng_.Below(ports_.size())];
    if (!members.erase(guid)) members[guid] = !rng_.Chance(0.2);
  }
  group.members.clear();
  for (const auto& [guid, receives] : members) group.members.push_back({guid, receives});
}

// Groups without members are gone.
void Members::Tell() {
  auto shared = std::make_shared<fabric::MulticastGroups>(groups_);
  std::erase_if(shared->groups, [](const auto& group) { return group.members.empty(); });
  for (size_t i = 0; i < simulation_.manager_count(); ++i) {
    simulation_.manager(i).groups = shared;
    if (simulation_.manager(i).core) simulation_.Post(i, sweep::GroupsChanged{shared});
  }
}

// What was written is the only thing that can have closed a circle.
void Members::OnServed(const Served& served) {
  if (!served.changed || loops_.size() >= kMostFindings ||
      served.request.attribute != wire::AttributeId::kMulticastForwardingTable)
    return;
  const PortRef at = served.ingress;
  const auto block = static_cast<unsigned>(served.request.modifier & 0x1FF);
  const auto table = wire::MulticastForwardingTable::Decode(served.answer.data);
  for (unsigned i = 0; i < table.kEntries; ++i) {
    if (table.port_mask[i] == 0) continue;
    const Lid mlid(
        static_cast<uint16_t>(fabric::kFirstMulticastLid.value() + block * table.kEntries + i));
    if (simulation_.fabric().TraceMulticast({at.node, PortNum(0)}, mlid).loops)
      loops_.push_back(
          fmt::format("multicast loop: MLID {:#x} at {}, at {:.6f} s", mlid.value(),
                      NameOf(simulation_.fabric(), {at.node, PortNum(0)}),
                      std::chrono::duration<double>(served.at.time_since_epoch()).count()));
  }
}

std::vector<std::string> Members::Findings(const Manager& master,
                                           const absl::flat_hash_set<PortRef>& unwanted) const {
  std::vector<std::string> findings;
  const SimFabric& fabric = simulation_.fabric();
  const std::vector<uint32_t> part = SwitchParts(fabric, unwanted);
  std::map<Guid, EndPort> there;
  for (const EndPort& port : EndPorts(fabric)) there.emplace(port.guid, port);
  const NodeIndex home_switch = SwitchOf(fabric, master.host);
  if (home_switch.IsNone()) return findings;  // It has no link, or hangs on no switch.
  const uint32_t home = part[home_switch.value()];
  for (const fabric::MulticastGroup& group : groups_.groups) {
    std::vector<PortRef> all, receivers;
    for (const fabric::MulticastMember& member : group.members) {
      const auto at = there.find(member.port_guid);
      if (at == there.end() || unwanted.contains(at->second.ref)) continue;
      const NodeIndex on = SwitchOf(fabric, at->second.ref);
      if (on.IsNone() || part[on.value()] != home) continue;
      // A hold may have cut it off; without holds all that is linked is there.
      const auto reason = WhyNot(*master.view, group.mlid, member.port_guid);
      const bool cut_off =
          reason == routing::Unserved::kAbsent || reason == routing::Unserved::kCutOff;
      if (cut_off && Count(faults_.holds) > 0) continue;
      all.push_back(at->second.ref);
      if (member.receives) receivers.push_back(at->second.ref);
    }
    std::sort(receivers.begin(), receivers.end());
    for (PortRef from : all) {
      if (findings.size() >= kMostFindings) return findings;
      const MulticastReach reach = fabric.TraceMulticast(from, group.mlid);
      std::vector<PortRef> wanted = receivers;
      std::erase(wanted, from);
      if (reach.ports == wanted && reach.twice.empty() && !reach.loops) continue;
      findings.push_back(fmt::format("MLID {:#x} from {} reaches {} ports{}, not the {} of members",
                                     group.mlid.value(), NameOf(fabric, from), reach.ports.size(),
                                     reach.loops           ? " in circles"
                                     : reach.twice.empty() ? ""
                                                           : ", some twice",
                                     wanted.size()));
    }
  }
  return findings;
}

}  // namespace fabricd::sim
