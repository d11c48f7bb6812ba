// SPDX-License-Identifier: Apache-2.0
#include "sweep/program/read_back.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/breakage.h"
#include "sweep/device/completion.h"
#include "sweep/device/port_config.h"
#include "sweep/interface/activity.h"

namespace fabricd::sweep {
namespace {

template <typename Attribute>
wire::SmpData BytesOf(const Attribute& value) {
  wire::SmpData bytes{};
  value.Encode(bytes);
  return bytes;
}

// Copies the fields that fabricd sets, but for the M_Key, which not every response shows, and for
// states, which surveys read.
void CopySettings(const wire::PortInfo& from, wire::PortInfo& to) {
  to.lid = from.lid;
  to.lmc = from.lmc;
  to.master_sm_lid = from.master_sm_lid;
  to.master_sm_sl = from.master_sm_sl;
  to.gid_prefix = from.gid_prefix;
  to.m_key_lease_period = from.m_key_lease_period;
  to.m_key_protect_bits = from.m_key_protect_bits;
  to.subnet_timeout = from.subnet_timeout;
  to.neighbor_mtu = from.neighbor_mtu;
  to.operational_vls = from.operational_vls;
  to.link_down_default_state = from.link_down_default_state;
  to.local_phy_errors = from.local_phy_errors;
  to.overrun_errors = from.overrun_errors;
  to.vl_stall_count = from.vl_stall_count;
  to.hoq_life = from.hoq_life;
  to.partition_enforcement_inbound = from.partition_enforcement_inbound;
  to.partition_enforcement_outbound = from.partition_enforcement_outbound;
}

std::string HexOf(const wire::SmpData& bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

// ---- selection

void ReadBack::AddForwarding(const fabric::Node& node, std::vector<Table>& tables) {
  if (!node.IsSwitch()) return;
  const auto adaptive = devices_.applied().adaptive_routing().Of(node.index);
  if (adaptive == AdaptiveRouting::State::kOn) return;  // What it shows proves nothing.
  const size_t blocks = devices_.applied().Lft(node.index).row().blocks();
  for (size_t block = 0; block < blocks; ++block)
    tables.push_back({{node.index, PortNum(0)}, static_cast<uint16_t>(block), Kind::kForwarding});
}

// What discovery reads.
void ReadBack::AddOthersOfEndPorts(const fabric::Node& node, std::vector<Table>& tables) const {
  for (const auto& [port, state] : node.LinkPorts())
    if (node.IsSwitch() && state.IsUp()) tables.push_back({port, 0, Kind::kSettings});
  for (const auto& [port, state] : node.EndPorts()) {
    tables.push_back({port, 0, Kind::kSettings});
    const auto* keys = devices_.applied().FindPKeys(port);
    for (size_t block = 0; keys != nullptr && block < keys->size(); ++block)
      tables.push_back({port, static_cast<uint16_t>(block), Kind::kEndPortKeys});
    const auto* guids = devices_.applied().FindGuids(port);
    for (size_t block = 0; guids != nullptr && block < guids->size(); ++block)
      tables.push_back({port, static_cast<uint16_t>(block), Kind::kGuids});
  }
}

void ReadBack::AddOthers(const fabric::Node& node, std::vector<Table>& tables) const {
  if (const AppliedMft* mft = devices_.applied().FindMft(node.index))
    for (const auto& [place, state] : mft->blocks())
      tables.push_back({{node.index, PortNum(0)}, place.block, Kind::kMulticast, place.position});
  for (const auto& [port, state] : node.LinkPorts()) {
    const auto* keys = node.IsSwitch() ? devices_.applied().FindSwitchKeys(port) : nullptr;
    for (size_t block = 0; keys != nullptr && block < keys->size(); ++block)
      tables.push_back({port, static_cast<uint16_t>(block), Kind::kSwitchKeys});
  }
  if (!vls_) return;
  for (const VlTable& table : VlTablesOf(*snapshot_, node))
    tables.push_back({table.port, table.in_out,
                      table.kind == VlTable::Kind::kMap ? Kind::kMap : Kind::kArbitration});
}

// Interleaves the devices. One device at a time would leave the others waiting, because of the
// limit per device.
void ReadBack::AddInTurn(std::vector<std::vector<Table>> by_node) {
  size_t longest = 0;
  for (const auto& tables : by_node) longest = std::max(longest, tables.size());
  for (size_t i = 0; i < longest; ++i)
    for (const auto& tables : by_node)
      if (i < tables.size()) waiting_.push_back(tables[i]);
}

bool ReadBack::Rests(NodeIndex node, Instant now) const {
  const auto pace = paces_.find(node);
  return pace != paces_.end() && now < pace->second.until;
}

void ReadBack::AddSample(std::shared_ptr<const fabric::FabricSnapshot> snapshot, bool lanes,
                         Instant now) {
  // The last sample has not been read completely yet.
  if (!empty()) return;
  begun_ = true;
  snapshot_ = std::move(snapshot);
  vls_ = lanes;
  std::vector<std::vector<Table>> by_node;
  size_t switches = 0;
  snapshot_->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch()) return;
    ++switches;
    std::vector<Table> all, some;
    if (!Rests(node.index, now)) AddForwarding(node, all);
    for (size_t i = 0; i < std::min(kBlocksOfSwitch, all.size()); ++i)
      some.push_back(all[(turn_ * kBlocksOfSwitch + i) % all.size()]);
    by_node.push_back(std::move(some));
  });
  ++turn_;
  const size_t budget = std::max(switches, kLeastOthers);
  const uint32_t end = snapshot_->node_index_end();
  size_t others = 0;
  for (uint32_t looked = 0; looked < end && others < budget; ++looked) {
    next_node_ = next_node_ < end ? next_node_ : 0;
    const fabric::Node* node = snapshot_->node(NodeIndex(next_node_++));
    if (node == nullptr || Rests(node->index, now)) continue;
    std::vector<Table> tables;
    AddOthers(*node, tables);
    AddOthersOfEndPorts(*node, tables);
    others += tables.size();
    by_node.push_back(std::move(tables));
  }
  AddInTurn(std::move(by_node));
}

