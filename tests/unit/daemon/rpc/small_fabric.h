// SPDX-License-Identifier: Apache-2.0
// A fabric small enough to know by heart, as the daemon would publish it:
//
//   node1 mlx5_0 (LID 4) ── 1 leaf1 (LID 1) 3 ── 1 spine (LID 3) 2 ── 3 leaf2 (LID 2) 1 ── node2
//   mlx5_0 (LID 6) node1 mlx5_1 (LID 8, LMC 1) ── 1 leaf2 …  see MakeSnapshot
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/base/backend.h"
#include "daemon/base/config_keeper.h"
#include "daemon/record/audit_log.h"
#include "daemon/record/event_log.h"
#include "fabric/snapshot_builder.h"
#include "query/verdict_view.h"
#include "store/memory_store.h"

namespace fabricd::rpc::testing {

inline constexpr Guid kLeaf1{0x200000}, kLeaf2{0x200100}, kSpine{0x200200};
inline constexpr Guid kNode1Rail0{0x100000}, kNode1Rail1{0x100100}, kNode2{0x100200};

inline wire::PortInfo MakePortInfo(wire::PortState state, uint8_t active_width) {
  wire::PortInfo info;
  const bool up = state >= wire::PortState::kInit;
  info.port_state = state;
  info.port_physical_state =
      up ? wire::PortPhysicalState::kLinkUp : wire::PortPhysicalState::kPolling;
  info.link_width_supported = 0x3;  // 1x, 4x
  info.link_width_active = active_width;
  info.link_speed_supported = 0x7;      // SDR, DDR, QDR
  info.link_speed_active = 0x4;         // QDR
  info.link_speed_ext_supported = 0x2;  // EDR
  info.link_speed_ext_active = up ? 0x2 : 0;
  info.mtu_cap = info.neighbor_mtu = 5;
  info.vl_cap = info.operational_vls = 3;
  info.m_key = MKey(0x5EC2E7);  // Must never leave the daemon.
  return info;
}

class FabricMaker {
 public:
  NodeIndex Add(wire::NodeType type, Guid guid, uint8_t ports, const std::string& description) {
    wire::NodeInfo info;
    info.node_type = type;
    info.node_guid = info.system_image_guid = guid;
    const bool is_switch = type == wire::NodeType::kSwitch;
    info.port_guid = is_switch ? guid : Guid(guid.value() + 1);
    info.local_port = PortNum(1);
    info.num_ports = ports;
    info.vendor_id = 0x2C9;
    info.device_id = 54000;
    const NodeIndex node = builder.PutNode(info);
    builder.SetDescription(node, description);
    for (uint8_t port = is_switch ? 0 : 1; port <= ports; ++port) {
      builder.SetPortInfo({node, PortNum(port)}, MakePortInfo(wire::PortState::kDown, 0));
    }
    if (is_switch) {
      wire::SwitchInfo details;
      details.linear_fdb_cap = 49152;
      details.linear_fdb_top = 9;
      builder.SetSwitchInfo(node, details);
      builder.SetPortInfo({node, PortNum(0)}, MakePortInfo(wire::PortState::kActive, 2));
    }
    return node;
  }
  void Link(NodeIndex a, uint8_t port_a, NodeIndex b, uint8_t port_b, uint8_t width = 2) {
    for (const PortRef end : {PortRef{a, PortNum(port_a)}, PortRef{b, PortNum(port_b)}}) {
      builder.SetPortInfo(end, MakePortInfo(wire::PortState::kActive, width));
    }
    builder.Link({a, PortNum(port_a)}, {b, PortNum(port_b)});
  }
  fabric::SnapshotBuilder builder;
};

// The whole view. leaf1: 1 node1 mlx5_0, 3 spine 1. leaf2: 1 node2 mlx5_0, 2 node1 mlx5_1, 3 spine
// 2 (1x only: degraded). Port 4 of each switch is DOWN and unlinked.
struct SmallFabric {
  FabricMaker maker;
  NodeIndex leaf1 = maker.Add(wire::NodeType::kSwitch, kLeaf1, 4, "leaf1");
  NodeIndex leaf2 = maker.Add(wire::NodeType::kSwitch, kLeaf2, 4, "leaf2");
  NodeIndex spine = maker.Add(wire::NodeType::kSwitch, kSpine, 4, "MF0;spine:MQM8700/U1");
  NodeIndex node1_0 = maker.Add(wire::NodeType::kChannelAdapter, kNode1Rail0, 1, "node1 mlx5_0");
  NodeIndex node1_1 = maker.Add(wire::NodeType::kChannelAdapter, kNode1Rail1, 1, "node1 mlx5_1");
  NodeIndex node2 = maker.Add(wire::NodeType::kChannelAdapter, kNode2, 1, "node2 mlx5_0");
  std::shared_ptr<fabric::LidTable> lids = std::make_shared<fabric::LidTable>();
  std::shared_ptr<routing::RoutingPlan> plan = std::make_shared<routing::RoutingPlan>();
  std::map<NodeIndex, routing::Row> rows;
  policy::PolicyView policy;
  std::shared_ptr<const policy::PartitionState> partitions =
      std::make_shared<const policy::PartitionState>();

