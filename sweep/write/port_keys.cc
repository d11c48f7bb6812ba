// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/port_keys.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace fabricd::sweep {
namespace {

constexpr size_t kEntries = wire::PKeyTable::kEntries;

size_t BlocksFor(size_t entries) { return (entries + kEntries - 1) / kEntries; }

// All entries of a table whose blocks are all known; otherwise nullopt.
std::optional<std::vector<PKey>> KeysIn(const AppliedState::PKeyBlocks* blocks) {
  if (blocks == nullptr || blocks->empty()) return std::nullopt;
  std::vector<PKey> keys;
  for (size_t block = 0; block < blocks->size(); ++block) {
    const wire::PKeyTable* held = blocks->Find(block);
    if (held == nullptr) return std::nullopt;
    keys.insert(keys.end(), held->keys.begin(), held->keys.end());
  }
  return keys;
}

// Entries beyond the capacity stay as they were read.
std::vector<wire::PKeyTable> InBlocks(const std::vector<PKey>& table, std::vector<PKey> held) {
  held.resize(BlocksFor(held.size()) * kEntries);
  std::copy(table.begin(), table.end(), held.begin());
  std::vector<wire::PKeyTable> blocks(held.size() / kEntries);
  for (size_t i = 0; i < held.size(); ++i) blocks[i / kEntries].keys[i % kEntries] = held[i];
  return blocks;
}

}  // namespace

bool PortKeys::IsExternal(PortRef port) const {
  const fabric::Node* node = snapshot_.node(port.node);
  return node != nullptr && node->IsSwitch() && port.port != PortNum(0);
}

bool PortKeys::CanEnforce(PortRef port) const {
  const fabric::Node* node = snapshot_.node(port.node);
  if (node == nullptr || !node->switch_info || port.port.value() >= node->ports.size())
    return false;
  const wire::SwitchInfo& can = *node->switch_info;
  if (can.partition_enforcement_cap == 0 ||
      !(can.inbound_enforcement_cap || can.outbound_enforcement_cap))
    return false;
  const fabric::Port& here = node->port(port.port);
  const fabric::Node* peer = here.peer.IsNone() ? nullptr : snapshot_.node(here.peer.node);
  return here.known && peer != nullptr && !peer->IsSwitch();
}

bool PortKeys::MustEnforce(PortRef port) const {
  const auto& options = desired_.options;
  return !desired_.index->is_trivial() && (options.enforce_inbound || options.enforce_outbound) &&
         CanEnforce(port);
}

bool PortKeys::IsKept(PortRef port) const {
  const fabric::Port* here = snapshot_.port(port);
  return here != nullptr && here->known &&
         (here->info.partition_enforcement_inbound || here->info.partition_enforcement_outbound) &&
         !applied_.RequestedEnforcement(port) && !MustEnforce(port);
}

bool PortKeys::MayEnforce(PortRef port) const {
  return MustEnforce(port) || (IsKept(port) && CanEnforce(port));
}

std::vector<PortRef> PortKeys::PortsOf(const fabric::Node& node) const {
  std::vector<PortRef> ports;
  for (const auto& [ref, port] : node.AllPorts()) {
    if (!port.known) continue;
    if (!IsExternal(ref)) ports.push_back(ref);
    const PortRef facing = node.IsSwitch() ? ref : port.peer;
    if (!facing.IsNone() && IsExternal(facing) && MayEnforce(facing)) ports.push_back(facing);
  }
  return ports;
}

const AppliedState::PKeyBlocks* PortKeys::HeldBy(PortRef port) const {
  return IsExternal(port) ? applied_.FindSwitchKeys(port) : applied_.FindPKeys(port);
}

size_t PortKeys::CapacityOf(PortRef port) const {
  const fabric::Node& node = *snapshot_.node(port.node);
  if (IsExternal(port)) return node.switch_info->partition_enforcement_cap;
  return std::max<size_t>(1, node.info.partition_cap);
}

std::vector<PortKeys::Read> PortKeys::Reads(const fabric::Node& node) const {
  std::vector<Read> reads;
  for (const PortRef port : PortsOf(node)) {
    const auto* held = HeldBy(port);
    // If the size of an end port's table is unknown, discovery must read it first.
    const size_t blocks = IsExternal(port)  ? BlocksFor(CapacityOf(port))
                          : held != nullptr ? held->size()
                                            : 0;
    for (size_t block = 0; block < blocks; ++block)
      if (held == nullptr || held->Find(block) == nullptr)
        reads.push_back({port, static_cast<uint16_t>(block)});
  }
  return reads;
}

std::optional<PortKeys::Table> PortKeys::TableOf(PortRef port) const {
  const fabric::Node* node = snapshot_.node(port.node);
  if (node == nullptr || port.port.value() >= node->ports.size()) return std::nullopt;
  return IsExternal(port) ? SwitchPortTable(port) : EndPortTable(port);
}

