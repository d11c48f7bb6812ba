// SPDX-License-Identifier: Apache-2.0
#include "sweep/program/programmer.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <absl/hash/hash.h>

#include "common/breakage.h"
#include "common/check.h"
#include "sweep/device/completion.h"
#include "sweep/device/ignored_settings.h"
#include "sweep/interface/activity.h"

namespace fabricd::sweep {
namespace {

// Requests handed to the engine ahead of its window: enough that it never runs dry between two
// calls.
constexpr size_t kReady = 512;

// Of an Item: the block is one of GUIDs.
constexpr uint16_t kGuidBlock = 0x8000;

}  // namespace

std::string_view StageName(Programmer::Stage stage) {
  switch (stage) {
    case Programmer::Stage::kReadTables: return "reading tables";
    case Programmer::Stage::kSwitches: return "switches";
    case Programmer::Stage::kGuids: return "alias GUIDs";
    case Programmer::Stage::kKeys: return "P_Keys";
    case Programmer::Stage::kPorts: return "ports";
    case Programmer::Stage::kTables: return "forwarding tables";
    case Programmer::Stage::kTrees: return "multicast tables";
    case Programmer::Stage::kReadLanes: return "reading lanes";
    case Programmer::Stage::kLanes: return "lanes";
    case Programmer::Stage::kHeld: return "held ports";
    case Programmer::Stage::kArm: return "arming";
    case Programmer::Stage::kActivate: return "activating";
    case Programmer::Stage::kDone: return "done";
  }
  return "unknown";
}

Programmer::Programmer(ProgrammerInput input, fabric::SnapshotBuilder& builder,
                       DeviceTable& devices, mad::TransactionEngine& engine, ProblemList& problems,
                       const CoreOptions& options)
    : input_(std::move(input)),
      builder_(builder),
      devices_(devices),
      engine_(engine),
      problems_(problems),
      port_config_(options, input_.lids->Of(input_.local).base),
      keys_(input_.keys, *input_.snapshot, devices),
      guids_(input_.guids, *input_.snapshot, devices),
      trees_(builder, devices) {
  if (input_.trees_only) tables_ = Tables::kDone;
}

void Programmer::Start() { EnterStage(Stage::kReadTables); }

void Programmer::SetPlan(std::shared_ptr<const routing::RoutingPlan> plan) {
  plan_ = std::move(plan);
  plan_known_ = true;
}

bool Programmer::NeedsPush() {
  ListTables();
  return tables_ == Tables::kNeedPush;
}

void Programmer::SetPush(routing::PushPlan push) {
  push_ = TablePush(std::move(push.writes));
  tables_ = Tables::kPushing;
}

void Programmer::NoteLate(const mad::Completion& completion, fabric::SnapshotBuilder& builder,
                          DeviceTable& devices) {
  const NodeIndex node = completion.context.node;
  const PortRef port = completion.context.subject();
  if (completion.method != wire::Method::kSet) return;
  devices.ClearBusy(port, completion.attribute);
  if (completion.context.kind_as<What>() == What::kConfigure && !IsOk(completion))
    devices.ForgetEnforcement(port);
  const uint16_t block = completion.context.block;
  if (completion.attribute == wire::AttributeId::kLinearForwardingTable) {
    AppliedLft& lft = devices.Lft(node);
    if (!completion.sent) return lft.Unsent(completion.modifier);
    lft.Landed(completion.modifier);
    if (IsOk(completion)) lft.Answer(completion.modifier, completion.response.data);
  } else if (completion.attribute == wire::AttributeId::kMulticastForwardingTable) {
    TreeProgrammer::NoteLate(node, {block, port.port.value()}, completion, devices);
  } else if (IsOk(completion) && builder.node(node) != nullptr) {
    if (completion.attribute == wire::AttributeId::kPortInfo)
      builder.SetPortInfo(port, wire::PortInfo::Decode(completion.response.data));
    else if (completion.attribute == wire::AttributeId::kSwitchInfo)
      builder.SetSwitchInfo(node, wire::SwitchInfo::Decode(completion.response.data));
    else if (completion.attribute == wire::AttributeId::kPKeyTable)
      KeysOf(port, builder, devices)
          .Answer(block, wire::PKeyTable::Decode(completion.response.data));
    else if (completion.attribute == wire::AttributeId::kGuidInfo)
      devices.GuidsTo(port, static_cast<uint8_t>(block))
          .Answer(static_cast<uint8_t>(block), wire::GuidInfo::Decode(completion.response.data));
  }
}

// Of an end port, or of a switch's external port. Empty: there is no such port.
DeviceTable::PKeyBlocks& Programmer::KeysOf(PortRef port, const fabric::SnapshotBuilder& builder,
                                            DeviceTable& devices) {
  const fabric::Node* node = builder.node(port.node);
  if (node == nullptr || !node->IsSwitch() || port.port == PortNum(0)) return devices.PKeys(port);
  auto& blocks = devices.SwitchKeys(port);
  const size_t cap = node->switch_info ? node->switch_info->partition_enforcement_cap : 0;
  blocks.Resize((cap + wire::PKeyTable::kEntries - 1) / wire::PKeyTable::kEntries);
  return blocks;
}

// What a device that took long has to be told first differs: where everything is to be looked at,
// ports are configured while the plan is computed.
Programmer::Stage Programmer::StageAfter(Stage stage) const {
  if (input_.trees_only) return stage == Stage::kReadTables ? Stage::kTrees : Stage::kDone;
  if (input_.scope) {
    if (stage == Stage::kSwitches) return Stage::kTables;
    if (stage == Stage::kTrees) return Stage::kGuids;
    if (stage == Stage::kPorts) return Stage::kReadLanes;
  }
  return static_cast<Stage>(static_cast<uint8_t>(stage) + 1);
}

// Without those that a survey has dropped meanwhile.
template <typename Visit>
void Programmer::ForEachInScope(Visit&& visit) const {
  const auto visit_living = [&](const fabric::Node& node) {
    if (builder_.node(node.index) != nullptr) visit(node);
  };
  if (!input_.scope) {
    input_.snapshot->ForEachNode(visit_living);
    return;
  }
  for (NodeIndex index : *input_.scope)
    if (const fabric::Node* node = input_.snapshot->node(index)) visit_living(*node);
}

// The same for P_Keys, whose scope is wider when partitions have changed.
template <typename Visit>
void Programmer::ForEachKeyed(Visit&& visit) const {
  if (!keys_.looks_at_all()) {
    ForEachInScope(visit);
    if (!input_.scope) return;
    for (NodeIndex index : guids_.changed())
      if (!std::binary_search(input_.scope->begin(), input_.scope->end(), index))
        if (const fabric::Node* node = input_.snapshot->node(index);
            node != nullptr && builder_.node(index) != nullptr)
          visit(*node);
    return;
  }
  input_.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (builder_.node(node.index) != nullptr) visit(node);
  });
}

