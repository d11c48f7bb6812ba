// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/applied_state.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/port_numbers.h"
#include "routing/multicast/multicast_rows.h"

namespace fabricd::sweep {
namespace {

// Erases the entries of all ports of the node.
template <typename Map>
size_t EraseNode(Map& by_port, NodeIndex node) {
  return absl::erase_if(by_port, [node](const auto& entry) { return entry.first.node == node; });
}

void AddVlTable(const fabric::FabricSnapshot& snapshot, const VlTable& table,
                const wire::SmpData& bytes, fabric::TablesByPort& out) {
  const fabric::Node* node = snapshot.node(table.port.node);
  if (node == nullptr) return;
  fabric::PortTables& tables =
      out[node->IsSwitch() ? PortRef{table.port.node, PortNum(0)} : table.port];
  if (table.kind == VlTable::Kind::kArbitration) {
    tables.arbitration.push_back({table.port.port, static_cast<uint8_t>(table.in_out),
                                  wire::VlArbitrationTable::Decode(bytes)});
    return;
  }
  tables.lanes.push_back({PortNum(static_cast<uint8_t>(table.in_out >> 8)),
                          PortNum(static_cast<uint8_t>(table.in_out & 0xFF)),
                          wire::SlToVlMappingTable::Decode(bytes)});
}

}  // namespace

void AppliedState::Remove(NodeIndex node) {
  port_tables_ = nullptr;
  EraseNode(pkeys_, node);
  ForgetWritten(node);
}

void AppliedState::ForgetWritten(NodeIndex node) {
  if (node.value() < lfts_.size()) lfts_[node.value()].Forget();
  if (node.value() < mfts_.size()) mfts_[node.value()].Forget();
  adaptive_routing_.Forget(node);
  vls_.Forget(node);
  for (auto& [port, blocks] : pkeys_) {
    if (port.node != node) continue;
    blocks.Forget();
    port_tables_ = nullptr;
  }
  ForgetSwitchKeys(node);  // For port_tables_.
  std::apply([node](auto&... each) { (EraseNode(each, node), ...); }, WrittenByPort());
}

void AppliedState::ForgetSwitchKeys(NodeIndex node) {
  if (EraseNode(switch_keys_, node) > 0) port_tables_ = nullptr;
  EraseNode(requested_, node);
}

bool AppliedState::Holds(const routing::RoutingPlan& plan) const {
  for (uint32_t i = 0; i < std::max(lfts_.size(), plan.rows.size()); ++i) {
    const routing::Row* row = i < plan.rows.size() ? plan.rows[i].get() : nullptr;
    if (i >= lfts_.size() || !lfts_[i].WasRead()) {
      if (row != nullptr) return false;
      continue;
    }
    if (row == nullptr || !lfts_[i].KnowsAll() || !(lfts_[i].row() == *row)) return false;
  }
  return true;
}

routing::AppliedTables AppliedState::Tables() const {
  routing::AppliedTables tables;
  tables.rows.resize(lfts_.size());
  for (uint32_t i = 0; i < lfts_.size(); ++i) {
    const AppliedLft& lft = lfts_[i];
    if (!lft.WasRead()) continue;
    tables.rows[i] = lft.row();
    if (lft.KnowsAll() && !lft.IsDistrusted()) continue;
    for (size_t block = 0; block < lft.row().blocks(); ++block) {
      std::array<uint8_t, AppliedLft::kBlock> nothing;
      nothing.fill(routing::kNoRoute);
      if (lft.IsDistrusted(block))  // It forwards by other tables, perhaps.
        tables.unsure.push_back({NodeIndex(i), static_cast<uint16_t>(block), nothing});
      if (lft.Knows(block)) continue;
      if (const auto* maybe = lft.MayHold(block))
        tables.unsure.push_back({NodeIndex(i), static_cast<uint16_t>(block), *maybe});
      else  // Never read: its content is unknown, and is replaced.
        tables.rows[i].WriteBlock(block, nothing.data());
    }
  }
  return tables;
}

void AppliedState::AbandonInFlight() {
  for (const auto& [port, attribute] : busy_)
    if (attribute == wire::AttributeId::kPortInfo) requested_.erase(port);
  busy_.clear();
  for (AppliedLft& lft : lfts_) lft.AbandonInFlight();
  for (AppliedMft& mft : mfts_) mft.AbandonInFlight();
}

void AppliedState::ForgetTables() {
  for (AppliedLft& lft : lfts_) lft.Forget();
  for (AppliedMft& mft : mfts_) mft.Forget();
  adaptive_routing_.ForgetAll();
  vls_.Clear();
  // Discovery has read all P_Key tables, except contradicted ones.
  for (auto& [port, blocks] : pkeys_)
    if (blocks.HasContradicted()) blocks.Forget();
  port_tables_ = nullptr;
  std::apply([](auto&... each) { (each.clear(), ...); }, WrittenByPort());
}

ReaderTables::Rows AppliedState::ReadLfts(const fabric::FabricSnapshot& snapshot) const {
  ReaderTables::Rows rows;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    const AppliedLft* lft = FindLft(node.index);
    if (lft == nullptr || !node.switch_info || node.switch_info->linear_fdb_top == 0) return;
    const size_t blocks = node.switch_info->linear_fdb_top / AppliedLft::kBlock + 1u;
    if (lft->KnowsAll() && lft->row().blocks() >= blocks && !lft->IsDistrusted())
      rows.emplace(node.guid(), lft->row());
  });
  return rows;
}

