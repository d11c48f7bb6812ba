// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/device_table.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "common/check.h"
#include "mad/wire/sm_info.h"
#include "routing/multicast/multicast_rows.h"

namespace fabricd::sweep {
namespace {

void AddLaneTable(const fabric::FabricSnapshot& snapshot, const LaneTable& table,
                  const wire::SmpData& bytes, fabric::TablesByPort& out) {
  const fabric::Node* node = snapshot.node(table.port.node);
  if (node == nullptr) return;
  fabric::PortTables& tables =
      out[node->IsSwitch() ? PortRef{table.port.node, PortNum(0)} : table.port];
  if (table.kind == LaneTable::Kind::kArbitration) {
    tables.arbitration.push_back({table.port.port, static_cast<uint8_t>(table.in_out),
                                  wire::VlArbitrationTable::Decode(bytes)});
    return;
  }
  tables.lanes.push_back({PortNum(static_cast<uint8_t>(table.in_out >> 8)),
                          PortNum(static_cast<uint8_t>(table.in_out & 0xFF)),
                          wire::SlToVlMappingTable::Decode(bytes)});
}

}  // namespace

void AppliedLft::Forget() {
  auto flights = std::move(flights_);
  *this = AppliedLft();
  std::erase_if(flights, [](const auto& entry) { return entry.second.landed; });
  for (auto& [block, flight] : flights) flight.was_known = false;
  flights_ = std::move(flights);
}

void AppliedLft::Landed(size_t block) {
  const auto it = flights_.find(block);
  if (it != flights_.end()) it->second.landed = true;
}

void AppliedLft::Unsent(size_t block) {
  const auto it = flights_.find(block);
  if (it == flights_.end()) return;
  if (it->second.was_known && !known_[block]) {
    known_[block] = true;
    ++known_count_;
  }
  flights_.erase(it);
}

void AppliedLft::ExpectRow(const routing::Row& row) {
  if (was_read_) return;
  row_ = row;
  known_.assign(row_.blocks(), false);
}

bool AppliedLft::Holds(size_t block, const routing::Row& row) const {
  if (!Knows(block)) return false;
  return block < row.blocks() && (row_.SharesPage(row, block * kBlock / routing::Row::kPage) ||
                                  std::memcmp(row_.block(block), row.block(block), kBlock) == 0);
}

std::vector<uint16_t> AppliedLft::Differences(size_t blocks, const routing::Row& row) const {
  constexpr size_t kOfPage = routing::Row::kPage / kBlock;
  std::vector<uint16_t> differences;
  for (size_t block = 0; block < blocks; ++block) {
    if (block % kOfPage == 0 && KnowsAll() && block + kOfPage <= row_.blocks() &&
        row_.SharesPage(row, block / kOfPage))
      block += kOfPage - 1;
    else if (!Holds(block, row))
      differences.push_back(static_cast<uint16_t>(block));
  }
  return differences;
}

void AppliedLft::Confirm(size_t block, const std::array<uint8_t, kBlock>& bytes) {
  distrusted_.erase(block);
  flights_.erase(block);
  was_read_ = true;
  if (row_.blocks() <= block) row_.Resize((block + 1) * kBlock, routing::kNoRoute);
  if (std::memcmp(row_.block(block), bytes.data(), kBlock) != 0)
    row_.WriteBlock(block, bytes.data());
  if (known_.size() < row_.blocks()) known_.resize(row_.blocks(), false);
  if (!known_[block]) {
    known_[block] = true;
    ++known_count_;
  }
}

bool AppliedLft::Answer(size_t block, const std::array<uint8_t, kBlock>& shown) {
  const auto it = flights_.find(block);
  const bool agrees = it == flights_.end() || it->second.bytes == shown;
  if (agrees)
    Confirm(block, shown);
  else
    distrusted_.insert(block);
  return agrees;
}

void AppliedLft::Sent(size_t block, const std::array<uint8_t, kBlock>& bytes) {
  flights_[block] = {Knows(block), false, bytes};
  if (block < known_.size() && known_[block]) {
    known_[block] = false;
    --known_count_;
  }
}

DeviceTable::Device& DeviceTable::At(NodeIndex node) {
  if (node.value() >= devices_.size()) devices_.resize(node.value() + 1);
  return devices_[node.value()];
}

bool DeviceTable::Has(NodeIndex node) const {
  return node.value() < devices_.size() && devices_[node.value()].present;
}

const wire::DirectedPath& DeviceTable::PathTo(NodeIndex node) const {
  FABRICD_CHECK(Has(node), "node index {}", node);
  return devices_[node.value()].path;
}

void DeviceTable::SetPath(NodeIndex node, const wire::DirectedPath& path) {
  Device& device = At(node);
  device.present = true;
  device.path = path;
  device.alternative.reset();
}

void DeviceTable::SetAlternative(NodeIndex node, const wire::DirectedPath& path) {
  Device& device = At(node);
  if (device.present && !device.alternative && !(device.path == path)) device.alternative = path;
}

void DeviceTable::NoteAnswer(mad::DeviceId id, const wire::DirectedPath& way) {
  if (id >= devices_.size()) return;
  Device& device = devices_[id];
  if (device.present && device.alternative && *device.alternative == way)
    std::swap(device.path, *device.alternative);
}

DeviceTable::FurtherPort* DeviceTable::FindFurther(PortRef port) {
  for (FurtherPort& further : At(port.node).further_ports)
    if (further.port == port.port) return &further;
  return nullptr;
}

void DeviceTable::SetPortPath(PortRef port, const wire::DirectedPath& path) {
  Device& device = At(port.node);
  if (FurtherPort* further = FindFurther(port))
    further->path = path;
  else if (!(device.path == path))
    device.further_ports.push_back({port.port, path, std::nullopt});
}

const wire::DirectedPath* DeviceTable::FurtherPathTo(PortRef port) const {
  if (!Has(port.node)) return nullptr;
  for (const FurtherPort& further : devices_[port.node.value()].further_ports)
    if (further.port == port.port) return &further.path;
  return nullptr;
}

void DeviceTable::SetMKey(PortRef port, MKey key) {
  if (!key) return;
  if (FurtherPort* further = FindFurther(port))
    further->m_key = key;
  else
    At(port.node).m_key = key;
}

MKey DeviceTable::ConfiguredMKey(Guid port_guid) const {
  auto it = options_->m_key_by_guid.find(port_guid);
  return it == options_->m_key_by_guid.end() ? options_->m_key : it->second;
}

MKey DeviceTable::MKeyOf(NodeIndex node) const {
  const bool read = Has(node) && devices_[node.value()].m_key.has_value();
  return read ? *devices_[node.value()].m_key : options_->m_key;
}

void DeviceTable::Remove(NodeIndex node) {
  if (node.value() < devices_.size()) devices_[node.value()] = Device();
  port_tables_ = nullptr;
  absl::erase_if(pkeys_, [node](const auto& entry) { return entry.first.node == node; });
  ForgetWritten(node);
}

void DeviceTable::ForgetWritten(NodeIndex node) {
  if (node.value() < lfts_.size()) lfts_[node.value()].Forget();
  if (node.value() < mfts_.size()) mfts_[node.value()].Forget();
  lanes_.Forget(node);
  ForgetSwitchKeys(node);
  for (auto& [port, blocks] : pkeys_) {
    if (port.node != node) continue;
    blocks.Forget();
    port_tables_ = nullptr;
  }
  absl::erase_if(guids_, [node](const auto& entry) { return entry.first.node == node; });
  absl::erase_if(settled_, [node](const auto& entry) { return entry.first.node == node; });
}

void DeviceTable::ForgetSwitchKeys(NodeIndex node) {
  const auto erased =
      absl::erase_if(switch_keys_, [node](const auto& entry) { return entry.first.node == node; });
  if (erased > 0) port_tables_ = nullptr;
  absl::erase_if(told_, [node](const auto& entry) { return entry.first.node == node; });
}

bool DeviceTable::HasUnreadTables(const fabric::FabricSnapshot& snapshot) const {
  bool has_unread = false;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    if (!node.switch_info || node.switch_info->linear_fdb_top == 0 || !Has(node.index)) return;
    const size_t i = node.index.value();
    has_unread |= i >= lfts_.size() || lfts_[i].IsUntouched();
  });
  return has_unread;
}