void Programmer::EnterStage(Stage stage) {
  keys_done_ = keys_done_ || stage_ == Stage::kPorts;
  stage_ = stage;
  items_.clear();
  next_ = 0;
  switch (stage) {
    case Stage::kReadTables: ListReadTables(); break;
    case Stage::kSwitches: ListSwitches(); break;
    case Stage::kGuids: ListGuids(); break;
    case Stage::kKeys: ListKeys(); break;
    case Stage::kPorts: ListPorts(); break;
    case Stage::kTables: break;  // Listed once the plan is there.
    case Stage::kTrees: break;   // The same for the trees.
    case Stage::kReadLanes: ListReadLanes(); break;
    case Stage::kLanes: ListLanes(); break;
    case Stage::kHeld: ListHeld(); break;
    case Stage::kArm: ListStates(What::kArm, wire::PortState::kInit); break;
    case Stage::kActivate: ListStates(What::kActivate, wire::PortState::kArmed); break;
    case Stage::kDone: break;
  }
}

void Programmer::ListReadTables() {
  const Lid sm_lid = input_.lids->Of(input_.local).base;
  const auto list_blocks = [&](const fabric::Node& node) {
    if (!node.IsSwitch()) return;
    // A switch that shows no LinearFDBTop has lost its tables, whatever it held before; one that
    // names another SM as its master had them written by that one. One that shows a LinearFDBTop
    // may hold what is wanted: it was away, or this SM was.
    AppliedLft& applied = devices_.Lft(node.index);
    const bool anothers = node.port(PortNum(0)).info.master_sm_lid != sm_lid;
    if (node.switch_info->linear_fdb_top == 0 || anothers) {
      applied.Forget();
      devices_.lanes().Forget(node.index);
      devices_.Mft(node.index).Forget();
      devices_.ForgetSwitchKeys(node.index);
    }
    if (node.switch_info->linear_fdb_top == 0) return;
    for (uint16_t block = 0; block <= node.switch_info->linear_fdb_top / 64; ++block)
      if (!applied.Knows(block) && !applied.IsDistrusted(block))
        items_.push_back({node.index, block, PortNum(0), What::kReadBlock});
  };
  ForEachInScope(list_blocks);
  // Tables are written on all switches, so those of one that has come and is not in the scope yet
  // are read first too.
  input_.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (node.switch_info && devices_.Has(node.index) && !devices_.Lft(node.index).WasRead())
      list_blocks(node);
  });
  const auto list_keys = [&](const fabric::Node& node) {
    for (const PortKeys::Read& read : keys_.Reads(node))
      if (devices_.Has(read.port.node))
        items_.push_back({read.port.node, read.block, read.port.port, What::kPKeys});
    // A CA whose link has just come up may have started anew.
    for (size_t num = 1; !node.IsSwitch() && num < node.ports.size(); ++num)
      if (node.ports[num].info.port_state == wire::PortState::kInit)
        devices_.ForgetGuids({node.index, PortNum(static_cast<uint8_t>(num))});
    for (const PortGuids::Read& read : guids_.Reads(node))
      if (devices_.Has(read.port.node))
        items_.push_back({read.port.node, static_cast<uint16_t>(read.block | kGuidBlock),
                          read.port.port, What::kPKeys});
  };
  if (!input_.trees_only) ForEachKeyed(list_keys);
  DropRepeated();
  Stripe();
  trees_.ListReads(*input_.snapshot, input_.multicast_blocks);
}

void Programmer::ListSwitches() {
  ForEachInScope([&](const fabric::Node& node) {
    if (!node.IsSwitch()) return;
    if (input_.lids->top().value() >= node.switch_info->linear_fdb_cap) {
      problems_.Add("TableTooSmall", NameOf(node.index, PortNum(0)),
                    fmt::format("LinearFDBCap {} does not hold LID {}",
                                node.switch_info->linear_fdb_cap, input_.lids->top()));
      ++failures_;
      if (node.switch_info->linear_fdb_cap == 0) return;
      // The plan leads higher LIDs round it, and the others through it.
    }
    items_.push_back({node.index, 0, PortNum(0), What::kSwitchInfo});
  });
}

// A host and the switch port that it hangs on each name both, so that either may be in the scope.
void Programmer::DropRepeated() {
  const auto order = [](const Item& a, const Item& b) {
    return std::tie(a.what, a.node, a.port, a.block) < std::tie(b.what, b.node, b.port, b.block);
  };
  std::sort(items_.begin(), items_.end(), order);
  const auto same = [&](const Item& a, const Item& b) { return !order(a, b); };
  items_.erase(std::unique(items_.begin(), items_.end(), same), items_.end());
}

void Programmer::ListGuids() {
  ForEachKeyed([&](const fabric::Node& node) {
    for (const PortGuids::Write& write : guids_.Writes(node)) {
      if (!devices_.Has(write.port.node)) continue;
      items_.push_back({write.port.node, static_cast<uint16_t>(write.block | kGuidBlock),
                        write.port.port, What::kPKeys});
      guids_wanted_[{write.port, write.block}] = write.info;
    }
  });
  Stripe();
}

void Programmer::ListKeys() {
  if (keys_.looks_at_all())
    for (const char* kind : {"PKeyTableFull", "NotEnforced"}) problems_.Remove(kind);
  ForEachKeyed([&](const fabric::Node& node) {
    const auto problem = [&](PortRef port, std::string kind, std::string text) {
      problems_.Add(std::move(kind), NameOf(port.node, port.port), std::move(text));
    };
    for (const PortKeys::Write& write : keys_.Writes(node, problem)) {
      if (!devices_.Has(write.port.node)) continue;
      items_.push_back({write.port.node, write.block, write.port.port, What::kPKeys});
      keys_wanted_[{write.port, write.block}] = write.table;
    }
  });
  if (IsBroken(Breakage::kWrongPKey)) ListWrongKeys();
  DropRepeated();
  Stripe();
}

// Of a Breakage.
void Programmer::ListWrongKeys() {
  input_.snapshot->ForEachNode([&](const fabric::Node& node) {
    const PortRef port{node.index, node.first_end_port()};
    const auto* blocks = devices_.FindPKeys(port);
    if (blocks == nullptr || blocks->Find(0) == nullptr) return;
    wire::PKeyTable table = *blocks->Find(0);
    table.keys[1] = PKey(0xFFFE);
    items_.push_back({node.index, 0, port.port, What::kPKeys});
    keys_wanted_[{port, uint16_t{0}}] = table;
  });
}