void ReadBack::AddAll(std::shared_ptr<const fabric::FabricSnapshot> snapshot, bool lanes) {
  begun_ = all_ = true;
  snapshot_ = std::move(snapshot);
  vls_ = lanes;
  waiting_.clear();
  std::vector<std::vector<Table>> by_node;
  snapshot_->ForEachNode([&](const fabric::Node& node) {
    std::vector<Table> tables;
    AddForwarding(node, tables);
    AddOthers(node, tables);
    by_node.push_back(std::move(tables));
  });
  AddInTurn(std::move(by_node));
}

void ReadBack::Hold(std::vector<uint64_t> commands) {
  commands_.insert(commands_.end(), commands.begin(), commands.end());
}

// ---- requests

VlTable ReadBack::VlTableOf(const Table& table) {
  return {table.port, table.kind == Kind::kMap ? VlTable::Kind::kMap : VlTable::Kind::kArbitration,
          table.block};
}

wire::AttributeId ReadBack::AttributeOf(Kind kind) {
  switch (kind) {
    case Kind::kForwarding: return wire::AttributeId::kLinearForwardingTable;
    case Kind::kMulticast: return wire::AttributeId::kMulticastForwardingTable;
    case Kind::kEndPortKeys:
    case Kind::kSwitchKeys: return wire::AttributeId::kPKeyTable;
    case Kind::kGuids: return wire::AttributeId::kGuidInfo;
    case Kind::kMap: return wire::AttributeId::kSlToVlMappingTable;
    case Kind::kArbitration: return wire::AttributeId::kVlArbitrationTable;
    case Kind::kSettings: break;
  }
  return wire::AttributeId::kPortInfo;
}

