// SPDX-License-Identifier: Apache-2.0
#include "sweep/plan/lid_assignment.h"

#include <algorithm>

#include "common/breakage.h"
#include "common/check.h"

namespace fabricd::sweep {
namespace {

constexpr uint32_t kLidEnd = kMaxUnicastLid.value() + 1u;

struct Wanted {
  PortRef port;
  Guid guid;
  uint8_t lmc;
  Lid held;  // The LID that the device has now; 0: none.
};

// Order of the end ports: those attached to leaf switches, by switch GUID and then by port; then
// ports not attached to a switch; then switches. So hosts of one leaf get neighbouring LIDs, and
// one path change touches few LFT blocks.
std::vector<Wanted> EndPortsInOrder(const fabric::FabricSnapshot& snapshot, uint8_t lmc,
                                    bool lmc_ep0) {
  std::vector<const fabric::Node*> nodes;
  snapshot.ForEachNode([&](const fabric::Node& node) { nodes.push_back(&node); });
  std::sort(nodes.begin(), nodes.end(),
            [](const auto* a, const auto* b) { return a->guid() < b->guid(); });
  std::vector<Wanted> wanted;
  auto add = [&](const fabric::Node& node, PortNum num, uint8_t port_lmc) {
    const fabric::Port& port = node.port(num);
    if (IsBroken(Breakage::kLidNotGiven) && node.IsSwitch()) return;
    if (port.known && port.guid)
      wanted.push_back({{node.index, num}, port.guid, port_lmc, port.info.lid});
  };
  auto hangs_on_switch = [&](const fabric::Port& port) {
    const fabric::Node* peer = port.peer.IsNone() ? nullptr : snapshot.node(port.peer.node);
    return peer != nullptr && peer->IsSwitch();
  };
  for (const fabric::Node* leaf : nodes) {
    if (!leaf->IsSwitch()) continue;
    for (const fabric::Port& port : leaf->ports) {
      const fabric::Node* peer = port.peer.IsNone() ? nullptr : snapshot.node(port.peer.node);
      if (peer != nullptr && !peer->IsSwitch()) add(*peer, port.peer.port, lmc);
    }
  }
  for (const fabric::Node* node : nodes)
    if (!node->IsSwitch())
      for (const auto& [ref, port] : node->LinkPorts())
        if (!hangs_on_switch(port)) add(*node, ref.port, lmc);
  for (const fabric::Node* node : nodes) {
    if (!node->IsSwitch()) continue;
    const bool enhanced = node->switch_info && node->switch_info->enhanced_port0;
    add(*node, PortNum(0), enhanced && lmc_ep0 ? lmc : 0);
  }
  return wanted;
}

// The LID space. A LID is free, claimed by a record (whose port may be absent), or allocated in
// this run.
class LidSpace {
 public:
  explicit LidSpace(Lid last) : used_(kLidEnd, false), last_(last.value()) { used_[0] = true; }

  static bool IsValid(Lid base, uint8_t lmc) {
    const uint32_t count = 1u << lmc;
    return base && base.value() % count == 0 && base.value() + count <= kLidEnd;
  }
  bool IsFree(Lid base, uint8_t lmc) const {
    if (!IsValid(base, lmc)) return false;
    const auto from = used_.begin() + base.value();
    return std::find(from, from + (1 << lmc), true) == from + (1 << lmc);
  }
  void Take(Lid base, uint8_t lmc) {
    for (uint32_t i = 0; i < 1u << lmc; ++i)
      if (base.value() + i < kLidEnd) used_[base.value() + i] = true;
  }
  // Returns LID 0 if the space is full.
  Lid FindFree(uint8_t lmc) {
    const Lid found = FindFreeAfter(last_, lmc);
    if (found || last_ == 0) return found;
    last_ = 0;
    std::fill(std::begin(next_), std::end(next_), 0u);
    return FindFreeAfter(last_, lmc);
  }

 private:
  Lid FindFreeAfter(uint32_t after, uint8_t lmc) {
    const uint32_t step = 1u << lmc;
    uint32_t& from = next_[lmc];
    for (from = std::max({from, step, (after + step) / step * step}); from + step <= kLidEnd;
         from += step)
      if (IsFree(Lid(static_cast<uint16_t>(from)), lmc)) return Lid(static_cast<uint16_t>(from));
    return Lid(0);
  }

  std::vector<bool> used_;
  uint32_t last_;          // LIDs up to this one come last.
  uint32_t next_[8] = {};  // Where the next search by LMC starts: LIDs are never freed in a run.
};

}  // namespace

LidAssignment AssignLids(const fabric::FabricSnapshot& snapshot, const LidRecords& records,
                         uint8_t lmc, bool lmc_enhanced_port0, Lid maybe_held) {
  FABRICD_CHECK(lmc <= 7, "lmc {}", lmc);
  LidAssignment result;
  const std::vector<Wanted> wanted = EndPortsInOrder(snapshot, lmc, lmc_enhanced_port0);
  LidSpace space(maybe_held);
  for (const auto& [guid, record] : records) space.Take(record.base_lid, record.lmc);

  auto assign = [&](const Wanted& want, Lid base) {
    result.table.Assign(want.port, {base, want.lmc});
  };
  std::vector<const Wanted*> rest, unheld;
  absl::flat_hash_map<Guid, PortRef> seen;  // Two ports with one GUID: only the first gets LIDs.
  for (const Wanted& want : wanted) {
    if (!seen.emplace(want.guid, want.port).second) {
      result.without.push_back(want.port);
      continue;
    }
    auto record = records.find(want.guid);
    const bool fits = record != records.end() && record->second.lmc >= want.lmc &&
                      LidSpace::IsValid(record->second.base_lid, want.lmc);
    if (fits && !IsBroken(Breakage::kLidRecordsIgnored))
      assign(want, record->second.base_lid);
    else
      rest.push_back(&want);
  }
  for (const Wanted* want : rest) {
    if (!space.IsFree(want->held, want->lmc)) {
      unheld.push_back(want);
      continue;
    }
    space.Take(want->held, want->lmc);
    assign(*want, want->held);
    result.changed.push_back({want->guid, want->held, want->lmc});
  }
  for (const Wanted* want : unheld) {
    const Lid base = space.FindFree(want->lmc);
    if (!base) {
      result.without.push_back(want->port);
      continue;
    }
    space.Take(base, want->lmc);
    assign(*want, base);
    result.changed.push_back({want->guid, base, want->lmc});
  }
  return result;
}

bool SameEndPorts(const fabric::FabricSnapshot& before, const fabric::FabricSnapshot& after) {
  bool same = true;
  before.ForEachNotShared(after, [&](NodeIndex index) {
    const fabric::Node* was = before.node(index);
    const fabric::Node* is = after.node(index);
    same = same && was != nullptr && is != nullptr && was->guid() == is->guid() &&
           was->IsSwitch() == is->IsSwitch() && was->ports.size() == is->ports.size();
    if (!same) return;
    const bool was_enhanced = was->switch_info && was->switch_info->enhanced_port0;
    const bool is_enhanced = is->switch_info && is->switch_info->enhanced_port0;
    same = was_enhanced == is_enhanced;
    const size_t end = is->IsSwitch() ? 1 : is->ports.size();
    for (size_t num = 0; num < end && same; ++num)
      same = was->ports[num].known == is->ports[num].known &&
             was->ports[num].guid == is->ports[num].guid;
  });
  return same;
}

}  // namespace fabricd::sweep