void Programmer::ListPorts() {
  ForEachInScope([&](const fabric::Node& node) {
    for (size_t num = node.IsSwitch() ? 0 : 1; num < node.ports.size(); ++num) {
      const PortNum port(static_cast<uint8_t>(num));
      if (!node.port(port).known) continue;
      items_.push_back({node.index, 0, port, What::kConfigure});
    }
  });
  // Where enforcement begins or ends, and nothing else has changed.
  if (keys_.looks_at_all() && input_.scope)
    ForEachKeyed([&](const fabric::Node& node) {
      for (size_t num = 1; node.IsSwitch() && num < node.ports.size(); ++num)
        if (const PortRef peer = node.ports[num].peer;
            !peer.IsNone() && !input_.snapshot->node(peer.node)->IsSwitch())
          items_.push_back({node.index, 0, PortNum(static_cast<uint8_t>(num)), What::kConfigure});
    });
  Stripe();
  // The SM's own LID first: answers to LID-routed MADs need it.
  std::stable_partition(items_.begin(), items_.end(), [&](const Item& item) {
    return PortRef{item.node, item.port} == input_.local;
  });
}

// What differs from the plan, in no order: for tables that carry nothing yet.
std::vector<routing::TableWrite> Programmer::ListDifferences() const {
  std::vector<routing::TableWrite> writes;
  input_.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch() || !plan_->HasRow(node.index)) return;
    const Lid top = PortConfig::NeededTop(node, input_.lids->top());
    AppliedLft& applied = devices_.Lft(node.index);
    const auto& row = *plan_->rows[node.index.value()];
    applied.ExpectRow(row);
    for (uint16_t block : applied.Differences(top.value() / AppliedLft::kBlock + 1u, row))
      writes.push_back({node.index, block, 0, 0, ~uint64_t{0}, false});
  });
  // One device after the other would leave the window idle behind the limit per device.
  std::stable_sort(writes.begin(), writes.end(),
                   [](const auto& a, const auto& b) { return a.block < b.block; });
  return writes;
}

void Programmer::ListReadLanes() {
  if (plan_ == nullptr || plan_->lanes == 1) return;
  input_.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (!devices_.Has(node.index)) return;
    for (const LaneTable& table : LaneTablesOf(*input_.snapshot, node)) {
      // A CA whose link has just come up may have started anew.
      const bool new_link =
          !node.IsSwitch() && node.port(table.port.port).info.port_state == wire::PortState::kInit;
      if (new_link) devices_.lanes().Doubt(table);
      if (devices_.lanes().Find(table) != nullptr) continue;
      items_.push_back(
          {node.index, table.in_out, table.port.port,
           table.kind == LaneTable::Kind::kMap ? What::kReadMap : What::kReadArbitration});
    }
  });
  Stripe();
}

void Programmer::ListLanes() {
  if (plan_ == nullptr || plan_->lanes == 1) return;
  input_.snapshot->ForEachNode([&](const fabric::Node& node) {
    if (devices_.Has(node.index)) ListLanesOf(node);
  });
  Stripe();
}

void Programmer::ListLanesOf(const fabric::Node& node) {
  const size_t first = items_.size();
  std::optional<wire::SmpData> map;
  bool one_map = node.IsSwitch() && node.switch_info->optimized_sl_to_vl != 0;
  size_t maps = 0;
  for (const LaneTable& table : LaneTablesOf(*input_.snapshot, node)) {
    const auto wanted = WantedOf(table);
    if (!wanted) continue;
    const bool is_map = table.kind == LaneTable::Kind::kMap;
    if (is_map) {
      ++maps;
      one_map &= !map || *map == *wanted;
      map = wanted;
    }
    const wire::SmpData* held = devices_.lanes().Find(table);
    if (held != nullptr && *held == *wanted) continue;
    items_.push_back(
        {node.index, table.in_out, table.port.port, is_map ? What::kMap : What::kArbitration});
  }
  const auto is_map = [](const Item& item) { return item.what == What::kMap; };
  const auto begin = items_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto differing = std::count_if(begin, items_.end(), is_map);
  if (!one_map || maps < 2 || differing < 2) return;
  const Item representative = *std::find_if(begin, items_.end(), is_map);
  items_.erase(std::remove_if(begin, items_.end(), is_map), items_.end());
  items_.push_back({node.index, representative.block, PortNum(0), What::kWholeMap});
}

LaneTable Programmer::LaneTableOf(const Item& item) {
  const bool is_arbitration =
      item.what == What::kReadArbitration || item.what == What::kArbitration;
  return {{item.node, item.port},
          is_arbitration ? LaneTable::Kind::kArbitration : LaneTable::Kind::kMap,
          item.block};
}

std::optional<wire::SmpData> Programmer::WantedOf(const LaneTable& table) const {
  const fabric::Node& node = *builder_.node(table.port.node);
  wire::SmpData bytes{};
  if (table.kind == LaneTable::Kind::kMap) {
    const PortNum out =
        node.IsSwitch() ? PortNum(static_cast<uint8_t>(table.in_out & 0xFF)) : table.port.port;
    LaneMap(plan_->lanes, node.port(out).info).Encode(bytes);
    return bytes;
  }
  const wire::SmpData* held = devices_.lanes().Find(table);
  if (held == nullptr) return std::nullopt;  // It did not answer: the next run asks again.
  const wire::PortInfo& info = node.port(table.port.port).info;
  const auto wanted =
      ServeLanes(wire::VlArbitrationTable::Decode(*held), info.vl_arb_low_cap,
                 std::min<int>(plan_->lanes, std::max(1, wire::DataVls(info.operational_vls))));
  if (!wanted) return std::nullopt;
  wanted->Encode(bytes);
  return bytes;
}

// A port that somebody else has disabled is none of ours. Without a plan tables may still lead to
// what is to go down.
void Programmer::ListHeld() {
  const auto list = [&](const std::vector<PortRef>& ports, What what) {
    for (PortRef ref : ports) {
      const fabric::Node* node = builder_.node(ref.node);
      if (node == nullptr || !node->IsSwitch() || ref.port.value() >= node->ports.size()) continue;
      const fabric::Port& port = node->port(ref.port);
      const bool is_down = port.info.port_physical_state == wire::PortPhysicalState::kDisabled;
      if (port.known && is_down == (what == What::kEnable))
        items_.push_back({ref.node, 0, ref.port, what});
    }
  };
  if (plan_ != nullptr) list(input_.disabled, What::kDisable);
  list(input_.reenabled, What::kEnable);
}