mad::SmpRequest ReadBack::RequestFor(const Table& table) const {
  const fabric::Node& node = *builder_.node(table.port.node);
  uint32_t modifier = table.block;
  switch (table.kind) {
    case Kind::kForwarding:
    case Kind::kEndPortKeys:
    case Kind::kGuids: break;
    case Kind::kMulticast:
      modifier = wire::MulticastForwardingTable::Modifier(table.position, table.block);
      break;
    case Kind::kSwitchKeys:
      modifier = wire::PKeyTable::Modifier(table.port.port, table.block);
      break;
    case Kind::kMap:
    case Kind::kArbitration: modifier = VlTableOf(table).Modifier(node.IsSwitch()); break;
    case Kind::kSettings: modifier = PortConfig::ModifierOf(node, table.port.port); break;
  }
  mad::SmpRequest request = devices_.Get(table.port, AttributeOf(table.kind), modifier);
  request.priority = mad::kPriorities - 1;
  return request;
}

// The form in which contents are compared: without reserved fields, and fields that fabricd does
// not manage.
wire::SmpData ReadBack::Canonical(Kind kind, const wire::SmpData& data) {
  switch (kind) {
    case Kind::kForwarding: break;
    case Kind::kMulticast: return BytesOf(wire::MulticastForwardingTable::Decode(data));
    case Kind::kEndPortKeys:
    case Kind::kSwitchKeys: return BytesOf(wire::PKeyTable::Decode(data));
    case Kind::kGuids: return BytesOf(wire::GuidInfo::Decode(data));
    case Kind::kMap: return BytesOf(wire::SlToVlMappingTable::Decode(data));
    case Kind::kArbitration: return BytesOf(wire::VlArbitrationTable::Decode(data));
    case Kind::kSettings: return SettingsIn(wire::PortInfo::Decode(data));
  }
  return data;
}

wire::SmpData ReadBack::SettingsIn(const wire::PortInfo& info) {
  wire::PortInfo settings;
  CopySettings(info, settings);
  return BytesOf(settings);
}

std::optional<wire::SmpData> ReadBack::Held(const Table& table) {
  const NodeIndex index = table.port.node;
  const fabric::Node* node = builder_.node(index);
  if (node == nullptr || node->unresponsive || !devices_.Has(index) ||
      devices_.applied().IsBusy(table.port, AttributeOf(table.kind)))
    return std::nullopt;
  const auto block_of = [&](const auto* blocks) -> std::optional<wire::SmpData> {
    if (blocks == nullptr || !blocks->Knows(table.block)) return std::nullopt;
    return BytesOf(*blocks->Find(table.block));
  };
  switch (table.kind) {
    case Kind::kForwarding: {
      const AppliedLft& lft = devices_.applied().Lft(index);
      if (!lft.Knows(table.block) || lft.IsInFlight(table.block)) return std::nullopt;
      wire::SmpData bytes;
      std::memcpy(bytes.data(), lft.row().block(table.block), bytes.size());
      return bytes;
    }
    case Kind::kMulticast: {
      const routing::MulticastPlace place{table.block, table.position};
      const AppliedMft& mft = devices_.applied().Mft(index);
      if (!mft.Knows(place)) return std::nullopt;
      return BytesOf(wire::MulticastForwardingTable{mft.Surely(place)});
    }
    case Kind::kEndPortKeys: return block_of(devices_.applied().FindPKeys(table.port));
    case Kind::kSwitchKeys: return block_of(devices_.applied().FindSwitchKeys(table.port));
    case Kind::kGuids: return block_of(devices_.applied().FindGuids(table.port));
    case Kind::kMap:
    case Kind::kArbitration: {
      const wire::SmpData* held = devices_.applied().vls().Find(VlTableOf(table));
      return held == nullptr ? std::nullopt : std::optional(*held);
    }
    case Kind::kSettings: break;
  }
  const fabric::Port& port = node->port(table.port.port);
  if (!port.known) return std::nullopt;
  return SettingsIn(port.info);
}

// A whole second's worth may come at once.
bool ReadBack::TakeToken(Instant now) {
  const double rate = options_.rate;
  const double seconds = std::chrono::duration<double>(now - tokens_at_).count();
  tokens_ = std::min(rate, tokens_ + seconds * rate);
  tokens_at_ = now;
  if (tokens_ < 1) {
    const std::chrono::duration<double> wait((1 - tokens_) / rate);
    next_feed_ = now + std::chrono::ceil<std::chrono::milliseconds>(wait);
    return false;
  }
  --tokens_;
  return true;
}

