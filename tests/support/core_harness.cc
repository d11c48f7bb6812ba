// SPDX-License-Identifier: Apache-2.0
#include "tests/support/core_harness.h"

#include <algorithm>
#include <map>

#include <absl/container/flat_hash_map.h>

#include "common/check.h"

namespace fabricd::test {

CoreHarness::CoreHarness(const fabric::FabricSnapshot& topology, sim::SimOptions options)
    : fabric_(topology, std::move(options)) {}

size_t CoreHarness::Add(sweep::CoreOptions options, PortRef host) {
  auto sm = std::make_unique<Sm>();
  sm->host = host.IsNone() ? fabric_.DefaultHostPort() : host;
  sm->options = std::move(options);
  sms_.push_back(std::move(sm));
  return sms_.size() - 1;
}

void CoreHarness::Start(size_t number) {
  Sm& sm = *sms_[number];
  fabric_.Attach(sm.host);
  const sim::SimDevice& device = *fabric_.device(sm.host.node);
  mad::LocalPort local;
  local.device = "sim";
  local.port = sm.host.port;
  local.node_guid = device.node_info().node_guid;
  local.port_guid = device.port(sm.host.port).guid;
  sm.core = std::make_unique<sweep::Core>(sm.options, local, sm.durable);
  sm.core->Step(sweep::StartEvent{}, now_);
  Carry(sm);
}

void CoreHarness::Post(size_t number, sweep::Event event) {
  sms_[number]->core->Step(std::move(event), now_);
  Carry(*sms_[number]);
}

void CoreHarness::Kill(size_t number) {
  sms_[number]->core.reset();
  fabric_.SetIsSm(now_, sms_[number]->host, false);
}

void CoreHarness::Carry(Sm& sm) {
  // Inline routing and storage answer at once, which may make the core ask for more.
  for (;;) {
    sweep::Effects effects = sm.core->TakeEffects(now_);
    const bool answered = effects.compute || effects.persist;
    CarryEffects(sm, std::move(effects));
    if (!answered) return;
  }
}

void CoreHarness::CarryEffects(Sm& sm, sweep::Effects effects) {
  for (auto& record : effects.log) sm.log.push_back(std::move(record.text));
  for (auto& finished : effects.finished) sm.finished.push_back(std::move(finished));
  if (effects.set_is_sm) fabric_.SetIsSm(now_, sm.host, *effects.set_is_sm);
  if (effects.publish) sm.view = effects.publish;
  for (const mad::OutgoingMad& mad : effects.send) {
    ++sm.mads_sent;
    const absl::Status status = fabric_.Send(now_, sm.host, mad);
    FABRICD_CHECK(status.ok(), "{}", std::string(status.message().data(), status.message().size()));
  }
  if (effects.persist) {
    sweep::LidsPersisted answer{effects.persist->id, absl::OkStatus()};
    if (sm.persist_fails) {
      answer.status = absl::InternalError("disk full");
    } else {
      for (const auto& record : effects.persist->records) {
        std::erase_if(sm.durable,
                      [&](const auto& old) { return old.port_guid == record.port_guid; });
        sm.durable.push_back(record);
      }
    }
    sm.core->Step(std::move(answer), now_);
  }
  if (effects.compute) {
    const routing::RoutingIntent intent;
    const auto& task = *effects.compute;
    auto result =
        routing::RunChain({*task.snapshot, *task.lids, intent, task.options, task.previous.get()});
    sm.core->Step(sweep::PlanReady{task.id, std::move(result)}, now_);
  }
}

bool CoreHarness::StepOnce(Instant end) {
  Instant next = fabric_.next_event();
  for (const auto& sm : sms_)
    if (sm->core) next = std::min(next, sm->core->NextDeadline());
  if (next > end) {
    now_ = end;
    return false;
  }
  now_ = std::max(now_, next);
  std::vector<sim::Delivery> arrived;
  fabric_.Advance(now_, arrived);
  for (sim::Delivery& delivery : arrived) {
    for (auto& sm : sms_) {
      if (!sm->core || sm->host != delivery.host) continue;
      auto* mad = std::get_if<mad::IncomingMad>(&delivery.what);
      if (mad != nullptr && sm->tamper && !sm->tamper(*mad)) continue;
      std::visit([&](auto& what) { sm->core->Step(std::move(what), now_); }, delivery.what);
    }
  }
  for (auto& sm : sms_) {
    if (!sm->core) continue;
    if (now_ >= sm->core->NextDeadline()) sm->core->Step(sweep::TimerEvent{}, now_);
    Carry(*sm);
  }
  return true;
}

bool CoreHarness::RunUntilUp(size_t number, Duration limit) {
  Sm& sm = *sms_[number];
  return RunUntil(
      [&] { return sm.core && sm.core->subnet_up() && sm.core->phase() == sweep::Phase::kIdle; },
      limit);
}

std::vector<std::string> CoreHarness::PortsNotActive() const {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < fabric_.node_index_end(); ++i) {
    const sim::SimDevice* device = fabric_.device(NodeIndex(i));
    if (device == nullptr) continue;
    for (int num = 1; num <= device->node_info().num_ports; ++num) {
      const PortRef port{NodeIndex(i), PortNum(static_cast<uint8_t>(num))};
      if (fabric_.LinkedPeer(port).IsNone()) continue;
      if (device->port(port.port).info.port_state != wire::PortState::kActive)
        names.push_back(fmt::format("{}/{}", device->description(), num));
    }
  }
  return names;
}