std::optional<PortKeys::Table> PortKeys::EndPortTable(PortRef port) const {
  auto held = KeysIn(applied_.FindPKeys(port));
  if (!held) return std::nullopt;
  const fabric::Node& node = *snapshot_.node(port.node);
  policy::PortFacts facts;
  facts.guid = node.port(port.port).guid;
  facts.type = node.info.node_type;
  facts.is_self = port == local_;
  facts.isolated = std::binary_search(desired_.isolated.begin(), desired_.isolated.end(), port);
  if (const auto* blocks = applied_.FindGuids(port)) {
    for (size_t block = 0; block < blocks->size(); ++block) {
      const wire::GuidInfo* aliases = blocks->Find(block);
      // If an alias is unknown, its keys could be removed by mistake.
      if (aliases == nullptr) return std::nullopt;
      for (const Guid guid : aliases->guids)
        if (guid && guid != facts.guid) facts.aliases.push_back(guid);
    }
  }
  const size_t capacity = std::min(CapacityOf(port), held->size());
  policy::KeyLayout layout = policy::LayOutKeys(*held, desired_.index->KeysOf(facts), capacity,
                                                *desired_.index, desired_.options.keep_foreign);
  return Table{InBlocks(layout.table, *std::move(held)), std::move(layout.left_out)};
}

// The keys of the end port behind it. Of an isolated port, only the keys that fabricd itself
// manages.
std::optional<PortKeys::Table> PortKeys::SwitchPortTable(PortRef port) const {
  if (!MayEnforce(port)) return std::nullopt;
  auto held = KeysIn(applied_.FindSwitchKeys(port));
  const PortRef peer = snapshot_.port(port)->peer;
  const auto behind = EndPortTable(peer);
  if (!held || !behind) return std::nullopt;
  const bool isolated =
      std::binary_search(desired_.isolated.begin(), desired_.isolated.end(), peer);
  policy::WantedKeys wanted;
  size_t left = CapacityOf(peer);
  for (const wire::PKeyTable& block : behind->blocks) {
    for (PKey key : block.keys) {
      if (left == 0) break;
      --left;
      if (PartitionOf(key) != 0 && (!isolated || desired_.index->IsOwn(key)))
        wanted.keys.push_back(key);
    }
  }
  policy::KeyLayout layout =
      policy::LayOutKeys(*held, wanted, CapacityOf(port), *desired_.index, /*keep_foreign=*/false);
  return Table{InBlocks(layout.table, *std::move(held)), std::move(layout.left_out)};
}

std::optional<std::pair<ProblemKind, std::string>> PortKeys::AddWrites(
    PortRef port, std::vector<Write>& writes) const {
  std::optional<std::pair<ProblemKind, std::string>> problem;
  const auto* held = HeldBy(port);
  if (held == nullptr || held->empty()) return problem;
  const auto table = TableOf(port);
  if (!table) {
    if (KeysIn(held)) return problem;  // Of a switch: the table of the end port is unknown.
    return std::pair{ProblemKind::kUnreadable,
                     "a block of its P_Key table did not come: it is left alone until it does"};
  }
  if (!table->left_out.empty() && IsExternal(port)) {
    return std::pair{
        ProblemKind::kNotEnforced,
        fmt::format("its table of {} P_Keys does not hold the {} of the port behind it",
                    CapacityOf(port), CapacityOf(port) + table->left_out.size())};
  }
  if (!table->left_out.empty()) {
    problem = {ProblemKind::kPKeyTableFull,
               fmt::format("no room for {} of its P_Keys ({}{})", table->left_out.size(),
                           table->left_out.front(), table->left_out.size() > 1 ? ", …" : "")};
  }
  for (size_t block = 0; block < table->blocks.size(); ++block)
    if (!held->Knows(block) || *held->Find(block) != table->blocks[block])
      writes.push_back({port, static_cast<uint16_t>(block), table->blocks[block]});
  return problem;
}

Enforcement PortKeys::EnforcementOf(PortRef port, const wire::PortInfo& now) const {
  if (IsKept(port)) return {now.partition_enforcement_inbound, now.partition_enforcement_outbound};
  if (!MustEnforce(port)) return {};
  const fabric::Node& node = *snapshot_.node(port.node);
  const auto table = SwitchPortTable(port);
  const auto* held = applied_.FindSwitchKeys(port);
  if (table && !table->left_out.empty()) return {};
  bool confirmed = table && held != nullptr && held->size() == table->blocks.size();
  for (size_t block = 0; confirmed && block < held->size(); ++block)
    confirmed = held->Knows(block) && *held->Find(block) == table->blocks[block];
  if (!confirmed)
    return applied_.RequestedEnforcement(port).value_or(
        Enforcement{now.partition_enforcement_inbound, now.partition_enforcement_outbound});
  return {desired_.options.enforce_inbound && node.switch_info->inbound_enforcement_cap,
          desired_.options.enforce_outbound && node.switch_info->outbound_enforcement_cap};
}

}  // namespace fabricd::sweep