void Programmer::ListStates(What what, wire::PortState from) {
  if (plan_ == nullptr) return;
  ForEachInScope([&](const fabric::Node& old) {
    const fabric::Node& node = *builder_.node(old.index);
    for (size_t num = 1; num < node.ports.size(); ++num) {
      const fabric::Port& port = node.ports[num];
      if (IsBroken(Breakage::kPortNotArmed) && num == 1) continue;
      // A link that was found since has not been configured.
      const bool is_new = num >= old.ports.size() || old.ports[num].peer != port.peer;
      if (!port.known || is_new || port.info.port_state != from || !IsLinkReady(node, port))
        continue;
      items_.push_back({node.index, 0, PortNum(static_cast<uint8_t>(num)), what});
      // Both ends of a link go down together: what is known of the other one is out of date.
      const fabric::Port& peer = builder_.node(port.peer.node)->port(port.peer.port);
      if (what == What::kArm && peer.info.port_state >= wire::PortState::kArmed)
        items_.push_back({port.peer.node, 0, port.peer.port, What::kReread});
    }
  });
  Stripe();
}

// One device after the other would leave the window idle behind the limit per device.
void Programmer::Stripe() {
  std::stable_sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
    return a.block != b.block ? a.block < b.block : a.port < b.port;
  });
}

bool Programmer::IsLinkReady(const fabric::Node& node, const fabric::Port& port) const {
  const fabric::Node* peer_node = port.peer.IsNone() ? nullptr : builder_.node(port.peer.node);
  if (peer_node == nullptr) return false;
  const fabric::Port& peer = peer_node->port(port.peer.port);
  const PortRef self{node.index, PortNum(static_cast<uint8_t>(&port - node.ports.data()))};
  // A port without a LID stays INIT: nobody could send to it, and it could answer nobody.
  auto has_lid = [&](const fabric::Node& end, PortRef ref) {
    return end.IsSwitch() || input_.lids->Of(ref).base;
  };
  return port.IsUp() && peer.IsUp() && !trees_.IsUnsafe(node.index) &&
         !trees_.IsUnsafe(peer_node->index) && !unconfigured_.contains(self) &&
         !unconfigured_.contains(port.peer) && has_lid(node, self) &&
         has_lid(*peer_node, port.peer);
}

void Programmer::Feed() {
  while (!done()) {
    const bool ended = stage_ == Stage::kTables  ? FeedTables()
                       : stage_ == Stage::kTrees ? FeedTrees()
                                                 : FeedItems();
    if (!ended) return;
    EnterStage(StageAfter(stage_));
  }
}

// True: the stage has ended.
bool Programmer::FeedItems() {
  const auto is_busy = [this](const Item& item) {
    // Read meanwhile, a block could show what it held before the Set.
    if (item.what == What::kReadBlock) return devices_.Lft(item.node).IsInFlight(item.block);
    const bool guids = item.what == What::kPKeys && (item.block & kGuidBlock) != 0;
    const auto attribute = item.what == What::kSwitchInfo ? wire::AttributeId::kSwitchInfo
                           : guids                        ? wire::AttributeId::kGuidInfo
                           : item.what == What::kPKeys    ? wire::AttributeId::kPKeyTable
                                                          : wire::AttributeId::kPortInfo;
    return devices_.IsBusy({item.node, item.port}, attribute);
  };
  if (next_ == items_.size() && !std::all_of(deferred_.begin(), deferred_.end(), is_busy)) {
    items_ = std::exchange(deferred_, {});
    next_ = 0;
  }
  while (next_ < items_.size() && engine_.queued() < kReady) {
    const Item item = items_[next_++];
    if (is_busy(item))
      deferred_.push_back(item);
    else
      Send(item);
  }
  if (stage_ == Stage::kReadTables) SubmitTrees();
  return next_ == items_.size() && outstanding_ == 0 && deferred_.empty() &&
         (stage_ != Stage::kReadTables || trees_.done());
}

void Programmer::SetTrees(std::shared_ptr<const routing::MulticastPlan> trees, bool together) {
  FABRICD_CHECK(NeedsTrees(), "in stage {}", static_cast<int>(stage_));
  if (trees) trees_.Write(std::move(trees), *input_.snapshot, together);
  trees_known_ = true;
}

// Those of switches that answer nothing are given up at once.
void Programmer::SubmitTrees() {
  while (engine_.queued() < kReady) {
    auto request = trees_.Next();
    if (!request) return;
    const Item item{request->node, request->tag.block, PortNum(request->tag.kind_and_position),
                    What::kTree};
    if (builder_.node(item.node) != nullptr && !silent_.contains(RouteOf(item))) {
      Submit(std::move(request->smp), item);
      continue;
    }
    trees_.OnCompletion(item.node, request->tag, nullptr);
    ++tree_failures_, ++failures_;
    undone_.insert(item.node);
  }
}

// True: the stage has ended.
bool Programmer::FeedTrees() {
  if (plan_ != nullptr && !trees_known_) return false;
  if (plan_ != nullptr) SubmitTrees();
  return outstanding_ == 0 && (plan_ == nullptr || trees_.done());
}

// True: nothing is left that is to go before the plan is written.
bool Programmer::FeedWithdrawal() {
  if (withdrawal_ == Withdrawal::kNone) return true;
  if (withdrawal_ == Withdrawal::kWanted) trees_.Withdraw(*input_.snapshot);
  withdrawal_ = Withdrawal::kUnderWay;
  SubmitTrees();
  if (!trees_.done()) return false;
  withdrawal_ = Withdrawal::kNone;
  return true;
}

size_t Programmer::stage_total() const {
  return stage_ == Stage::kTables  ? push_.size()
         : stage_ == Stage::kTrees ? trees_.size()
                                   : items_.size();
}

size_t Programmer::stage_position() const {
  return stage_ == Stage::kTables  ? push_.sent()
         : stage_ == Stage::kTrees ? trees_.position()
                                   : next_;
}

// Tables that were never read carry nothing: they are written in any order.
void Programmer::ListTables() {
  if (stage_ != Stage::kTables || !plan_known_ || tables_ != Tables::kUnlisted) return;
  if (!FeedWithdrawal()) return;
  std::vector<routing::TableWrite> writes;
  if (plan_ != nullptr) writes = ListDifferences();
  const bool carried = std::any_of(writes.begin(), writes.end(), [this](const auto& write) {
    return devices_.Lft(write.node).WasRead();
  });
  push_ = TablePush(carried ? std::vector<routing::TableWrite>() : std::move(writes));
  tables_ = carried ? Tables::kNeedPush : Tables::kPushing;
}

