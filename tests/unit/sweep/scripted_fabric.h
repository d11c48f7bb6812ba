// SPDX-License-Identifier: Apache-2.0
// ScriptedDevices: devices of a SmallFabric, which answer each request as the test says. Directed
// routes follow the links of the builder; where they lead nowhere nothing answers.
// ScriptedFabric: the same behind an engine, in virtual time.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "mad/wire/sm_info.h"
#include "tests/unit/sweep/registers.h"

namespace fabricd::sweep {

class ScriptedDevices {
 public:
  struct Sent {
    PortRef at;  // The port by which it came to the device that is asked; none: it came nowhere.
    wire::Smp smp;
    std::string text;  // "Get PortInfo 0x1 of 0x10".
  };
  // What becomes of a request: by default an honest answer.
  struct Reaction {
    bool is_lost = false;
    uint16_t status = 0;
    // In place of what is so; also where the request came nowhere.
    std::optional<wire::SmpData> shows;
  };

  // `truth` is what is there, whatever anybody has read of it. Requests start at `local`.
  ScriptedDevices(const fabric::SnapshotBuilder& truth, PortRef local)
      : registers(truth), truth_(truth), local_(local) {}

  // nullopt: none comes.
  std::optional<mad::IncomingMad> Answer(const mad::OutgoingMad& mad) {
    Sent one;
    one.smp = *wire::Smp::Decode(
        std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
    if (!one.smp.path) return std::nullopt;  // LID routed: a trap, or what ends one.
    one.at = Follow(*one.smp.path);
    const fabric::Node* node = one.at.IsNone() ? nullptr : truth_.node(one.at.node);
    one.text = fmt::format("{} {} {:#x} of {}", wire::MethodName(one.smp.method),
                           wire::AttributeName(one.smp.attribute), one.smp.modifier,
                           node == nullptr ? "nobody" : fmt::format("{:#x}", node->guid().value()));
    sent.push_back(one);
    const Reaction reaction = react(one);
    if (reaction.is_lost || (node == nullptr && !reaction.shows)) return std::nullopt;
    wire::Smp answer = one.smp;
    answer.method = wire::Method::kGetResp;
    answer.returning = true;
    answer.status = reaction.status;
    if (reaction.status == 0)
      answer.data = reaction.shows ? *reaction.shows : Shown(*node, one.at.port, one.smp);
    mad::IncomingMad incoming;
    incoming.payload.resize(wire::kMadBytes);
    answer.Encode(std::span<uint8_t, wire::kMadBytes>(incoming.payload.data(), wire::kMadBytes));
    return incoming;
  }

  // Where a directed route ends; none: nowhere.
  PortRef Follow(const wire::DirectedPath& path) const {
    PortRef at = local_;
    for (size_t hop = 0; hop < path.hops(); ++hop) {
      const fabric::Node* node = truth_.node(at.node);
      if (node == nullptr || (hop > 0 && !node->IsSwitch()) || path[hop] >= node->ports.size())
        return {};
      at = node->ports[path[hop]].peer;
      if (at.IsNone() || !node->ports[path[hop]].IsUp()) return {};
    }
    return at;
  }
  std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const Sent& each : sent) texts.push_back(each.text);
    return texts;
  }
  size_t CountOf(std::string_view begin) const {
    return static_cast<size_t>(std::count_if(sent.begin(), sent.end(), [&](const Sent& each) {
      return each.text.compare(0, begin.size(), begin) == 0;
    }));
  }

  std::function<Reaction(const Sent&)> react = [](const Sent&) { return Reaction{}; };
  std::vector<Sent> sent;
  Registers registers;
  std::map<NodeIndex, wire::SmInfo> managers;  // Of nodes with an SM.

 private:
  wire::SmpData Shown(const fabric::Node& node, PortNum by, const wire::Smp& smp) {
    wire::SmpData data{};
    switch (smp.attribute) {
      case wire::AttributeId::kNodeInfo: {
        wire::NodeInfo info = node.info;
        info.local_port = by;
        if (!node.IsSwitch()) info.port_guid = node.port(by).guid;
        info.Encode(data);
        return data;
      }
      case wire::AttributeId::kNodeDescription:
        wire::NodeDescription{node.description}.Encode(data);
        return data;
      case wire::AttributeId::kSmInfo: managers[node.index].Encode(data); return data;
      case wire::AttributeId::kSwitchPortStateTable: {
        wire::SwitchPortStateTable table;
        for (size_t port = 0; port < node.ports.size() && port < table.kEntries; ++port)
          table.state[port] = static_cast<uint8_t>(
              registers.Read<wire::PortInfo>(node.index, static_cast<uint32_t>(port)).port_state);
        table.Encode(data);
        return data;
      }
      case wire::AttributeId::kPortInfo:
        if (!node.IsSwitch() && (smp.modifier & 0xFF) == 0)
          return registers.CarryOut(node.index, smp.method, smp.attribute, by.value(), smp.data);
        break;
      default: break;
    }
    return registers.CarryOut(node.index, smp.method, smp.attribute, smp.modifier, smp.data);
  }

  const fabric::SnapshotBuilder& truth_;
  const PortRef local_;
};

class ScriptedFabric : public ScriptedDevices {
 public:
  // The engine sends from `local`.
  ScriptedFabric(const fabric::SnapshotBuilder& truth, PortRef local,
                 mad::TransactionEngine& engine)
      : ScriptedDevices(truth, local), engine_(engine) {}

  // Sends what the engine has and lets the devices answer it. True: there was something.
  template <typename OnCompletion>
  bool Step(OnCompletion&& on_completion) {
    std::vector<mad::OutgoingMad> out;
    std::vector<mad::Completion> done;
    engine_.Pump(now, out, done);
    const bool any = !out.empty() || !done.empty();
    for (const mad::OutgoingMad& mad : out)
      if (const auto answer = Answer(mad)) engine_.OnIncoming(*answer, now, done);
    for (const mad::Completion& each : done) on_completion(each);
    return any;
  }
  // The same until nothing is left: what is not answered times out. `feed` is called before each
  // step, and at `deadline()`.
  template <typename Feed, typename OnCompletion>
  void Run(Feed&& feed, OnCompletion&& on_completion) {
    Run(feed, on_completion, [] { return kNever; });
  }
  template <typename Feed, typename OnCompletion, typename Deadline>
  void Run(Feed&& feed, OnCompletion&& on_completion, Deadline&& deadline) {
    for (int steps = 0; steps < 10'000; ++steps) {
      feed();
      if (Step(on_completion)) continue;
      const Instant next = std::min<Instant>(engine_.NextDeadline(), deadline());
      if (next == kNever) return;
      now = std::max(now, next);
    }
    ADD_FAILURE() << "it does not end";
  }

  Instant now{std::chrono::seconds(100)};

 private:
  mad::TransactionEngine& engine_;
};

}  // namespace fabricd::sweep