namespace {

struct EndPort {
  PortRef ref;
  Lid base;
  int count;
};

std::vector<EndPort> EndPorts(const sim::SimFabric& fabric) {
  std::vector<EndPort> ports;
  for (uint32_t i = 0; i < fabric.node_index_end(); ++i) {
    const sim::SimDevice* device = fabric.device(NodeIndex(i));
    if (device == nullptr) continue;
    const bool is_switch = device->node_info().node_type == wire::NodeType::kSwitch;
    for (int num = is_switch ? 0 : 1; num <= (is_switch ? 0 : device->node_info().num_ports);
         ++num) {
      const PortRef ref{NodeIndex(i), PortNum(static_cast<uint8_t>(num))};
      if (!is_switch && fabric.LinkedPeer(ref).IsNone()) continue;
      const wire::PortInfo& info = device->port(ref.port).info;
      ports.push_back({ref, info.lid, 1 << info.lmc});
    }
  }
  return ports;
}

}  // namespace

std::vector<std::string> CoreHarness::BrokenPairs(size_t limit) const {
  std::vector<std::string> broken;
  const auto ports = EndPorts(fabric_);
  for (const EndPort& from : ports) {
    for (const EndPort& to : ports) {
      if (!to.base || !from.base) continue;
      for (int path = 0; path < to.count; ++path) {
        const Lid dlid(static_cast<uint16_t>(to.base.value() + path));
        if (fabric_.TraceData(from.ref, dlid) == to.ref) continue;
        broken.push_back(fmt::format("{} -> LID {} of {}",
                                     fabric_.device(from.ref.node)->description(), dlid,
                                     fabric_.device(to.ref.node)->description()));
        if (broken.size() >= limit) return broken;
      }
    }
  }
  return broken;
}

std::vector<std::string> CoreHarness::LidFaults() const {
  std::vector<std::string> faults;
  std::map<int, PortRef> owner;
  for (const EndPort& port : EndPorts(fabric_)) {
    const std::string& name = fabric_.device(port.ref.node)->description();
    if (!port.base) {
      faults.push_back(name + " has no LID");
      continue;
    }
    for (int path = 0; path < port.count; ++path)
      if (!owner.emplace(port.base.value() + path, port.ref).second)
        faults.push_back(fmt::format("LID {} of {} is held twice", port.base.value() + path, name));
  }
  return faults;
}

}  // namespace fabricd::test
