// SPDX-License-Identifier: Apache-2.0
// The part of the comparison that the takeover guard decides by.
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "common/stable_hash.h"
#include "sweep/device/m_keys.h"
#include "sweep/takeover/fabric_compare.h"
#include "sweep/write/port_keys.h"

namespace fabricd::sweep {
namespace {

using wire::PortState;

bool Has(const auto& list, const auto& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// An end port with connections that a change could end: it has a LID, and packets reach it.
bool IsRunning(const fabric::Node& node, const fabric::Port& port) {
  if (!port.known || !port.info.lid) return false;
  if (node.IsSwitch()) return node.switch_info && node.switch_info->linear_fdb_top != 0;
  return port.info.port_state == PortState::kActive;
}

// An M_Key is a secret.
const char* WordOf(MKey key) { return key ? "set" : "0"; }

std::string ListText(const std::vector<PKey>& keys) {
  std::string text;
  for (const PKey key : keys) text += fmt::format("{}{}", text.empty() ? "" : " ", key);
  return text.empty() ? "none" : text;
}

class RiskFinder {
 public:
  explicit RiskFinder(const CompareInput& input)
      : input_(input),
        snapshot_(*input.desired.snapshot),
        keys_(input.desired.keys, input.desired.ports.local, snapshot_, input.applied) {}

  std::vector<TakeoverChange> Find() {
    snapshot_.ForEachNode([&](const fabric::Node& node) { CompareNode(node); });
    AddUnresponsive();
    std::vector<TakeoverChange> risks;
    for (auto& [key, change] : found_) risks.push_back(std::move(change));
    if (risks.size() > TakeoverReport::kMostListed) risks.resize(TakeoverReport::kMostListed);
    return risks;
  }

 private:
  // Equal changes of several ports are one.
  void Add(TakeoverRisk risk, std::string from, std::string to, const fabric::Node& node,
           PortNum port) {
    TakeoverChange& change = found_[{risk, from, to}];
    if (change.ports++ == 0) change = {risk, std::move(from), std::move(to), 1, node.guid(), port};
  }

  bool IsOurs(const wire::PortInfo& info) const {
    return input_.record.WasMaster() && Has(input_.own_lids, info.master_sm_lid);
  }

  void CompareNode(const fabric::Node& node) {
    for (const auto& [ref, port] : node.EndPorts()) {
      if (IsRunning(node, port)) ComparePort(node, ref, port);
    }
    for (const auto& [ref, port] : node.LinkPorts()) {
      if (!port.known || port.info.port_state != PortState::kActive) continue;
      ++active_;
      if (node.IsSwitch() && port.peer.IsNone() && unresponsive_++ == 0)
        example_ = {node.guid(), ref.port};
    }
    if (!node.IsSwitch()) CompareKeys(node);
  }

  // The applied value of a field is a risk unless this SM wrote it: then the port names this SM,
  // and the record has the value.
  void ComparePort(const fabric::Node& node, PortRef ref, const fabric::Port& port) {
    const wire::PortInfo& info = port.info;
    const TakeoverRecord& record = input_.record;
    const SmOptions& sm = input_.options.sm;
    const bool ours = IsOurs(info);
    if (info.gid_prefix != sm.gid_prefix && !(ours && Has(record.prefixes, info.gid_prefix)))
      Add(TakeoverRisk::kSubnetPrefix, fmt::format("0x{:016x}", info.gid_prefix),
          fmt::format("0x{:016x}", sm.gid_prefix), node, ref.port);
    const fabric::LidRange lids = input_.desired.lids->Of(ref);
    if (lids.base && info.lmc != lids.lmc && !(ours && Has(record.lmcs, info.lmc)))
      Add(TakeoverRisk::kLmc, fmt::format("{}", info.lmc), fmt::format("{}", lids.lmc), node,
          ref.port);
    const MKey wanted = WantedMKey(sm, port.guid);
    if (info.m_key != wanted && !ours && !IsFormerMKey(sm, port.guid, info.m_key))
      Add(TakeoverRisk::kMKey, WordOf(info.m_key),
          wanted && info.m_key ? "another" : WordOf(wanted), node, ref.port);
    if (info.m_key_protect_bits != sm.m_key_protect_bits &&
        !(ours && Has(record.protect_bits, info.m_key_protect_bits)))
      Add(TakeoverRisk::kMKeyProtect, fmt::format("{}", info.m_key_protect_bits),
          fmt::format("{}", sm.m_key_protect_bits), node, ref.port);
  }

  // What the Sets of P_KeyTables would add and remove, by port.
  void CompareKeys(const fabric::Node& node) {
    std::map<PortNum, std::pair<std::vector<PKey>, std::vector<PKey>>> changed;  // From, to.
    for (const PortKeys::Write& write : keys_.Writes(node, [](auto&&...) {})) {
      const fabric::Port* port = snapshot_.port(write.port);
      const auto* held = input_.applied.FindPKeys(write.port);
      if (write.port.node != node.index || !IsRunning(node, *port) || IsOurs(port->info) ||
          held == nullptr || held->Find(write.block) == nullptr)
        continue;
      auto& [from, to] = changed[write.port.port];
      const auto& before = held->Find(write.block)->keys;
      from.insert(from.end(), before.begin(), before.end());
      to.insert(to.end(), write.table.keys.begin(), write.table.keys.end());
    }
    for (auto& [port, tables] : changed) {
      auto& [from, to] = tables;
      std::sort(from.begin(), from.end());
      std::sort(to.begin(), to.end());
      std::vector<PKey> removed, added;
      std::set_difference(from.begin(), from.end(), to.begin(), to.end(),
                          std::back_inserter(removed));
      std::set_difference(to.begin(), to.end(), from.begin(), from.end(),
                          std::back_inserter(added));
      const auto is_empty = [](PKey key) { return PartitionOf(key) == 0; };
      std::erase_if(removed, is_empty);
      std::erase_if(added, is_empty);
      if (!removed.empty() || !added.empty())
        Add(TakeoverRisk::kPKeys, ListText(removed), ListText(added), node, port);
    }
  }

  void AddUnresponsive() {
    if (input_.knows_fabric || !IsTooUnresponsive(input_.options, unresponsive_, active_)) return;
    found_[{TakeoverRisk::kUnresponsivePorts, "", ""}] = {
        TakeoverRisk::kUnresponsivePorts,
        fmt::format("more than {} % of the ACTIVE ports",
                    input_.options.takeover.unresponsive_percent),
        "unknown",
        unresponsive_,
        example_.node,
        example_.port};
  }

  using Key = std::tuple<TakeoverRisk, std::string, std::string>;
  const CompareInput& input_;
  const fabric::FabricSnapshot& snapshot_;
  const PortKeys keys_;
  std::map<Key, TakeoverChange> found_;
  uint32_t active_ = 0, unresponsive_ = 0;
  UnresponsivePort example_;
};

}  // namespace

std::string_view TakeoverRiskName(TakeoverRisk risk) {
  switch (risk) {
    case TakeoverRisk::kSubnetPrefix: return "SubnetPrefix";
    case TakeoverRisk::kLmc: return "LMC";
    case TakeoverRisk::kMKey: return "M_Key";
    case TakeoverRisk::kMKeyProtect: return "M_KeyProtectBits";
    case TakeoverRisk::kPKeys: return "P_Keys";
    case TakeoverRisk::kUnresponsivePorts: return "UnresponsivePorts";
  }
  return "unknown";
}

std::vector<TakeoverChange> FindRisks(const CompareInput& input) {
  return RiskFinder(input).Find();
}

NeighborCount CountNeighbors(const fabric::FabricSnapshot& snapshot) {
  NeighborCount count;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch()) return;
    for (const auto& [ref, port] : node.LinkPorts()) {
      if (!port.known || !port.IsUp()) continue;
      ++count.up;
      count.unresponsive += port.peer.IsNone();
    }
  });
  return count;
}

bool IsTooUnresponsive(const CoreOptions& options, uint32_t unresponsive, uint32_t of) {
  return uint64_t{unresponsive} * 100 > uint64_t{of} * options.takeover.unresponsive_percent;
}

std::string DigestOf(std::span<const TakeoverChange> risks) {
  if (risks.empty()) return "";
  StableHash hash;
  for (const TakeoverChange& change : risks) {
    hash.Add(TakeoverRiskName(change.risk));
    hash.Add(change.from);
    hash.Add(change.to);
  }
  return fmt::format("{:016x}", hash.value());
}

}  // namespace fabricd::sweep