// True: the stage has ended.
bool Programmer::FeedTables() {
  ListTables();
  if (tables_ != Tables::kPushing) return tables_ == Tables::kDone;
  const auto is_busy = [this](NodeIndex node, uint16_t block) {
    return devices_.Lft(node).IsInFlight(block);
  };
  while (engine_.queued() < kReady) {
    const auto write = push_.Next(is_busy);
    if (!write) break;
    SendBlock(*write);
  }
  if (!push_.done() || outstanding_ > 0) return false;
  failures_ += push_.skipped();
  tables_ = Tables::kDone;
  return true;
}

mad::RequestContext Programmer::ContextOf(const Item& item) const {
  auto context = mad::RequestContext::Of(Activity::kProgrammer, item.what, {item.node, item.port});
  context.run = input_.run;
  context.block = item.block;
  return context;
}

void Programmer::Submit(mad::SmpRequest request, const Item& item) {
  request.context = ContextOf(item);
  ++outstanding_;
  if (request.method == wire::Method::kSet)
    devices_.SetBusy({item.node, item.port}, request.attribute);
  engine_.Submit(std::move(request));
}

// A switch is reached by one route, a CA by one for each port.
PortRef Programmer::RouteOf(const Item& item) const {
  const fabric::Node* node = builder_.node(item.node);
  const bool is_switch = node == nullptr || node->IsSwitch();
  return {item.node, is_switch ? PortNum(0) : item.port};
}

bool Programmer::Send(const Item& item) {
  if (!devices_.Has(item.node) || silent_.contains(RouteOf(item))) return false;
  switch (item.what) {
    case What::kReadBlock:
      if (devices_.Lft(item.node).Knows(item.block)) return false;
      Submit(devices_.Get(item.node, wire::AttributeId::kLinearForwardingTable, item.block), item);
      return true;
    case What::kSwitchInfo: {
      const auto info = port_config_.ConfigureSwitch(*builder_.node(item.node), input_.lids->top());
      if (info) Submit(devices_.Set(item.node, 0, *info), item);
      return info.has_value();
    }
    case What::kPKeys: return SendPKeys(item);
    case What::kConfigure: return SendConfigure(item);
    case What::kBlock:
    case What::kTree: break;  // FeedTables(), SubmitTrees()
    case What::kArm: return SendState(item, wire::PortState::kArmed);
    case What::kActivate: return SendState(item, wire::PortState::kActive);
    case What::kDisable: return SendPhysical(item, wire::PortPhysicalState::kDisabled);
    case What::kEnable: return SendPhysical(item, wire::PortPhysicalState::kPolling);
    case What::kReadMap:
    case What::kMap:
    case What::kWholeMap:
    case What::kReadArbitration:
    case What::kArbitration: return SendLaneTable(item);
    case What::kReread: SendReread({item.node, item.port}); return true;
  }
  return false;
}

void Programmer::SendReread(PortRef port) {
  Submit(devices_.Get(port, wire::AttributeId::kPortInfo, port.port.value()),
         {port.node, 0, port.port, What::kReread});
}

// What made this necessary will not show again. (Ports that are to be armed are: the next run lists
// them, and their peers with them.)
void Programmer::Reread(PortRef port) {
  looks_.Await(port);
  SendReread(port);
}

bool Programmer::SendPKeys(const Item& item) {
  const PortRef port{item.node, item.port};
  if ((item.block & kGuidBlock) != 0) return SendGuids(item);
  const fabric::Node& node = *builder_.node(item.node);
  const PortNum named = node.IsSwitch() ? item.port : PortNum(0);
  const uint32_t modifier = wire::PKeyTable::Modifier(named, item.block);
  auto& blocks = KeysOf(port, builder_, devices_);
  if (stage_ == Stage::kReadTables) {
    if (blocks.Find(item.block) != nullptr) return false;  // A Set has been answered since.
    Submit(devices_.Get(port, wire::AttributeId::kPKeyTable, modifier), item);
    return true;
  }
  const wire::PKeyTable& wanted = keys_wanted_.at({port, item.block});
  // A Set that was under way when this one was listed has been answered since.
  if (blocks.Knows(item.block) && *blocks.Find(item.block) == wanted) return false;
  blocks.Sent(item.block, wanted);
  Submit(devices_.Set(port, modifier, wanted), item);
  return true;
}

void Programmer::OnPKeys(const Item& item, const mad::Completion& completion) {
  const PortRef port{item.node, item.port};
  if ((item.block & kGuidBlock) != 0) return OnGuids(item, completion);
  const auto shown = wire::PKeyTable::Decode(completion.response.data);
  auto& blocks = KeysOf(port, builder_, devices_);
  if (completion.method == wire::Method::kGet)
    blocks.Confirm(item.block, shown);
  else if (!blocks.Answer(item.block, shown))
    NoteContradiction(item, completion);
}

bool Programmer::SendGuids(const Item& item) {
  const PortRef port{item.node, item.port};
  const auto block = static_cast<uint8_t>(item.block);  // Without kGuidBlock.
  auto& blocks = devices_.GuidsTo(port, block);
  if (stage_ == Stage::kReadTables) {
    if (blocks.Find(block) != nullptr) return false;  // A Set has been answered since.
    Submit(devices_.Get(port, wire::AttributeId::kGuidInfo, block), item);
    return true;
  }
  const wire::GuidInfo& wanted = guids_wanted_.at({port, block});
  blocks.Sent(block, wanted);
  Submit(devices_.Set(port, block, wanted), item);
  return true;
}

void Programmer::OnGuids(const Item& item, const mad::Completion& completion) {
  const PortRef port{item.node, item.port};
  const auto block = static_cast<uint8_t>(item.block);
  const auto info = wire::GuidInfo::Decode(completion.response.data);
  auto& blocks = devices_.GuidsTo(port, block);
  if (completion.method == wire::Method::kGet) {
    blocks.Confirm(block, info);
    if (guids_.GoesOn(port, block, info))
      items_.push_back({item.node, static_cast<uint16_t>(item.block + 1), item.port, item.what});
  } else if (!blocks.Answer(block, info)) {
    NoteContradiction(item, completion);
  }
}

