// SPDX-License-Identifier: Apache-2.0
// The whole core on a hostile fabric: while the input lasts it decides what becomes of each MAD
// that arrives (bytes changed, status set, lost, doubled, others let in) and what happens to cables
// and commands. Whatever was said, the core goes on; and started again with the records that it
// made durable, on the same fabric, honest now, it brings all of it up: as it left the devices, or
// after they have restarted too.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "common/check.h"
#include "mad/wire/smp.h"
#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/fuzz/bytes.h"

namespace fabricd::test {
namespace {

using Whole = std::span<uint8_t, wire::kMadBytes>;

// Long enough for a bring-up with many time-outs, and an end to inputs that only wait.
constexpr Duration kHostileTime = std::chrono::seconds(120);

const fabric::FabricSnapshot& SmallTree() {
  static const auto tree = *sim::Generate("fat-tree:radix=4,levels=2,pods=2");
  return *tree;
}

class Hostile {
 public:
  explicit Hostile(FuzzBytes input) : input_(input), simulation_(SmallTree()) {
    sweep::CoreOptions options;
    options.smp.retries = 1;
    const uint8_t start = input_.Byte();
    options.lmc = start % 8 == 1;
    reboot_ = start >= 128;
    sm_ = simulation_.Add(options);
    simulation_.manager(sm_).tamper = [this](mad::IncomingMad& mad) { return Tamper(mad); };
  }

  void Run() {
    simulation_.Start(sm_);
    simulation_.RunUntil([this] { return input_.AtEnd(); }, kHostileTime);
    simulation_.RunFor(std::chrono::seconds(5));
    simulation_.Kill(sm_);
    for (const auto& [port, pulled] : cables_) {
      if (pulled) FABRICD_CHECK(simulation_.fabric().Link(simulation_.now(), port).ok());
    }
    for (uint32_t node = 0; reboot_ && node < simulation_.fabric().node_index_end(); ++node) {
      FABRICD_CHECK(simulation_.fabric().Reboot(simulation_.now(), NodeIndex(node)).ok());
    }
    simulation_.RunFor(std::chrono::seconds(10));
    CheckHonest();
  }

 private:
  void CheckHonest() {
    simulation_.manager(sm_).tamper = nullptr;
    simulation_.Start(sm_);
    simulation_.manager(sm_).log.clear();
    const bool up = RunUntilUp();
    std::string log;
    for (const auto& record : simulation_.manager(sm_).log) log += record.text + "\n";
    FABRICD_CHECK(up, "{}", log);
    const sim::SimFabric& fabric = simulation_.fabric();
    for (const auto& faults : {sim::PortsNotActive(fabric), sim::BrokenPairs(fabric),
                               sim::LidFaults(fabric), sim::Loops(fabric)}) {
      FABRICD_CHECK(faults.empty(), "{}", fmt::join(faults, "\n"));
    }
  }

  // Devices that lied may have been left with settings of nobody. Then the takeover is held, and an
  // operator accepts it.
  bool RunUntilUp() {
    const auto& manager = simulation_.manager(sm_);
    const auto is_held = [&] { return manager.view->sm.is_held && manager.view->takeover; };
    simulation_.RunUntil([&] { return manager.core->subnet_up() || is_held(); }, kHostileTime);
    if (is_held()) simulation_.Post(sm_, sweep::AcceptTakeover{1, manager.view->takeover->id});
    return simulation_.RunUntilUp(sm_);
  }

  // False: the MAD is lost.
  bool Tamper(mad::IncomingMad& mad) {
    if (left_alone_ > 0) {
      --left_alone_;
      return true;
    }
    if (input_.AtEnd() || posting_) return true;
    const uint8_t what = input_.Byte();
    if (what < 96) left_alone_ = what;
    if (what < 96 || mad.payload.size() < wire::kMadBytes) return true;
    const bool received = mad.kind == mad::IncomingMad::Kind::kReceived;
    switch (what % 8) {
      case 0:
      case 1:
      case 2:
        if (received) ChangeData(mad);
        return true;
      case 3:
        if (received) PatchWhole(mad);
        return true;
      case 4: return !received;
      case 5: Post(Changed(mad)); return true;
      case 6: Disturb(); return true;
      default:
        if (received) SetStatus(mad);
        return true;
    }
  }

