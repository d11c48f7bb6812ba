// SPDX-License-Identifier: Apache-2.0
#include "sim/fabric/link_errors.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mad/wire/notice.h"
#include "sim/device/link_rate.h"
#include "sim/performance/cable_module.h"
#include "sim/performance/draws.h"
#include "sim/performance/error_model.h"

namespace fabricd::sim {
namespace {

constexpr double kBitsOfGigabit = 1e9;
// Of the errors of one second so many are looked at one by one.
constexpr uint64_t kMostSingle = 1000;
// PortInfo.LocalPhyErrors as devices have it: more in a second count as LocalLinkIntegrityErrors.
constexpr uint64_t kLocalPhyErrors = 8;

}  // namespace

void LinkErrors::Set(Instant now, PortRef receiver, const LinkNoise& noise) {
  if (noise == LinkNoise()) {
    sources_.erase(receiver);
    return;
  }
  const auto found = sources_.find(receiver);
  if (found != sources_.end()) {
    found->second.noise = noise;
    return;
  }
  constexpr uint64_t kOwn = 0xB17E88085;
  const uint64_t guid = nodes_.Device(receiver.node).guid().value();
  Rng rng(seed_ ^ guid ^ uint64_t{receiver.port.value()} << 56 ^ kOwn);
  sources_.emplace(receiver, Source{noise, Rng(rng.Next())});
  traffic_.Watch(now, receiver);
}

void LinkErrors::Step() {
  for (auto& [receiver, source] : sources_) CountErrors(receiver, source);
}

std::optional<wire::PddrModule> LinkErrors::ModuleAt(PortRef ref) const {
  const SimPort& port = nodes_.Port(ref);
  if (port.cable.IsNone() || !port.plugged) return std::nullopt;
  const SimDevice& own = nodes_.Device(ref.node);
  const SimDevice& peer = nodes_.Device(port.cable.node);
  return ModuleOf({own.guid(), ref.port, own.IsSwitch()},
                  {peer.guid(), port.cable.port, peer.IsSwitch()},
                  std::min(port.rated_speed, peer.port(port.cable.port).rated_speed));
}

wire::PddrFecMode LinkErrors::FecAt(PortRef ref) const {
  const std::optional<wire::PddrModule> module = ModuleAt(ref);
  return module ? FecOf(*module, wire::ActiveSpeed(nodes_.Port(ref).info))
                : wire::PddrFecMode::kNone;
}

// Bursts come by a Poisson process, and their lengths are geometric.
uint64_t LinkErrors::DrawBursts(Source& source, double mean) const {
  const double length = std::max(1.0, source.noise.burst);
  const uint64_t bursts = DrawPoisson(source.rng, mean / length);
  if (bursts > kMostSingle) return static_cast<uint64_t>(static_cast<double>(bursts) * length);
  uint64_t errors = 0;
  for (uint64_t i = 0; i < bursts; ++i) {
    ++errors;
    if (length == 1) continue;
    const double more = std::log1p(-DrawUniform(source.rng)) / std::log1p(-1 / length);
    errors += static_cast<uint64_t>(std::min(more, 1e6));
  }
  return errors;
}

void LinkErrors::CountErrors(PortRef receiver, Source& source) {
  const SimPort& port = nodes_.Port(receiver);
  if (port.info.port_state < wire::PortState::kInit || !nodes_.power(receiver.node).on) return;
  PerformanceAgent& agent = nodes_.Performance(receiver.node);
  const double gigabits = ActiveGigabits(port.info);
  const double bits = gigabits * kBitsOfGigabit;
  const BitErrorRates rates = BehindFec(source.noise.raw, FecAt(receiver));
  const uint64_t raw = DrawPoisson(source.rng, bits * rates.raw);
  const uint64_t effective = DrawPoisson(source.rng, bits * rates.effective);
  const uint64_t symbol = DrawBursts(source, bits * rates.symbol);
  const uint64_t spurious = DrawPoisson(source.rng, source.noise.spurious);
  const auto add = [&](Counter counter, uint64_t count) {
    if (count > 0) agent.Add(receiver.port, counter, count);
  };
  for (Counter counter : {Counter::kRawErrors, Counter::kCorrectedBits,
                          Counter::kFecCorrectedBlocks, Counter::kFecCorrectedSymbols}) {
    add(counter, raw);
  }
  add(Counter::kEffectiveErrors, effective);
  add(Counter::kFecUncorrectableBlocks, effective);
  add(Counter::kSymbolErrors, symbol + spurious);
  if (symbol > 0 && gigabits > 0) HitPackets(receiver, source, symbol, gigabits);
}

void LinkErrors::HitPackets(PortRef receiver, Source& source, uint64_t errors,
                            double link_gigabits) {
  const std::vector<TrafficJobs::Passing>& passing = traffic_.PassingAt(receiver);
  double carried = 0;
  for (const TrafficJobs::Passing& flow : passing) carried += flow.gigabits;
  if (carried <= 0) return;
  uint64_t hits = 0;
  for (uint64_t i = 0; i < std::min(errors, kMostSingle); ++i) {
    if (!source.rng.Chance(carried / link_gigabits)) continue;
    ++hits;
    double at = DrawUniform(source.rng) * carried;
    size_t flow = 0;
    while (flow + 1 < passing.size() && at >= passing[flow].gigabits)
      at -= passing[flow++].gigabits;
    for (PortRef further : passing[flow].further) {
      PerformanceAgent& agent = nodes_.Performance(further.node);
      agent.Add(further.port, Counter::kRcvErrors, 1);
      agent.Add(further.port, Counter::kRcvRemotePhysicalErrors, 1);
    }
  }
  PerformanceAgent& agent = nodes_.Performance(receiver.node);
  if (hits > 0) agent.Add(receiver.port, Counter::kRcvLocalPhysicalErrors, hits);
  if (hits <= kLocalPhyErrors) return;
  agent.Add(receiver.port, Counter::kLocalLinkIntegrityErrors, 1);
  // Nobody is notified where no manager has made itself known.
  traps_.RaiseThreshold(receiver, wire::kTrapLocalLinkIntegrity).IgnoreError();
}

}  // namespace fabricd::sim