bool Programmer::SendConfigure(const Item& item) {
  const fabric::Node& node = *builder_.node(item.node);
  const fabric::Port& port = node.port(item.port);
  // A survey has found it linked otherwise: it is configured, and armed, by the run that follows.
  const fabric::Port* seen = input_.snapshot->port({item.node, item.port});
  if (seen == nullptr || seen->peer != port.peer) {
    unconfigured_.insert({item.node, item.port});
    return false;
  }
  const bool came_up = port.info.port_state == wire::PortState::kInit;
  const bool reregister = input_.reregister_all || came_up;
  const auto wish =
      port_config_.Configure(*input_.snapshot, *input_.lids, node, item.port, reregister,
                             keys_.EnforcementOf({item.node, item.port}, port.info));
  if (!wish) return false;
  // A link that has just come up is asked once more: its device may have started anew.
  if (!wish->info.client_reregister && !came_up &&
      devices_.IsSettled({item.node, item.port}, Fingerprint(*wish, port.info))) {
    NoteIgnored(item, wish->info, port.info);
    return false;
  }
  if (node.IsSwitch() && item.port != PortNum(0))
    devices_.TellEnforcement({item.node, item.port}, {wish->info.partition_enforcement_inbound,
                                                      wish->info.partition_enforcement_outbound});
  Submit(devices_.Set({item.node, item.port}, wish->modifier, wish->info), item);
  return true;
}

// What the write makes of the block.
wire::LinearForwardingTable Programmer::BlockOf(const routing::TableWrite& write) const {
  wire::LinearForwardingTable table;
  const uint8_t* wanted = plan_->rows[write.node.value()]->block(write.block);
  const routing::Row& held = devices_.Lft(write.node).row();
  for (size_t i = 0; i < routing::Row::kBlock; ++i) {
    const bool taken = (write.lids >> i & 1) != 0;
    if (taken)
      table.port[i] = write.withdraw ? routing::kNoRoute : wanted[i];
    else
      table.port[i] = write.block < held.blocks() ? held.block(write.block)[i] : routing::kNoRoute;
  }
  return table;
}

// It was lost and found again since its tables were read: the run that follows reads them.
bool Programmer::IsUnread(NodeIndex index) const {
  const fabric::Node* seen = input_.snapshot->node(index);
  return seen != nullptr && seen->switch_info && seen->switch_info->linear_fdb_top != 0 &&
         devices_.Lft(index).IsUntouched();
}

void Programmer::SendBlock(const routing::TableWrite& write) {
  const fabric::Node* node = builder_.node(write.node);
  // Without its LinearFDBTop a switch drops what its table would carry, and is written anew later:
  // a top of 0 reads as tables lost.
  AppliedLft& lft = devices_.Lft(write.node);
  const bool ready = node != nullptr && devices_.Has(write.node) &&
                     !silent_.contains({write.node, PortNum(0)}) &&
                     node->switch_info->linear_fdb_top >=
                         PortConfig::NeededTop(*node, input_.lids->top()).value() &&
                     !IsUnread(write.node);
  const wire::LinearForwardingTable table = BlockOf(write);
  if (!ready || (IsBroken(Breakage::kBlockNotSent) && write.block == 0)) {
    if (ready) lft.Confirm(write.block, table.port);
    failures_ += !ready;
    if (!ready) undone_.insert(write.node);
    push_.OnAnswer(write.node, write.block, ready);
    return;
  }
  // What a write was for may have come about: its block was not sure to hold what it does.
  const bool same = lft.Knows(write.block) &&
                    std::equal(table.port.begin(), table.port.end(), lft.row().block(write.block));
  if (same) {
    push_.OnAnswer(write.node, write.block, true);
    return;
  }
  lft.Sent(write.block, table.port);
  ++blocks_written_;
  written_.insert(write.node);
  Submit(devices_.Set(write.node, write.block, table),
         {write.node, write.block, PortNum(0), What::kBlock});
}

bool Programmer::SendLaneTable(const Item& item) {
  LaneTable table = LaneTableOf(item);
  const bool is_switch = builder_.node(item.node)->IsSwitch();
  const PortRef route = RouteOf(item);
  if (item.what == What::kReadMap || item.what == What::kReadArbitration) {
    Submit(devices_.Get(route, table.attribute(), table.Modifier(is_switch)), item);
    return true;
  }
  const auto wanted = WantedOf(table);
  if (!wanted) return false;
  // Confirmed by the answer alone.
  if (item.what == What::kWholeMap) {
    for (const LaneTable& one : LaneTablesOf(*input_.snapshot, *builder_.node(item.node)))
      if (one.kind == LaneTable::Kind::kMap) devices_.lanes().Doubt(one);
    table.kind = LaneTable::Kind::kWholeMap;
  } else {
    devices_.lanes().Doubt(table);
  }
  mad::SmpRequest request = devices_.Get(route, table.attribute(), table.Modifier(is_switch));
  request.method = wire::Method::kSet;
  request.data = *wanted;
  Submit(std::move(request), item);
  return true;
}

// What was read since the stage was listed may say that it is done, or is another link.
bool Programmer::SendState(const Item& item, wire::PortState state) {
  const fabric::Node& node = *builder_.node(item.node);
  const bool arms = state == wire::PortState::kArmed;
  const auto from = arms ? wire::PortState::kInit : wire::PortState::kArmed;
  if (node.port(item.port).info.port_state != from) return false;
  PortWish wish = PortConfig::ChangeState(node, item.port, state);
  KeepEnforcement({item.node, item.port}, wish.info);
  Submit(devices_.Set({item.node, item.port}, wish.modifier, wish.info), item);
  return true;
}

// A switch that shows another enforcement than it was told may only be slow to show it: an echo
// would take back what it has done, and its port would let packets of other partitions pass.
void Programmer::KeepEnforcement(PortRef port, wire::PortInfo& info) const {
  const auto told = devices_.ToldEnforcement(port);
  if (!told) return;
  info.partition_enforcement_inbound = told->inbound;
  info.partition_enforcement_outbound = told->outbound;
}

bool Programmer::SendPhysical(const Item& item, wire::PortPhysicalState state) {
  const fabric::Node& node = *builder_.node(item.node);
  const bool is_down =
      node.port(item.port).info.port_physical_state == wire::PortPhysicalState::kDisabled;
  if (is_down == (state == wire::PortPhysicalState::kDisabled)) return false;
  PortWish wish = PortConfig::ChangePhysicalState(node, item.port, state);
  KeepEnforcement({item.node, item.port}, wish.info);
  Submit(devices_.Set({item.node, item.port}, wish.modifier, wish.info), item);
  return true;
}