  SmallFabric() {
    maker.Link(leaf1, 1, node1_0, 1);
    maker.Link(leaf1, 3, spine, 1);
    maker.Link(leaf2, 1, node2, 1);
    maker.Link(leaf2, 2, node1_1, 1);
    maker.Link(leaf2, 3, spine, 2, 1);
    Assign(leaf1, 0, 1);
    Assign(leaf2, 0, 2);
    Assign(spine, 0, 3);
    Assign(node1_0, 1, 4);
    Assign(node2, 1, 6);
    Assign(node1_1, 1, 8, 1);  // 8 and 9
    plan->engine = "up_down";
    plan->lid_top = Lid(9);
    //                    0    1  2  3  4    5  6    7  8  9
    rows[leaf1] = Row({255, 0, 3, 3, 1, 255, 3, 255, 3, 3});
    rows[leaf2] = Row({255, 3, 0, 3, 3, 255, 1, 255, 2, 2});
    rows[spine] = Row({255, 1, 2, 0, 1, 255, 2, 255, 2, 2});
  }

  std::shared_ptr<sweep::FabricView> View(uint64_t generation = 7) {
    auto view = std::make_shared<sweep::FabricView>();
    view->generation = Generation(generation);
    view->snapshot = maker.builder.Build();
    view->lids = lids;
    auto made = std::make_shared<routing::RoutingPlan>(*plan);
    made->rows.resize(view->snapshot->node_index_end());
    for (const auto& [node, row] : rows) {
      made->rows[node.value()] = std::make_shared<const routing::Row>(row);
    }
    view->plan = made;
    view->partitions = partitions;
    view->policy = std::make_shared<const policy::PolicyView>(policy);
    view->chain = {{"rail", false, "not a rail-optimised tree"}, {"up_down", true, ""}};
    view->sm.state = wire::SmState::kMaster;
    view->sm.guid = Guid(kNode1Rail0.value() + 1);
    view->sm.lid = Lid(4);
    view->sm.priority = 5;
    view->sm.port = {node1_0, PortNum(1)};
    view->sm.remote = {
        {{node2, PortNum(1)}, Guid(kNode2.value() + 1), 3, wire::SmState::kStandby, 42}};
    view->subnet_up = true;
    view->sweeps_done = 2;
    view->last_sweep = {sweep::SweepKind::kHeavy, 12.5, 120, 1, {{"Get PortInfo", 30}}, 40};
    view->problems = {{sweep::ProblemKind::kUnresponsive,
                       sweep::ProblemSubject::Named("node9 mlx5_0/1"), "no answer to 3 Gets"}};
    return view;
  }

  void Assign(NodeIndex node, uint8_t port, uint16_t lid, uint8_t lmc = 0) {
    lids->Assign({node, PortNum(port)}, {Lid(lid), lmc});
  }
  static routing::Row Row(routing::Row ports) {
    ports.Resize(64, routing::kNoRoute);
    return ports;
  }
};

// The daemon as the services see it; the test says what the core does.
class FakeBackend : public daemon::Backend {
 public:
  explicit FakeBackend(std::shared_ptr<const sweep::FabricView> view) { Publish(std::move(view)); }

