// SPDX-License-Identifier: Apache-2.0
#include "routing/proof/multicast_proof.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "routing/plan/link_carriage.h"
#include "routing/proof/dependencies.h"
#include "routing/proof/wiring.h"

namespace fabricd::routing {
namespace {

constexpr size_t kMaxFaults = 16;

// [switch] Ports of one MLID's entries; switches without one are not in it.
using Entries = std::map<uint32_t, std::vector<PortNum>>;

class MulticastJudge {
 public:
  MulticastJudge(const fabric::FabricSnapshot& usable, const fabric::LidTable& lids,
                 const RoutingPlan& plan, const fabric::MulticastGroups& groups,
                 const MulticastPlan& trees)
      : usable_(usable),
        plan_(plan),
        groups_(groups),
        trees_(trees),
        lids_(lids),
        wiring_(usable, lids) {}

  VerifyReport Run() {
    report_.by_order = !plan_.order.empty();
    if (trees_.trees.size() != groups_.groups.size()) Fault("there is not one tree for each group");
    ReadTables();
    for (size_t i = 0; i < groups_.groups.size() && report_.faults.empty(); ++i)
      JudgeGroup(groups_.groups[i], *trees_.trees[i]);
    if (!entries_.empty())
      Fault(fmt::format("there are entries for MLID {:#x}, which is no group's",
                        entries_.begin()->first));
    report_.deadlock_free = report_.by_order ? !turns_back_ : LanesAreFree();
    report_.ok = report_.faults.empty() && report_.deadlock_free;
    return std::move(report_);
  }

 private:
  void Fault(std::string text) {
    if (report_.faults.size() < kMaxFaults) report_.faults.push_back(std::move(text));
  }

  void ReadTables() {
    for (uint32_t i = 0; i < trees_.rows.size(); ++i) {
      if (!trees_.rows[i]) continue;
      const uint32_t s = wiring_.number(NodeIndex(i));
      if (s == Wiring::kNone)
        return Fault(fmt::format("there is a multicast table for node {}, no living switch", i));
      for (const auto& [place, block] : trees_.rows[i]->blocks)
        for (unsigned entry = 0; entry < block->size(); ++entry)
          for (unsigned bit = 0; bit < 16; ++bit)
            if ((*block)[entry] >> bit & 1)
              entries_[static_cast<uint16_t>(0xC000u + place.block * block->size() + entry)][s]
                  .emplace_back(static_cast<uint8_t>(place.position * 16u + bit));
    }
  }

  void JudgeGroup(const fabric::MulticastGroup& group, const MulticastTree& tree) {
    Entries entries;
    if (const auto it = entries_.find(group.mlid.value()); it != entries_.end()) {
      entries = std::move(it->second);
      entries_.erase(it);
    }
    const auto fault = [&](std::string text) {
      Fault(fmt::format("group {:#x}: {}", group.mlid.value(), text));
    };
    if (tree.mlid != group.mlid) return fault("its tree is another's");
    // Switch and port of each member that is served.
    std::map<std::pair<uint32_t, PortNum>, bool> members;
    for (const fabric::MulticastMember& member : group.members) {
      const auto place = PlaceOf(member.port_guid);
      const auto* left_out = FindUnserved(tree, member.port_guid);
      if (left_out == nullptr && !place)
        return fault(fmt::format("member {} is nowhere", member.port_guid));
      if (left_out != nullptr && left_out->reason == Unserved::kAbsent && place)
        return fault(fmt::format("member {} is there but left out", member.port_guid));
      if (left_out == nullptr) members[*place] |= member.receives;
    }
    JudgeEntries(group, entries, members, fault);
    if (report_.by_order)
      CheckOrder(entries, fault);
    else
      AddTurns(group, entries);
  }

  template <typename Fault>
  void JudgeEntries(const fabric::MulticastGroup& group, const Entries& entries,
                    const std::map<std::pair<uint32_t, PortNum>, bool>& members, Fault& fault) {
    const auto receivers = static_cast<size_t>(std::count_if(
        members.begin(), members.end(), [](const auto& member) { return member.second; }));
    if (receivers == 0 || members.size() < 2) {
      if (!entries.empty()) fault("nobody can send to anybody, yet there are entries");
      return;
    }
    size_t link_ends = 0, deliveries = 0;
    for (const auto& [s, ports] : entries) {
      const auto& info = usable_.node(wiring_.node(s))->switch_info;
      if (!info || group.mlid.value() - 0xC000 >= info->multicast_fdb_cap)
        return fault(fmt::format("{} cannot hold it", wiring_.Name(s)));
      for (PortNum port : ports) {
        const auto member = members.find({s, port});
        if (member != members.end() && member->second) {
          ++deliveries;
          continue;
        }
        const auto back = BackOf(entries, s, port);
        if (!back || !Carries(s, port, group))
          return fault(fmt::format("{} port {} leads to no member and no link that serves it",
                                   wiring_.Name(s), port));
        ++link_ends;
      }
    }
    if (deliveries != receivers) return fault("a member that receives is not reached");
    for (const auto& [place, receives] : members)
      if (!entries.contains(place.first)) return fault("a member's switch is not on the tree");
    // Every link has both its ends; n switches, n - 1 links and all reached: a tree.
    if (link_ends != 2 * (entries.size() - 1) || Reached(entries) != entries.size())
      fault("it is no tree");
  }