// Each Set of the same that still waits is made anew, or left out.
void Programmer::OnRead(const mad::Completion& completion) {
  const bool of_port = completion.attribute == wire::AttributeId::kPortInfo;
  if ((!of_port && completion.attribute != wire::AttributeId::kSwitchInfo) ||
      completion.method != wire::Method::kGet || !IsOk(completion))
    return;
  const PortNum port(of_port ? static_cast<uint8_t>(completion.modifier) : uint8_t{0});
  const PortRef subject{NodeIndex(completion.device), port};
  if (!devices_.IsBusy(subject, completion.attribute)) return;
  using enum What;
  constexpr What kOfPort[] = {kConfigure, kArm, kActivate, kDisable, kEnable};
  constexpr What kOfSwitch[] = {kSwitchInfo};
  for (const What what : of_port ? std::span<const What>(kOfPort) : kOfSwitch) {
    const Item item{subject.node, 0, port, what};
    std::vector<mad::Completion> unsent;
    engine_.CancelQueued(ContextOf(item), unsent);
    if (unsent.empty()) continue;
    --outstanding_;
    devices_.ClearBusy(subject, completion.attribute);
    if (builder_.node(subject.node) != nullptr) Send(item);
  }
}

void Programmer::OnCompletion(const mad::Completion& completion) {
  FABRICD_CHECK(outstanding_ > 0);
  --outstanding_;
  const mad::RequestContext& context = completion.context;
  const Item item{context.node, context.block, context.port, context.kind_as<What>()};
  if (completion.outcome == mad::Completion::Outcome::kResponse) silent_.erase(RouteOf(item));
  if (item.what == What::kReread) looks_.NoteEnd({item.node, item.port});
  if (completion.method == wire::Method::kSet)
    devices_.ClearBusy({item.node, item.port}, completion.attribute);
  if (item.what == What::kBlock) {
    AppliedLft& lft = devices_.Lft(item.node);
    completion.sent ? lft.Landed(item.block) : lft.Unsent(item.block);
  }
  const bool is_gone = builder_.node(item.node) == nullptr;
  if (item.what == What::kTree) OnTree(item, completion);
  if (is_gone || !IsOk(completion)) {
    if (item.what == What::kBlock) push_.OnAnswer(item.node, item.block, false);
    if (is_gone) {
      ++failures_;
      return;
    }
    // The engine has tried for long, with whatever else it had for this device.
    if (completion.outcome == mad::Completion::Outcome::kTimedOut) silent_.insert(RouteOf(item));
    // It has no such table: that leaves nothing undone.
    if (item.what == What::kPKeys && completion.method == wire::Method::kGet &&
        completion.outcome == mad::Completion::Outcome::kResponse) {
      if ((item.block & kGuidBlock) != 0)
        devices_.GuidsTo({item.node, item.port}, static_cast<uint8_t>(item.block))
            .Confirm(static_cast<uint8_t>(item.block), wire::GuidInfo());
      return;
    }
    NoteFailure(item, completion);
    return;
  }
  switch (item.what) {
    case What::kReadBlock:
      devices_.Lft(item.node).Confirm(item.block, completion.response.data);
      break;
    case What::kBlock: OnBlock(item, completion); break;
    case What::kSwitchInfo: OnSwitchInfo(item, completion); break;
    case What::kPKeys: OnPKeys(item, completion); break;
    case What::kReadMap:
    case What::kReadArbitration:
      devices_.lanes().Confirm(LaneTableOf(item), LaneBytes(item, completion.response.data));
      break;
    case What::kMap:
    case What::kWholeMap:
    case What::kArbitration: OnLaneTable(item, completion); break;
    case What::kConfigure:
    case What::kArm:
    case What::kActivate:
    case What::kDisable:
    case What::kEnable:
    case What::kReread: OnPortInfo(item, completion); break;
    case What::kTree: break;
  }
}

void Programmer::OnTree(const Item& item, const mad::Completion& completion) {
  using Answer = TreeProgrammer::Answer;
  const Answer answer =
      trees_.OnCompletion(item.node, {item.block, item.port.value()}, &completion);
  tree_failures_ += answer != Answer::kTaken;
  if (answer == Answer::kRefused) NoteContradiction(item, completion);
  if (completion.attribute == wire::AttributeId::kSwitchInfo && IsOk(completion) &&
      wire::SwitchInfo::Decode(completion.response.data).port_state_change)
    LookWhetherStartedAnew(item.node, false);
}

// A device that answers a Set with other values than those it was given may show old ones for a
// while, or may not have taken them: what it holds is not known.
void Programmer::OnBlock(const Item& item, const mad::Completion& completion) {
  const bool taken = devices_.Lft(item.node).Answer(item.block, completion.response.data);
  if (!taken) NoteContradiction(item, completion);
  push_.OnAnswer(item.node, item.block, taken);
}

// What was read or written, as far as the table goes.
wire::SmpData Programmer::LaneBytes(const Item& item, const wire::SmpData& data) {
  wire::SmpData bytes{};
  if (LaneTableOf(item).kind == LaneTable::Kind::kMap)
    wire::SlToVlMappingTable::Decode(data).Encode(bytes);
  else
    wire::VlArbitrationTable::Decode(data).Encode(bytes);
  return bytes;
}

// The next run reads a table again whose device answers a Set with anything else than was wanted.
void Programmer::OnLaneTable(const Item& item, const mad::Completion& completion) {
  const LaneTable table = LaneTableOf(item);
  const wire::SmpData bytes = LaneBytes(item, completion.response.data);
  devices_.lanes().Confirm(table, bytes);
  const auto wanted = WantedOf(table);  // Of an arbitration table: what it lacks even now.
  if (wanted && *wanted != bytes) {
    devices_.lanes().Doubt(table);
    NoteContradiction(item, completion);
    return;
  }
  if (item.what != What::kWholeMap) return;
  for (const LaneTable& one : LaneTablesOf(*input_.snapshot, *builder_.node(item.node)))
    if (one.kind == LaneTable::Kind::kMap) devices_.lanes().Confirm(one, bytes);
}

void Programmer::NoteContradiction(const Item& item, const mad::Completion& completion) {
  ++failures_;
  undone_.insert(item.node);
  problems_.Add("SetRefused", NameOf(item.node, item.what == What::kTree ? PortNum(0) : item.port),
                fmt::format("answers Set {} {} with other values",
                            wire::AttributeName(completion.attribute), completion.modifier));
}