  // Any byte but the class: by that the transport has chosen the agent.
  void PatchWhole(mad::IncomingMad& mad) {
    input_.Patch(mad.payload);
    const bool directed = mad.agent == mad::Agent::kSmpDirected;
    mad.payload[1] = static_cast<uint8_t>(directed ? wire::ManagementClass::kSubnDirectedRoute
                                                   : wire::ManagementClass::kSubnLidRouted);
  }

  void ChangeData(mad::IncomingMad& mad) {
    const std::span<uint8_t> data(mad.payload.data() + 64, wire::kSmpDataBytes);
    if (input_.Byte() % 8 == 0) std::fill(data.begin(), data.end(), input_.Byte());
    input_.Patch(data);
  }

  void SetStatus(mad::IncomingMad& mad) {
    auto smp = wire::Smp::Decode(Whole(mad.payload.data(), wire::kMadBytes));
    if (!smp) return;
    smp->status = input_.Byte();
    smp->Encode(Whole(mad.payload.data(), wire::kMadBytes));
  }

  // Something like it that nobody has sent.
  mad::IncomingMad Changed(const mad::IncomingMad& mad) {
    mad::IncomingMad other = mad;
    other.kind = mad::IncomingMad::Kind::kReceived;
    static constexpr wire::Method kMethods[] = {wire::Method::kGetResp, wire::Method::kTrap,
                                                wire::Method::kGet, wire::Method::kSet};
    auto smp = wire::Smp::Decode(Whole(other.payload.data(), wire::kMadBytes));
    const uint8_t form = input_.Byte();
    if (smp) {
      smp->method = kMethods[form % 4];
      if (form / 4 % 2 == 1) smp->path.reset();
      if (form / 8 % 2 == 1) smp->attribute = wire::AttributeId::kSmInfo;
      if (form / 8 % 4 == 2) smp->attribute = wire::AttributeId::kNotice;
      if (smp->attribute == wire::AttributeId::kSmInfo) smp->modifier = input_.Byte() % 8;
      smp->Encode(Whole(other.payload.data(), wire::kMadBytes));
    }
    other.agent = smp && smp->path ? mad::Agent::kSmpDirected : mad::Agent::kSmpLid;
    if (smp && !smp->path) other.from.lid = Lid(input_.Byte());
    PatchWhole(other);
    if (form >= 240) other.payload.resize(form);
    return other;
  }

  void Disturb() {
    const uint8_t what = input_.Byte();
    if (what % 4 == 0) {
      Post(sweep::SweepCommand{what, what % 8 == 0});
    } else if (what % 4 == 1) {
      Post(mad::LocalPortEvent{static_cast<mad::LocalPortEvent::Kind>(what / 4 % 7)});
    } else {
      const PortRef port{NodeIndex(input_.Byte() % simulation_.fabric().node_index_end()),
                         PortNum(static_cast<uint8_t>(1 + what / 4 % 4))};
      Pull(port);
    }
  }

  // Pulls a cable, or puts it back. The SM's own stays: without it there is nothing to see.
  void Pull(PortRef port) {
    sim::SimFabric& fabric = simulation_.fabric();
    if (!fabric.device(port.node)->HasPort(port.port)) return;
    if (port == simulation_.manager(sm_).host ||
        fabric.LinkedPeer(port) == simulation_.manager(sm_).host)
      return;
    bool& pulled = cables_[port];
    const absl::Status done =
        pulled ? fabric.Link(simulation_.now(), port) : fabric.Unlink(simulation_.now(), port);
    if (done.ok()) pulled = !pulled;
  }

  void Post(sweep::Event event) {
    posting_ = true;
    simulation_.Post(sm_, std::move(event));
    posting_ = false;
  }

  FuzzBytes input_;
  sim::Simulation simulation_;
  size_t sm_ = 0;
  int left_alone_ = 0;
  bool posting_ = false;
  bool reboot_ = false;
  std::map<PortRef, bool> cables_;
};

}  // namespace
}  // namespace fabricd::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fabricd::test::Hostile(fabricd::test::FuzzBytes(data, size)).Run();
  return 0;
}