  // The switch and port at the other end, if that has its entry too.
  std::optional<std::pair<uint32_t, PortNum>> BackOf(const Entries& entries, uint32_t s,
                                                     PortNum port) const {
    const Far& far = wiring_.far(s, port.value());
    if (port == PortNum(0) || !far.IsSwitch()) return std::nullopt;
    const auto at = entries.find(far.node);
    const PortNum back(static_cast<uint8_t>(far.channel % wiring_.last_port() + 1));
    if (at == entries.end() ||
        std::find(at->second.begin(), at->second.end(), back) == at->second.end())
      return std::nullopt;
    return std::pair(far.node, back);
  }
  bool Carries(uint32_t s, PortNum port, const fabric::MulticastGroup& group) const {
    const fabric::Port& end = usable_.node(wiring_.node(s))->port(port);
    const LinkCarriage carriage = CarriageOf(end, *usable_.port(end.peer));
    return carriage.mtu >= group.mtu && carriage.rate >= fabric::RankOfRate(group.rate);
  }
  size_t Reached(const Entries& entries) const {
    std::vector<uint32_t> open{entries.begin()->first};
    std::map<uint32_t, bool> seen{{open[0], true}};
    while (!open.empty()) {
      const uint32_t s = open.back();
      open.pop_back();
      for (PortNum port : entries.at(s))
        if (const auto back = BackOf(entries, s, port); back && !seen[back->first]) {
          seen[back->first] = true;
          open.push_back(back->first);
        }
    }
    return seen.size();
  }

  template <typename Fault>
  void CheckOrder(const Entries& entries, Fault& fault) {
    const auto position = [&](uint32_t s) { return plan_.order[wiring_.node(s).value()]; };
    for (const auto& [s, ports] : entries) {
      const uint32_t from = s;
      const auto rises = std::count_if(ports.begin(), ports.end(), [&](PortNum port) {
        const Far& far = wiring_.far(from, port.value());
        return port != PortNum(0) && far.IsSwitch() && position(far.node) > position(from);
      });
      if (rises < 2) continue;
      turns_back_ = true;
      return fault(fmt::format("{} lets it rise after it fell", wiring_.Name(s)));
    }
  }

  void AddTurns(const fabric::MulticastGroup& group, const Entries& entries) {
    const auto lane = static_cast<uint8_t>(group.sl.value() % plan_.lanes);
    Dependencies& waits = LaneOf(lane);
    for (const auto& [s, ports] : entries)
      for (PortNum in : ports)
        for (PortNum out : ports)
          if (in != out && in != PortNum(0) && wiring_.far(s, in.value()).IsSwitch())
            waits.Add(static_cast<uint32_t>(s * wiring_.last_port() + in.value() - 1u),
                      out.value());
  }

  // With all unicast ways that take this lane.
  Dependencies& LaneOf(uint8_t lane) {
    const auto [it, is_new] = lanes_.try_emplace(lane, wiring_);
    if (!is_new) return it->second;
    std::vector<uint32_t> passed(wiring_.size(), 0);  // Last LID that was followed here.
    for (uint32_t l = 1; l < wiring_.lid_end(); ++l) {
      const Lid lid(static_cast<uint16_t>(l));
      const auto out = [&](uint32_t s) {
        return plan_.HasRow(wiring_.node(s)) ? plan_.EgressPort(wiring_.node(s), lid) : kNoRoute;
      };
      for (uint32_t source = 0; source < wiring_.size(); ++source) {
        if (plan_.ServiceLevel(wiring_.node(source), lid) % plan_.lanes != lane) continue;
        for (uint32_t s = source; passed[s] != l;) {
          passed[s] = l;
          const Far& far = wiring_.far(s, out(s));
          if (!far.IsSwitch()) break;
          it->second.Add(far.channel, out(far.node));
          s = far.node;
        }
      }
    }
    return it->second;
  }

  bool LanesAreFree() {
    for (const auto& [lane, waits] : lanes_) {
      const std::vector<size_t> cycle = FindCycle(wiring_, waits);
      if (cycle.empty()) continue;
      Fault(fmt::format("lane {} with multicast: {}", lane, CycleText(wiring_, waits, cycle)));
      return false;
    }
    return true;
  }

  std::optional<std::pair<uint32_t, PortNum>> PlaceOf(Guid port_guid) const {
    const PortRef end = usable_.FindPort(port_guid);
    if (end.IsNone()) return std::nullopt;
    const Place place = wiring_.place(lids_.Of(end).base.value());
    if (place.at == Place::kNowhere || !lids_.Of(end).base) return std::nullopt;
    return std::pair(place.at, PortNum(place.port));
  }
  static const UnservedMember* FindUnserved(const MulticastTree& tree, Guid port_guid) {
    for (const UnservedMember& member : tree.unserved)
      if (member.port_guid == port_guid) return &member;
    return nullptr;
  }

  const fabric::FabricSnapshot& usable_;
  const RoutingPlan& plan_;
  const fabric::MulticastGroups& groups_;
  const MulticastPlan& trees_;
  const fabric::LidTable& lids_;
  const Wiring wiring_;
  std::map<uint16_t, Entries> entries_;  // By MLID.
  std::map<uint8_t, Dependencies> lanes_;
  bool turns_back_ = false;
  VerifyReport report_;
};

}  // namespace

VerifyReport VerifyMulticast(const fabric::FabricSnapshot& usable, const fabric::LidTable& lids,
                             const RoutingPlan& plan, const fabric::MulticastGroups& groups,
                             const MulticastPlan& trees) {
  return MulticastJudge(usable, lids, plan, groups, trees).Run();
}

}  // namespace fabricd::routing