void Programmer::OnSwitchInfo(const Item& item, const mad::Completion& completion) {
  const bool cleared = builder_.node(item.node)->switch_info->port_state_change;
  const auto info = wire::SwitchInfo::Decode(completion.response.data);
  builder_.SetSwitchInfo(item.node, info);
  const Lid top = PortConfig::NeededTop(*builder_.node(item.node), input_.lids->top());
  if (info.linear_fdb_top < top.value()) {
    ++failures_;
    problems_.Add("SetRefused", NameOf(item.node, PortNum(0)),
                  fmt::format("keeps LinearFDBTop {}", info.linear_fdb_top));
  }
  if (cleared || info.port_state_change) LookWhetherStartedAnew(item.node, cleared);
  if (!cleared) return;
  // A port that changed after it was read and before PortStateChange was cleared would never be
  // seen again: look at those that were down, and at those that were ACTIVE, as nothing is sent to
  // them. (Others show when they are armed.)
  const size_t end = builder_.node(item.node)->ports.size();
  for (size_t num = 1; num < end; ++num) {
    const fabric::Port& port = builder_.node(item.node)->ports[num];
    if (!port.known || (port.IsUp() && port.info.port_state != wire::PortState::kActive)) continue;
    Reread({item.node, PortNum(static_cast<uint8_t>(num))});
  }
}

// It has its LinearFDBTop from the Set of SwitchInfo that it has answered, which hides that it has
// started anew since it was read; but then it has no LID, unless it was given one since.
void Programmer::LookWhetherStartedAnew(NodeIndex node, bool expected) {
  const fabric::Node* known = builder_.node(node);
  if (known == nullptr || !known->port(PortNum(0)).info.lid) return;
  if (!expected && lid_set_.contains(node)) return OnStartedAnew(node);
  Reread({node, PortNum(0)});
}

void Programmer::OnPortInfo(const Item& item, const mad::Completion& completion) {
  const PortRef port{item.node, item.port};
  const auto info = wire::PortInfo::Decode(completion.response.data);
  const fabric::Port& known = builder_.node(item.node)->port(item.port);
  const bool was_up = known.IsUp();
  const bool bounced =
      known.info.port_state >= wire::PortState::kArmed && info.port_state == wire::PortState::kInit;
  // Of a CA that shows a new link only this tells that it may have started anew: it has its LID
  // from the Set that it has answered.
  const bool is_ca = !builder_.node(item.node)->IsSwitch();
  if ((item.what == What::kReread && HasLostLid(known.info, info)) || (is_ca && bounced))
    OnStartedAnew(item.node);
  builder_.SetPortInfo(port, info);
  const fabric::Node& node = *builder_.node(item.node);
  if (was_up != node.port(item.port).IsUp() || bounced) looks_.NoteChanged(item.node);
  if (item.what == What::kConfigure) {
    if (node.IsSwitch() && item.port == PortNum(0)) lid_set_.insert(item.node);
    if (!node.IsSwitch() || item.port == PortNum(0)) devices_.SetMKey(port, info.m_key);
    const bool lost_lid =
        (!node.IsSwitch() || item.port == PortNum(0)) && info.lid != input_.lids->Of(port).base;
    // What else it does not show, it will not take: remember rather than repeat at every sweep.
    auto wish = port_config_.Configure(*input_.snapshot, *input_.lids, node, item.port, false,
                                       keys_.EnforcementOf(port, info));
    // A device that was only slow to show it must not be taken for one that refuses the next time.
    if (!wish) devices_.Unsettle(port);
    if (wish && !lost_lid) {
      devices_.Settle(port, Fingerprint(*wish, info));
      NoteIgnored(item, wish->info, info);
    }
    if (!lost_lid) return;
    unconfigured_.insert(port);
    ++failures_;
    problems_.Add("SetRefused", NameOf(item.node, item.port),
                  fmt::format("keeps LID {}", info.lid));
  }
}

void Programmer::NoteIgnored(const Item& item, const wire::PortInfo& wanted,
                             const wire::PortInfo& kept) {
  for (Problem& problem : IgnoredSettings(wanted, kept, NameOf(item.node, item.port)))
    problems_.Add(std::move(problem.kind), std::move(problem.subject), std::move(problem.message));
}

void Programmer::OnStartedAnew(NodeIndex node) {
  devices_.ForgetWritten(node);
  looks_.NoteChanged(node);
  undone_.insert(node);
  ++failures_;
}

void Programmer::NoteFailure(const Item& item, const mad::Completion& completion) {
  const bool state = item.what == What::kArm || item.what == What::kActivate;
  // Data from a peer that is ACTIVE takes an ARMED port along (IBA vol 1 §7.2.7), and asking it
  // again is refused with "invalid value": read what it is now.
  if (state && completion.status == wire::kStatusInvalidAttributeValue) {
    Reread({item.node, item.port});
    return;
  }
  ++failures_;
  undone_.insert(item.node);
  if (item.what == What::kConfigure || state) unconfigured_.insert({item.node, item.port});
  if (item.what == What::kConfigure) devices_.ForgetEnforcement({item.node, item.port});
  problems_.Add(
      completion.outcome == mad::Completion::Outcome::kResponse ? "SetRefused" : "Unresponsive",
      NameOf(item.node, item.what == What::kTree ? PortNum(0) : item.port),
      fmt::format("{} {}: {}", wire::MethodName(completion.method),
                  wire::AttributeName(completion.attribute), WhyNot(completion)));
}

std::string Programmer::NameOf(NodeIndex index, PortNum port) const {
  const fabric::Node* node = builder_.node(index);
  if (node == nullptr) return fmt::format("node index {}", index);
  if (port == PortNum(0)) return fmt::format("\"{}\" ({})", node->description, node->guid());
  return fmt::format("\"{}\" ({}) port {}", node->description, node->guid(), port);
}

uint64_t Programmer::Fingerprint(const PortWish& wish, const wire::PortInfo& seen) const {
  auto constant_part = [](wire::PortInfo info) {  // Without states, commands and counters.
    info.port_state = wire::PortState::kNoChange;
    info.port_physical_state = wire::PortPhysicalState::kNoChange;
    info.client_reregister = false;
    info.m_key_violations = info.p_key_violations = info.q_key_violations = 0;
    info.diag_code = 0;
    info.capability_mask = 0;      // IsSM comes and goes; what else follows from it is wished.
    info.local_port = PortNum(0);  // The path by which it was asked.
    wire::SmpData bytes{};
    info.Encode(bytes);
    return bytes;
  };
  return absl::Hash<std::pair<wire::SmpData, wire::SmpData>>{}(
      {constant_part(wish.info), constant_part(seen)});
}

}  // namespace fabricd::sweep