void ReadBack::Feed(Instant now) {
  next_feed_ = kNever;
  while (!waiting_.empty() && in_flight_.size() < kInFlight) {
    const Table table = waiting_.front();
    if (Held(table) && !all_ && !TakeToken(now)) return;
    waiting_.pop_front();
    if (!Held(table)) continue;
    const uint32_t number = next_number_++;
    mad::SmpRequest request = RequestFor(table);
    request.context = mad::RequestContext::Of(Activity::kReadBack, table.kind, table.port);
    request.context.run = run_;
    request.context.number = number;
    in_flight_.emplace(number, table);
    engine_.Submit(request);
  }
}

void ReadBack::Pause() {
  if (in_flight_.empty()) return;
  ++run_;
  for (const auto& [number, table] : in_flight_) waiting_.push_front(table);
  in_flight_.clear();
}

std::vector<uint64_t> ReadBack::Drop() {
  ++run_;
  waiting_.clear();
  in_flight_.clear();
  differences_.clear();
  begun_ = all_ = false;
  tables_read_ = 0;
  return std::exchange(commands_, {});
}

// ---- responses

void ReadBack::Take(const Table& table, const wire::SmpData& data) {
  const NodeIndex node = table.port.node;
  switch (table.kind) {
    case Kind::kForwarding: devices_.applied().Lft(node).Confirm(table.block, data); break;
    case Kind::kMulticast:
      devices_.applied().Mft(node).Confirm({table.block, table.position},
                                           wire::MulticastForwardingTable::Decode(data).port_mask);
      break;
    case Kind::kEndPortKeys:
      devices_.applied().PKeys(table.port).Confirm(table.block, wire::PKeyTable::Decode(data));
      break;
    case Kind::kSwitchKeys:
      devices_.applied().SwitchKeys(table.port).Confirm(table.block, wire::PKeyTable::Decode(data));
      break;
    case Kind::kGuids:
      devices_.applied()
          .GuidsTo(table.port, static_cast<uint8_t>(table.block))
          .Confirm(table.block, wire::GuidInfo::Decode(data));
      break;
    case Kind::kMap:
    case Kind::kArbitration:
      devices_.applied().vls().Confirm(VlTableOf(table), Canonical(table.kind, data));
      break;
    case Kind::kSettings: {
      // Updates only the compared fields. Port states are read by surveys.
      const auto read = wire::PortInfo::Decode(data);
      wire::PortInfo info = builder_.node(node)->port(table.port.port).info;
      CopySettings(read, info);
      builder_.SetPortInfo(table.port, info);
      break;
    }
  }
}

uint32_t ReadBack::EntriesDiffering(Kind kind, const wire::SmpData& a, const wire::SmpData& b) {
  size_t bytes = 2;
  if (kind == Kind::kForwarding) bytes = 1;
  if (kind == Kind::kGuids) bytes = 8;
  if (kind == Kind::kSettings) bytes = a.size();  // One entry.
  uint32_t entries = 0;
  if (kind == Kind::kMap) {
    const auto one = wire::SlToVlMappingTable::Decode(a),
               other = wire::SlToVlMappingTable::Decode(b);
    for (size_t level = 0; level < one.vl.size(); ++level)
      entries += one.vl[level] != other.vl[level];
    return entries;
  }
  for (size_t at = 0; at < a.size(); at += bytes)
    entries += std::memcmp(&a[at], &b[at], bytes) != 0;
  return entries;
}

void ReadBack::OnCompletion(const mad::Completion& completion) {
  const auto found = in_flight_.find(completion.context.number);
  if (found == in_flight_.end()) return;
  const Table table = found->second;
  in_flight_.erase(found);
  const auto held = Held(table);  // The table may have been written, or the device removed, since.
  // Light sweeps report unresponsive devices. Here one costs a single series of timeouts.
  if (completion.outcome == mad::Completion::Outcome::kTimedOut)
    std::erase_if(waiting_, [&](const Table& other) { return other.port == table.port; });
  if (!IsOk(completion) || !held) return;
  ++tables_read_;
  const wire::SmpData& data = completion.response.data;
  if (table.kind == Kind::kSettings) {
    const auto info = wire::PortInfo::Decode(data);
    // Surveys find a port that has restarted or is about to.
    const fabric::Node& node = *builder_.node(table.port.node);
    const bool is_external = node.IsSwitch() && table.port.port != PortNum(0);
    const auto& known = node.port(table.port.port).info;
    if ((!info.lid && !is_external) || info.port_state != known.port_state) return;
  }
  const wire::SmpData shown = Canonical(table.kind, data);
  const uint32_t entries = EntriesDiffering(table.kind, *held, shown);
  if (entries == 0 || IsBroken(Breakage::kNotReadBack)) return;
  if (options_.repairs || all_) Take(table, data);
  OnDifference(table, entries, *held, shown);
}