void AppliedState::TakeVouched(bool continues, const fabric::FabricSnapshot& snapshot) {
  const auto vouched = std::exchange(vouched_, nullptr);
  if (!continues || vouched == nullptr) return;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    const auto found = vouched->rows.find(node.guid());
    if (found == vouched->rows.end() || !node.IsSwitch() || !IsUntouched(node.index)) return;
    const auto unread = vouched->unread.find(node.guid());
    Lft(node.index)
        .Adopt(found->second,
               unread == vouched->unread.end() ? std::span<const uint16_t>() : unread->second);
    // Who has read a table knows that too: a table of a switch that forwards by it does not count
    // as read.
    if (!std::binary_search(vouched->computed.begin(), vouched->computed.end(), node.guid()))
      adaptive_routing_.Put(node.index, AdaptiveRouting::State::kNone);
  });
}

AppliedLft& AppliedState::Lft(NodeIndex node) {
  if (node.value() >= lfts_.size()) lfts_.resize(node.value() + 1);
  return lfts_[node.value()];
}

std::shared_ptr<const fabric::TablesByPort> AppliedState::PortTables(
    const fabric::FabricSnapshot& snapshot) {
  if (port_tables_ != nullptr && vls_version_ == vls_.version()) return port_tables_;
  auto made = std::make_shared<fabric::TablesByPort>();
  made->reserve(pkeys_.size());
  for (const auto& [port, blocks] : pkeys_)
    for (size_t block = 0; block < blocks.size(); ++block)
      if (blocks.Knows(block))
        (*made)[port].p_keys.push_back(
            {port.port, static_cast<uint16_t>(block), *blocks.Find(block)});
  for (const auto& [port, blocks] : switch_keys_)
    for (size_t block = 0; block < blocks.size(); ++block)
      if (blocks.Knows(block))
        (*made)[{port.node, PortNum(0)}].p_keys.push_back(
            {port.port, static_cast<uint16_t>(block), *blocks.Find(block)});
  if (!switch_keys_.empty())
    for (auto& [port, tables] : *made)
      std::sort(tables.p_keys.begin(), tables.p_keys.end(), [](const auto& a, const auto& b) {
        return std::tie(a.port, a.block) < std::tie(b.port, b.block);
      });
  for (const auto& [table, bytes] : vls_.tables()) AddVlTable(snapshot, table, bytes, *made);
  for (const NodeIndex index : vls_.read())
    if (const fabric::Node* node = snapshot.node(index))
      for (const PortNum port : PortNumbers(node->first_end_port(), node->last_end_port()))
        (*made)[{index, port}].has_all_lanes = true;
  vls_version_ = vls_.version();
  port_tables_ = std::move(made);
  return port_tables_;
}

AppliedMft& AppliedState::Mft(NodeIndex node) {
  if (node.value() >= mfts_.size()) mfts_.resize(node.value() + size_t{1});
  return mfts_[node.value()];
}

std::set<Lid> AppliedState::HeldMlids() const {
  std::set<Lid> mlids;
  for (const AppliedMft& mft : mfts_) mft.AddMlids(mlids);
  return mlids;
}

const AppliedMft* AppliedState::FindMft(NodeIndex node) const {
  return node.value() < mfts_.size() ? &mfts_[node.value()] : nullptr;
}

routing::MulticastPlan AppliedState::Trees() const {
  std::vector<std::shared_ptr<const routing::MulticastRow>> rows;
  for (const AppliedMft& mft : mfts_) rows.push_back(mft.Row());
  return routing::PlanOfRows(std::move(rows));
}

bool AppliedState::HasTrees() const {
  return std::any_of(mfts_.begin(), mfts_.end(),
                     [](const AppliedMft& mft) { return mft.HasEntries(); });
}

void AppliedState::ForgetGuids() {
  absl::erase_if(guids_, [](const auto& entry) { return !entry.second.HasContradicted(); });
  for (auto& [port, blocks] : guids_) blocks.ReadAgain();
}

const AppliedState::PKeyBlocks* AppliedState::FindPKeys(PortRef port) const {
  auto it = pkeys_.find(port);
  return it == pkeys_.end() ? nullptr : &it->second;
}

const AppliedState::PKeyBlocks* AppliedState::FindSwitchKeys(PortRef port) const {
  auto it = switch_keys_.find(port);
  return it == switch_keys_.end() ? nullptr : &it->second;
}

const AppliedState::GuidBlocks* AppliedState::FindGuids(PortRef port) const {
  auto it = guids_.find(port);
  return it == guids_.end() ? nullptr : &it->second;
}

std::optional<Enforcement> AppliedState::RequestedEnforcement(PortRef port) const {
  auto it = requested_.find(port);
  return it == requested_.end() ? std::nullopt : std::optional(it->second);
}

bool AppliedState::IsKnownRefusal(PortRef port, uint64_t fingerprint) const {
  auto it = refusals_.find(port);
  return it != refusals_.end() && it->second == fingerprint;
}

}  // namespace fabricd::sweep