  void Publish(std::shared_ptr<const sweep::FabricView> view) {
    auto hosts =
        std::make_shared<const fabric::HostTable>(fabric::FindHosts(*view->snapshot, patterns_));
    std::lock_guard lock(mutex_);
    view_ = std::move(view);
    hosts_ = std::move(hosts);
  }
  std::shared_ptr<const sweep::FabricView> view() const override {
    std::lock_guard lock(mutex_);
    return view_;
  }
  std::shared_ptr<const fabric::HostTable> hosts(const sweep::FabricView&) const override {
    std::lock_guard lock(mutex_);
    return hosts_;
  }
  const fabric::NodeNameMap& node_name_map() const override { return name_map; }
  const fabric::HostPatterns& host_patterns() const override { return patterns_; }
  void PostSweep(bool heavy, std::function<void(absl::Status)> done) override {
    if (on_sweep) on_sweep(heavy, std::move(done));
  }
  void PostHold(daemon::HoldCommand command, daemon::HoldDone done) override {
    if (on_hold) on_hold(std::move(command), std::move(done));
  }
  void PostPartitions(sweep::ChangePartitions command, daemon::PartitionsDone done) override {
    if (on_partitions) on_partitions(std::move(command), std::move(done));
  }
  void PostMastership(daemon::MastershipCommand command, daemon::MastershipDone done) override {
    if (on_mastership) on_mastership(std::move(command), std::move(done));
  }
  daemon::SaReads sa() const override { return sa_reads; }
  std::shared_ptr<const telemetry::TelemetryView> telemetry() override { return telemetry_view; }
  void ReadHistory(PortRef port, Duration span, daemon::HistoryDone done) override {
    done(on_history ? on_history(port, span) : std::nullopt);
  }
  void PollCounters(daemon::PolledDone done) override { done(absl::OkStatus()); }
  std::shared_ptr<const query::VerdictView> verdicts() const override {
    std::lock_guard lock(mutex_);
    return verdicts_;
  }
  void PublishVerdicts(std::shared_ptr<const query::VerdictView> view) {
    std::lock_guard lock(mutex_);
    verdicts_ = std::move(view);
  }
  void PostVerdict(daemon::VerdictCommand command, daemon::VerdictDone done) override {
    if (on_verdict) on_verdict(std::move(command), std::move(done));
  }
  void EvaluateLink(PortRef port, daemon::VerdictDone done) override {
    if (on_evaluate) on_evaluate(port, std::move(done));
  }
  daemon::EventLog& events() override { return *log; }
  daemon::AuditLog& audit() override { return audit_log; }
  daemon::ConfigKeeper& configuration() override { return *keeper; }
  absl::StatusOr<std::map<std::string, std::string>> MakeDumps() const override { return dumps; }
  sim::Control* sim_control() override { return control; }
  absl::Status store_writable() const override { return writable; }
  std::vector<daemon::SharingNode> sharing_nodes() const override { return nodes; }
  std::optional<daemon::SharedStateAge> shared_state_age() const override { return age; }
  std::optional<daemon::OtherMaster> other_master() const override { return other; }

  absl::Status writable;
  std::vector<daemon::SharingNode> nodes;
  std::optional<daemon::SharedStateAge> age;
  std::optional<daemon::OtherMaster> other;
  daemon::SaReads sa_reads;
  std::shared_ptr<const telemetry::TelemetryView> telemetry_view =
      std::make_shared<const telemetry::TelemetryView>();
  std::function<std::optional<telemetry::HistoryAnswer>(PortRef, Duration)> on_history;
  fabric::NodeNameMap name_map;
  std::function<void(daemon::VerdictCommand, daemon::VerdictDone)> on_verdict;
  std::function<void(PortRef, daemon::VerdictDone)> on_evaluate;
  std::function<void(bool, std::function<void(absl::Status)>)> on_sweep;
  std::function<void(daemon::HoldCommand, daemon::HoldDone)> on_hold;
  std::function<void(sweep::ChangePartitions, daemon::PartitionsDone)> on_partitions;
  std::function<void(daemon::MastershipCommand, daemon::MastershipDone)> on_mastership;
  store::MemoryStore store;
  std::recursive_mutex store_mutex;  // Held by each job: the store thread.
  const daemon::PostToStore on_store = [this](const std::function<void()>& job) {
    std::lock_guard lock(store_mutex);
    job();
    return true;
  };
  std::unique_ptr<daemon::EventLog> log =
      *daemon::EventLog::Open(store, on_store, {store, on_store}, {});
  daemon::AuditLog audit_log{"head1", store, on_store, {store, on_store}, {}};
  std::unique_ptr<daemon::ConfigKeeper> keeper =
      std::make_unique<daemon::ConfigKeeper>(config::Config{}, "", daemon::ConfigKeeper::Hooks{});
  absl::StatusOr<std::map<std::string, std::string>> dumps;
  sim::Control* control = nullptr;

 private:
  const fabric::HostPatterns patterns_;
  mutable std::mutex mutex_;
  std::shared_ptr<const sweep::FabricView> view_;
  std::shared_ptr<const fabric::HostTable> hosts_;
  std::shared_ptr<const query::VerdictView> verdicts_ = query::NoVerdicts();
};

}  // namespace fabricd::rpc::testing