void ReadBack::OnDifference(const Table& table, uint32_t entries, const wire::SmpData& held,
                            const wire::SmpData& shown) {
  const NodeIndex index = table.port.node;
  const auto first = differences_.lower_bound({index, Kind::kForwarding});
  const bool is_first = first == differences_.end() || first->first.first != index;
  Difference& difference = differences_[{index, table.kind}];
  if (++difference.blocks == 1) {
    difference.first = table;
    difference.held = held;
    difference.shown = shown;
  }
  difference.entries += entries;
  const fabric::Node* node = snapshot_->node(index);
  if (!is_first || node == nullptr) return;
  std::vector<Table> rest;
  AddForwarding(*node, rest);
  AddOthers(*node, rest);
  AddOthersOfEndPorts(*node, rest);
  waiting_.insert(waiting_.begin(), rest.begin(), rest.end());
}

fabric::FabricEvent ReadBack::EventOf(NodeIndex index, Kind kind, const Difference& difference,
                                      uint32_t times, Instant now) const {
  const fabric::Node* node = builder_.node(index);
  const std::string table(wire::AttributeName(AttributeOf(kind)));
  fabric::FabricEvent event;
  event.type = "TableDiffers";
  event.severity = fabric::Severity::kWarning;
  event.subject = node == nullptr             ? fmt::format("node index {}", index)
                  : node->description.empty() ? fmt::format("{}", node->guid())
                                              : node->description;
  event.node = node == nullptr ? Guid() : node->guid();
  event.message = fmt::format(
      "{} entries in {} {} blocks are not what was written: another program has written them, or "
      "the device has lost them; {}",
      difference.entries, difference.blocks, table,
      options_.repairs || all_ ? "they are written again" : "they stay (sweep.audit: report)");
  event.facts = {{"table", table},
                 {"port", fmt::format("{}", difference.first.port.port)},
                 {"block", fmt::format("{}", difference.first.block)},
                 {"held", HexOf(difference.held)},
                 {"shown", HexOf(difference.shown)},
                 {"blocks", fmt::format("{}", difference.blocks)},
                 {"entries", fmt::format("{}", difference.entries)},
                 {"times", fmt::format("{}", times)}};
  event.at = now;
  return event;
}

ReadBack::Result ReadBack::TakeResult(Instant now) {
  begun_ = false;
  Result result;
  const bool repairs = options_.repairs || all_;
  result.all = all_;
  result.tables_read = std::exchange(tables_read_, 0);
  result.commands = std::exchange(commands_, {});
  for (const auto& [key, difference] : differences_)
    if (result.differing.empty() || result.differing.back() != key.first)
      result.differing.push_back(key.first);
  std::erase_if(paces_, [&](const auto& entry) {
    return now >= entry.second.until + entry.second.wait &&
           !std::binary_search(result.differing.begin(), result.differing.end(), entry.first);
  });
  for (NodeIndex node : result.differing) {
    Pace& pace = paces_[node];
    pace.wait = std::clamp(pace.wait * 2, kFirstWait, kLongestWait);
    pace.until = now + pace.wait;
    ++pace.times;
  }
  for (const auto& [key, difference] : differences_)
    result.events.push_back(
        EventOf(key.first, key.second, difference, paces_[key.first].times, now));
  differences_.clear();
  for (const auto& [node, pace] : paces_)
    if (pace.times > 1) result.drifting.push_back(node);
  if (!repairs) result.differing.clear();
  all_ = false;
  return result;
}

}  // namespace fabricd::sweep