bool DeviceTable::Hold(const routing::RoutingPlan& plan) const {
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

routing::AppliedTables DeviceTable::Applied() const {
  routing::AppliedTables tables;
  tables.rows.resize(lfts_.size());
  for (uint32_t i = 0; i < lfts_.size(); ++i) {
    const AppliedLft& lft = lfts_[i];
    if (!lft.WasRead()) continue;
    tables.rows[i] = lft.row();
    if (lft.KnowsAll()) continue;
    for (size_t block = 0; block < lft.row().blocks(); ++block) {
      if (lft.Knows(block)) continue;
      std::array<uint8_t, AppliedLft::kBlock> nothing;
      nothing.fill(routing::kNoRoute);
      if (const auto* maybe = lft.Maybe(block))
        tables.unsure.push_back({NodeIndex(i), static_cast<uint16_t>(block), *maybe});
      else  // Never read: what it holds is anybody's guess, and is replaced.
        tables.rows[i].WriteBlock(block, nothing.data());
    }
  }
  return tables;
}

mad::SmpRequest DeviceTable::Get(NodeIndex node, wire::AttributeId attribute,
                                 uint32_t modifier) const {
  FABRICD_CHECK(Has(node), "node index {}", node);
  const Device& device = devices_[node.value()];
  mad::SmpRequest request;
  request.method = wire::Method::kGet;
  request.attribute = attribute;
  request.modifier = modifier;
  request.m_key = device.m_key.value_or(options_->m_key);
  if (attribute == wire::AttributeId::kSmInfo) wire::SmInfo{.guid = own_}.Encode(request.data);
  request.path = device.path;
  request.alternative = device.alternative;
  request.device = node.value();
  return request;
}

mad::SmpRequest DeviceTable::Get(PortRef port, wire::AttributeId attribute,
                                 uint32_t modifier) const {
  mad::SmpRequest request = Get(port.node, attribute, modifier);
  for (const FurtherPort& further : devices_[port.node.value()].further_ports) {
    if (further.port != port.port) continue;
    request.path = further.path;
    request.m_key = further.m_key.value_or(options_->m_key);
    request.alternative.reset();
  }
  return request;
}

mad::SmpRequest DeviceTable::GetSmInfo(const wire::DirectedPath& path, mad::DeviceId device) const {
  mad::SmpRequest request;
  request.attribute = wire::AttributeId::kSmInfo;
  request.path = path;
  request.device = device;
  wire::SmInfo{.guid = own_}.Encode(request.data);
  return request;
}

void DeviceTable::LoseTrack() {
  for (const auto& [port, attribute] : busy_)
    if (attribute == wire::AttributeId::kPortInfo) told_.erase(port);
  busy_.clear();
  for (AppliedLft& lft : lfts_) lft.LandAll();
  for (AppliedMft& mft : mfts_) mft.LandAll();
}

void DeviceTable::ForgetTables() {
  for (AppliedLft& lft : lfts_) lft.Forget();
  for (AppliedMft& mft : mfts_) mft.Forget();
  lanes_.Clear();
  switch_keys_.clear();
  told_.clear();
  // Discovery has read all but these.
  for (auto& [port, blocks] : pkeys_)
    if (blocks.HasDistrusted()) blocks.Forget();
  guids_.clear();
  port_tables_ = nullptr;
  settled_.clear();
}

AppliedLft& DeviceTable::Lft(NodeIndex node) {
  if (node.value() >= lfts_.size()) lfts_.resize(node.value() + 1);
  return lfts_[node.value()];
}

std::shared_ptr<const fabric::TablesByPort> DeviceTable::PortTables(
    const fabric::FabricSnapshot& snapshot) {
  if (port_tables_ != nullptr && lanes_version_ == lanes_.version()) return port_tables_;
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
  for (const auto& [table, bytes] : lanes_.tables()) AddLaneTable(snapshot, table, bytes, *made);
  for (const NodeIndex index : lanes_.read())
    if (const fabric::Node* node = snapshot.node(index))
      for (int port = node->first_end_port().value(); port <= node->last_end_port().value(); ++port)
        (*made)[{index, PortNum(static_cast<uint8_t>(port))}].has_all_lanes = true;
  lanes_version_ = lanes_.version();
  port_tables_ = std::move(made);
  return port_tables_;
}

AppliedMft& DeviceTable::Mft(NodeIndex node) {
  if (node.value() >= mfts_.size()) mfts_.resize(node.value() + size_t{1});
  return mfts_[node.value()];
}

const AppliedMft* DeviceTable::FindMft(NodeIndex node) const {
  return node.value() < mfts_.size() ? &mfts_[node.value()] : nullptr;
}

routing::MulticastPlan DeviceTable::AppliedTrees() const {
  std::vector<std::shared_ptr<const routing::MulticastRow>> rows;
  for (const AppliedMft& mft : mfts_) rows.push_back(mft.Row());
  return routing::PlanOfRows(std::move(rows));
}

bool DeviceTable::HasTrees() const {
  return std::any_of(mfts_.begin(), mfts_.end(),
                     [](const AppliedMft& mft) { return mft.HasEntries(); });
}

void DeviceTable::ForgetGuids() {
  absl::erase_if(guids_, [](const auto& entry) { return !entry.second.HasDistrusted(); });
  for (auto& [port, blocks] : guids_) blocks.ReadAgain();
}

const DeviceTable::PKeyBlocks* DeviceTable::FindPKeys(PortRef port) const {
  auto it = pkeys_.find(port);
  return it == pkeys_.end() ? nullptr : &it->second;
}

const DeviceTable::PKeyBlocks* DeviceTable::FindSwitchKeys(PortRef port) const {
  auto it = switch_keys_.find(port);
  return it == switch_keys_.end() ? nullptr : &it->second;
}

const DeviceTable::GuidBlocks* DeviceTable::FindGuids(PortRef port) const {
  auto it = guids_.find(port);
  return it == guids_.end() ? nullptr : &it->second;
}

std::optional<Enforcement> DeviceTable::ToldEnforcement(PortRef port) const {
  auto it = told_.find(port);
  return it == told_.end() ? std::nullopt : std::optional(it->second);
}

bool DeviceTable::IsSettled(PortRef port, uint64_t fingerprint) const {
  auto it = settled_.find(port);
  return it != settled_.end() && it->second == fingerprint;
}

}  // namespace fabricd::sweep
