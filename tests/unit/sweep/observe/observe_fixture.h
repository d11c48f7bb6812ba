// SPDX-License-Identifier: Apache-2.0
// ObserveTest: a small fabric as it is (truth_) beside what is known of it (builder_), so that the
// one can change behind the back of the other.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweep/interface/activity.h"
#include "sweep/observe/discovery.h"
#include "sweep/observe/ground.h"
#include "tests/unit/sweep/scripted_fabric.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {

using namespace std::chrono_literals;

class ObserveTest : public testing::Test {
 protected:
  using Sent = ScriptedFabric::Sent;
  using Reaction = ScriptedFabric::Reaction;

  static mad::EngineOptions Wide() {
    mad::EngineOptions options;
    options.window_initial = options.window_max = options.window_floor = 4096;
    options.device_limit = options.subtree_limit = 4096;
    return options;
  }
  // Four hosts; everything ACTIVE, with LIDs, tops and descriptions. The SM is at host 0. Switches
  // have GUIDs 0x10 and 0x11, hosts 0x100 to 0x103.
  ObserveTest() {
    for (uint16_t i : {0, 1}) {
      wire::SwitchInfo info;
      info.linear_fdb_cap = 1024;
      info.linear_fdb_top = 6;
      truth_.builder.SetSwitchInfo(truth_.switches[i], info);
      truth_.builder.SetDescription(truth_.switches[i], fmt::format("leaf{}", i));
      EditTruth(SwitchPort(i, 0), [&](wire::PortInfo& port) {
        port.lid = Lid(static_cast<uint16_t>(1 + i));
        port.port_state = wire::PortState::kActive;
      });
    }
    for (size_t i = 0; i < truth_.hosts.size(); ++i) {
      truth_.builder.SetDescription(truth_.hosts[i], fmt::format("host{}", i));
      EditTruth(truth_.Host(i),
                [&](wire::PortInfo& port) { port.lid = Lid(static_cast<uint16_t>(3 + i)); });
    }
    for (NodeIndex node : truth_.switches)
      for (uint8_t port = 1; port <= 36; ++port)
        SetLink({node, PortNum(port)}, wire::PortState::kActive);
  }

  PortRef SwitchPort(size_t at, int port) const {
    return {truth_.switches[at], PortNum(static_cast<uint8_t>(port))};
  }
  // What the device holds changes.
  template <typename Edit>
  void EditTruth(PortRef port, Edit&& edit) {
    wire::PortInfo info = truth_.builder.node(port.node)->port(port.port).info;
    edit(info);
    truth_.builder.SetPortInfo(port, info);
    wire_.registers.Put(port.node, port.port.value(), info);
  }
  void EditSwitch(size_t at, void (*edit)(wire::SwitchInfo&)) {
    wire::SwitchInfo info = *truth_.builder.node(truth_.switches[at])->switch_info;
    edit(info);
    truth_.builder.SetSwitchInfo(truth_.switches[at], info);
    wire_.registers.Put(truth_.switches[at], 0, info);
  }
  // Both ends of the port's cable, or the port alone where there is none.
  void SetLink(PortRef port, wire::PortState state) {
    const PortRef peer = truth_.builder.node(port.node)->port(port.port).peer;
    const bool is_up = state >= wire::PortState::kInit && !peer.IsNone();
    for (PortRef end : {port, peer}) {
      if (end.IsNone()) continue;
      EditTruth(end, [&](wire::PortInfo& info) {
        info.port_state = is_up ? state : wire::PortState::kDown;
        info.port_physical_state =
            is_up ? wire::PortPhysicalState::kLinkUp : wire::PortPhysicalState::kPolling;
      });
    }
  }
  void Cut(PortRef port) { SetLink(port, wire::PortState::kDown); }
  // A cable between ports that had none.
  void Plug(PortRef a, PortRef b) {
    for (PortRef end : {a, b})
      EditTruth(end, [](wire::PortInfo& info) { info = SmallFabric::Up(); });
    truth_.builder.Link(a, b);
    SetLink(a, wire::PortState::kInit);
  }
  // A host that was not there, at this port.
  NodeIndex AddHost(uint64_t number, PortRef at) {
    wire::NodeInfo info;
    info.node_type = wire::NodeType::kChannelAdapter;
    info.num_ports = 1;
    info.node_guid = Guid(0x100 + number);
    info.port_guid = Guid(0x1000 + number);
    info.local_port = PortNum(1);
    const NodeIndex node = truth_.builder.PutNode(info);
    truth_.builder.SetPortGuid({node, PortNum(1)}, info.port_guid);
    Plug(at, {node, PortNum(1)});
    return node;
  }

  // Reads all of it.
  void Discover() {
    Discovery discovery(ground_, PortNum(1), Activity::kDiscovery);
    discovery.Start(wire_.now);
    Run(discovery);
    discovery.Finish(wire_.now);
    local_ = discovery.local();
    remote_sms_ = discovery.remote_sms();
    wire_.sent.clear();
  }
  void Run(Discovery& discovery) {
    wire_.Run(
        [&] {
          if (wire_.now >= discovery.NextDeadline()) discovery.OnTimer(wire_.now);
        },
        [&](const mad::Completion& each) { discovery.OnCompletion(each, wire_.now); },
        [&] { return discovery.NextDeadline(); });
  }
  // The index of a GUID in what is known.
  NodeIndex Known(uint64_t guid) const { return builder_.FindIndex(Guid(guid)); }
  PortRef KnownPort(uint64_t guid, int port) const {
    return {Known(guid), PortNum(static_cast<uint8_t>(port))};
  }
  const fabric::Node* NodeOf(uint64_t guid) const {
    return Known(guid).IsNone() ? nullptr : builder_.node(Known(guid));
  }
  std::vector<uint64_t> GuidsOf(const std::vector<NodeIndex>& nodes) const {
    std::vector<uint64_t> guids;
    for (NodeIndex node : nodes) {
      const fabric::Node* known = builder_.node(node);
      guids.push_back(known == nullptr ? 0 : known->guid().value());
    }
    std::sort(guids.begin(), guids.end());
    guids.erase(std::unique(guids.begin(), guids.end()), guids.end());
    return guids;
  }
  std::vector<std::string> Problems() const {
    std::vector<std::string> texts;
    for (const Problem& each : problems_.List())
      texts.push_back(fmt::format("{}: {}: {}", ProblemKindName(each.kind),
                                  SubjectText(each.subject, {}), each.message));
    return texts;
  }
  // Requests of that device are lost.
  void Silence(uint64_t guid) {
    wire_.react = [this, guid](const Sent& sent) {
      return Reaction{.is_lost = GuidAt(sent) == guid};
    };
  }
  void AnswerAll() {
    wire_.react = [](const Sent&) { return Reaction{}; };
  }
  uint64_t GuidAt(const Sent& sent) const {
    return sent.at.IsNone() ? 0 : truth_.builder.node(sent.at.node)->guid().value();
  }

  CoreOptions options_;
  SmallFabric truth_{4};
  fabric::SnapshotBuilder builder_;
  DeviceTable devices_{options_.sm};
  mad::TransactionEngine engine_{Wide()};
  ProblemList problems_;
  const Ground ground_{builder_, devices_, engine_, problems_, options_};
  ScriptedFabric wire_{truth_.builder, truth_.Host(0), engine_};
  PortRef local_;
  std::vector<RemoteSm> remote_sms_;
};

}  // namespace fabricd::sweep
