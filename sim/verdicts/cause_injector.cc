// SPDX-License-Identifier: Apache-2.0
#include "sim/verdicts/cause_injector.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "common/check.h"
#include "common/number_text.h"
#include "common/status.h"
#include "sim/device/link_rate.h"
#include "sim/faults/draw.h"
#include "sim/performance/draws.h"
#include "sim/performance/error_model.h"

namespace fabricd::sim {
namespace {

constexpr uint8_t kLinkIntegrity = 13;  // The reason that PDDR page 6 has for a drop by itself.
constexpr Duration kDropsStep = std::chrono::seconds(10);
constexpr Duration kRoughPull = std::chrono::seconds(60);
// From which on a verdict is due, of causes whose severity is no multiple of a limit: less than
// half of the rate of the link, and three drops within 10 min (docs/VERDICTS.md, E9 and E4).
constexpr double kSlowLimit = 2, kFlapLimit = 18;
constexpr size_t kMostStormFlows = 100'000;

std::optional<Counter> EffectOf(CauseKind kind) {
  switch (kind) {
    case CauseKind::kNoisyCable:
    case CauseKind::kNoisyTransmitter:
    case CauseKind::kNoisyReceiver:
    case CauseKind::kRoughLinkUp:
    case CauseKind::kFirmwareDefect: return Counter::kSymbolErrors;
    case CauseKind::kDirtyCable:
    case CauseKind::kHotModule: return Counter::kCorrectedBits;
    case CauseKind::kSlowReceiver:
    case CauseKind::kIncast: return Counter::kXmitWait;
    case CauseKind::kFlappingCable:
    case CauseKind::kCablePulled:
    case CauseKind::kCableSwapped:
    case CauseKind::kPeerDisable:
    case CauseKind::kHostReboot:
    case CauseKind::kSwitchReboot: return Counter::kLinkDowned;
    case CauseKind::kVl15Drops: return Counter::kVl15Dropped;
    case CauseKind::kMulticastNoise: return Counter::kRcvSwitchRelayErrors;
    case CauseKind::kCounterClear:
    case CauseKind::kTelemetryBlackout:
    case CauseKind::kRailStorm:
    case CauseKind::kOddAgent:
    case CauseKind::kSickPath:
    case CauseKind::kFabricdRestart: return std::nullopt;
  }
  return std::nullopt;
}

double DrawBetween(const Range& range, bool is_logarithmic, Rng& rng) {
  const double part = DrawUniform(rng);
  if (is_logarithmic && range.low > 0) {
    return range.low * std::exp(part * std::log(range.high / range.low));
  }
  return range.low + part * (range.high - range.low);
}

}  // namespace

CauseInjector::CauseInjector(Simulation& simulation, const Scenario& scenario, PortRef manager,
                             uint64_t seed)
    : simulation_(simulation),
      fabric_(simulation.fabric()),
      scenario_(scenario),
      manager_(manager),
      seed_(seed),
      begin_(simulation.now()),
      places_(simulation.fabric(), manager) {}

absl::Status CauseInjector::Plan() {
  // Places that are named before those that are drawn, so that none of these takes one of those.
  for (const bool named : {true, false}) {
    for (size_t i = 0; i < scenario_.causes.size(); ++i) {
      if ((scenario_.causes[i].place.kind == PlaceKind::kNamed) != named) continue;
      FABRICD_RETURN_IF_ERROR(PlanCause(i));
    }
  }
  for (size_t i = 0; i < scenario_.traffic.size(); ++i) FABRICD_RETURN_IF_ERROR(PlanTraffic(i));
  return absl::OkStatus();
}

absl::Status CauseInjector::PlanCause(size_t number) {
  injected_.resize(scenario_.causes.size());
  const Cause& cause = scenario_.causes[number];
  Rng rng(Rng(seed_ ^ (number + 1) << 40).Next());
  auto place = places_.Find(cause, rng);
  if (!place.ok()) {
    return NotFound("{} {}: {}", InfoOf(cause.kind).name, ToText(cause.place),
                    Message(place.status()));
  }
  const bool restarts =
      cause.kind == CauseKind::kHostReboot || cause.kind == CauseKind::kSwitchReboot;
  if (restarts && std::count(place->nodes.begin(), place->nodes.end(), manager_.node) > 0) {
    return InvalidArgument("{} {}: the manager runs there", InfoOf(cause.kind).name, place->name);
  }
  Planned planned{number, cause, *std::move(place), 0, {}, {}, Rng(rng.Next())};
  planned.severity = DrawBetween(cause.severity, true, rng);
  planned.start = begin_ + Seconds(DrawBetween(cause.start, false, rng));
  const double duration = DrawBetween(cause.duration, false, rng);
  const Instant end_of_run = begin_ + Seconds(scenario_.length);
  planned.end = duration > 0 ? planned.start + Seconds(duration) : end_of_run;
  if (cause.kind == CauseKind::kFirmwareDefect) {
    planned.place.nodes = DrawFamily(cause.share, planned.rng);
  }
  if (cause.kind == CauseKind::kSickPath) {
    planned.place.nodes = HostsBehind(planned.place.nodes.front());
  }
  Injected& injected = injected_[number];
  injected.kind = cause.kind;
  injected.place = planned.place.name;
  injected.severity = planned.severity;
  injected.start = planned.start;
  injected.end = planned.end;
  if (cause.kind == CauseKind::kCounterClear) injected.end = injected.start;
  if (!planned.place.port.IsNone()) {
    injected.ends = {planned.place.port, PeerOf(planned.place.port)};
    for (PortRef end : injected.ends) injected.link_ends.push_back(places_.NameOf(end));
  } else {
    injected.ends = places_.EndsAt(planned.place.nodes);
  }
  injected.limits = LimitsOf(planned);
  CountEffect(planned);
  Schedule(std::move(planned));
  return absl::OkStatus();
}

// Before and after it. A device that starts again counts from 0: what it had counted is lost.
void CauseInjector::CountEffect(const Planned& planned) {
  Injected& injected = injected_[planned.number];
  injected.counter = EffectOf(injected.kind);
  if (!injected.counter) return;
  std::vector<PortRef> ends = injected.ends;
  // A host's own port waits for other reasons.
  const bool waits = injected.counter == Counter::kXmitWait;
  if (waits) ends = {PeerOf(planned.place.port)};
  const auto before = std::make_shared<std::vector<uint64_t>>();
  const auto total = [this, counter = *injected.counter](PortRef end) {
    return fabric_.CounterTotal(now(), end, counter);
  };
  simulation_.At(planned.start, [ends, before, total] {
    for (PortRef end : ends) before->push_back(total(end));
  });
  double possible = 0;  // Ticks of waiting all the time.
  const Instant end = std::min(planned.end, begin_ + Seconds(scenario_.length));
  if (waits) {
    const SimPort& port = fabric_.device(ends[0].node)->port(ends[0].port);
    const double lasted = std::chrono::duration<double>(end - planned.start).count();
    possible = ActiveGigabits(port.info) * 1e9 / 8 / (PerformanceAgent::kTick + 1) * lasted;
  }
  simulation_.At(end, [this, ends, before, total, possible, number = planned.number] {
    Injected& counted = injected_[number];
    for (size_t i = 0; i < before->size(); ++i) {
      const uint64_t now_counted = total(ends[i]);
      counted.counted += now_counted - std::min(now_counted, (*before)[i]);
    }
    if (possible > 0) counted.wait = static_cast<double>(counted.counted) / possible;
  });
}

absl::Status CauseInjector::PlanTraffic(size_t number) {
  const ScenarioTraffic& wanted = scenario_.traffic[number];
  Rng rng(Rng(seed_ ^ (number + 1) << 20).Next());
  const auto hosts = fabric_.Hosts();
  TrafficJob job{fmt::format("traffic-{}", number + 1), wanted.pattern, {}, wanted.load, {}};
  if (const auto count = ParseNumber<size_t>(wanted.hosts); count || wanted.hosts == "all") {
    for (const auto& [name, adapters] : hosts) job.hosts.push_back(name);
    for (size_t i = 0; count && i < job.hosts.size(); ++i) {
      std::swap(job.hosts[i], job.hosts[i + rng.Below(job.hosts.size() - i)]);
    }
    if (count) job.hosts.resize(std::min(*count, job.hosts.size()));
  } else {
    for (size_t from = 0; from <= wanted.hosts.size();) {
      const size_t comma = std::min(wanted.hosts.find(',', from), wanted.hosts.size());
      job.hosts.push_back(wanted.hosts.substr(from, comma - from));
      from = comma + 1;
    }
  }
  for (const std::string& name : job.hosts) {
    if (!hosts.contains(name)) return NotFound("traffic: no host '{}'", name);
  }
  const Instant start = begin_ + Seconds(wanted.start);
  // Whether it can run at all shows here, so that a scenario cannot run without its traffic.
  FABRICD_RETURN_IF_ERROR(fabric_.StartTraffic(now(), job));
  FABRICD_RETURN_IF_ERROR(fabric_.StopTraffic(now(), job.name));
  simulation_.At(start, [this, job] { fabric_.StartTraffic(now(), job).IgnoreError(); });
  if (wanted.duration > 0) {
    simulation_.At(start + Seconds(wanted.duration),
                   [this, name = job.name] { fabric_.StopTraffic(now(), name).IgnoreError(); });
  }
  return absl::OkStatus();
}

// A cause that ends with the run is not ended.
void CauseInjector::During(const Planned& planned, std::function<void(bool begins)> what) {
  simulation_.At(planned.start, [what] { what(true); });
  if (planned.end < begin_ + Seconds(scenario_.length)) {
    simulation_.At(planned.end, [what = std::move(what)] { what(false); });
  }
}

void CauseInjector::Schedule(Planned planned) {
  switch (planned.cause.kind) {
    case CauseKind::kNoisyCable:
    case CauseKind::kNoisyTransmitter:
    case CauseKind::kNoisyReceiver:
    case CauseKind::kDirtyCable:
    case CauseKind::kHotModule:
    case CauseKind::kFirmwareDefect: return ScheduleNoise(planned);
    case CauseKind::kRoughLinkUp: ScheduleLink(planned); return ScheduleNoise(planned);
    case CauseKind::kSlowReceiver:
    case CauseKind::kIncast:
    case CauseKind::kRailStorm: return ScheduleLoad(planned);
    case CauseKind::kFlappingCable: return ScheduleFlaps(planned);
    case CauseKind::kCablePulled:
    case CauseKind::kCableSwapped:
    case CauseKind::kPeerDisable:
    case CauseKind::kCounterClear: return ScheduleLink(planned);
    case CauseKind::kHostReboot:
    case CauseKind::kSwitchReboot: return ScheduleNodes(planned);
    case CauseKind::kTelemetryBlackout:
    case CauseKind::kSickPath:
    case CauseKind::kOddAgent: return ScheduleAgents(planned);
    case CauseKind::kMulticastNoise:
    case CauseKind::kVl15Drops: return ScheduleDrops(planned);
    case CauseKind::kFabricdRestart:
      if (restart_ != nullptr) During(planned, restart_);
      return;
  }
}

void CauseInjector::SetNoise(PortRef receiver, size_t number, const LinkNoise& noise) {
  std::map<size_t, LinkNoise>& causes = noise_[receiver];
  causes.erase(number);
  if (noise != LinkNoise()) causes[number] = noise;
  LinkNoise sum;
  for (const auto& [cause, each] : causes) {
    sum.raw = std::min(1.0, sum.raw + each.raw);
    sum.burst = std::max(sum.burst, each.burst);
    sum.spurious += each.spurious;
  }
  const absl::Status status = fabric_.SetLinkNoise(now(), receiver, sum);
  FABRICD_CHECK(status.ok(), "{}", Message(status));
}

void CauseInjector::ScheduleNoise(Planned& planned) {
  const PortRef port = planned.place.port;
  const CauseKind kind = planned.cause.kind;
  const double severity = planned.severity;
  const size_t number = planned.number;
  std::vector<PortRef> receivers = injected_[number].ends;
  if (kind == CauseKind::kNoisyTransmitter) receivers = {PeerOf(port)};
  if (kind == CauseKind::kNoisyReceiver) receivers = {port};
  if (kind == CauseKind::kFirmwareDefect) {
    std::erase_if(receivers, [this](PortRef end) { return fabric_.device(end.node)->IsSwitch(); });
  }
  // By what the links are when the cause is drawn: those that are down then have no FEC.
  std::vector<std::pair<PortRef, LinkNoise>> noises;
  for (PortRef receiver : receivers) {
    LinkNoise noise{0, planned.cause.burst, 0};
    const double limit = severity * kSymbolErrorLimit;
    if (kind == CauseKind::kFirmwareDefect) {
      const SimPort& registers = fabric_.device(receiver.node)->port(receiver.port);
      noise.spurious = limit * ActiveGigabits(registers.info) * 1e9;
    } else if (kind == CauseKind::kHotModule) {
      noise.raw = RawRateAt(severity);
    } else {
      noise.raw = kind == CauseKind::kDirtyCable ? std::min(1.0, severity * 1e-9)
                                                 : RawRateFor(limit, fabric_.FecAt(receiver));
    }
    noises.emplace_back(receiver, noise);
  }
  During(planned, [this, noises, number, port, kind, severity](bool begins) {
    for (const auto& [receiver, noise] : noises) {
      SetNoise(receiver, number, begins ? noise : LinkNoise());
    }
    if (kind != CauseKind::kHotModule) return;
    const std::optional<int> celsius =
        begins ? std::optional(static_cast<int>(std::lround(severity))) : std::nullopt;
    fabric_.SetModuleTemperature(port, celsius).IgnoreError();
  });
}

void CauseInjector::ScheduleLoad(Planned& planned) {
  const PortRef port = planned.place.port;
  if (planned.cause.kind == CauseKind::kSlowReceiver) {
    During(planned, [this, port, share = 1 / planned.severity](bool begins) {
      fabric_.SetReceiverShare(now(), port, begins ? share : 1).IgnoreError();
    });
    return;
  }
  TrafficJob job{fmt::format("cause-{}", planned.number + 1),
                 TrafficPattern::kIncast,
                 {},
                 1,
                 planned.place.rail};
  if (planned.cause.kind == CauseKind::kIncast) {
    const std::string receiver = places_.HostOf(port.node);
    const auto senders = static_cast<size_t>(std::lround(planned.severity));
    job.hosts = places_.SomeHosts(senders, receiver, planned.rng);
    job.hosts.insert(job.hosts.begin(), receiver);
  } else {
    for (const auto& [name, adapters] : fabric_.Hosts()) job.hosts.push_back(name);
    job.pattern = FlowCount(TrafficPattern::kAllToAll, job.hosts.size()) <= kMostStormFlows
                      ? TrafficPattern::kAllToAll
                      : TrafficPattern::kRecursiveDoubling;
  }
  During(planned, [this, job](bool begins) {
    (begins ? fabric_.StartTraffic(now(), job) : fabric_.StopTraffic(now(), job.name))
        .IgnoreError();
  });
}

// Where another cause has changed the link meanwhile, nothing is left to be done.
void CauseInjector::ScheduleLink(Planned& planned) {
  const PortRef port = planned.place.port;
  const CauseKind kind = planned.cause.kind;
  if (kind == CauseKind::kRoughLinkUp) {
    simulation_.At(planned.start, [this, port] { fabric_.Unlink(now(), port).IgnoreError(); });
    simulation_.At(planned.start + kRoughPull,
                   [this, port] { fabric_.Link(now(), port).IgnoreError(); });
    return;
  }
  if (kind == CauseKind::kCablePulled || kind == CauseKind::kCableSwapped) {
    During(planned, [this, port, is_new = kind == CauseKind::kCableSwapped](bool begins) {
      if (!begins && is_new) fabric_.ReplaceCable(port).IgnoreError();
      (begins ? fabric_.Unlink(now(), port) : fabric_.Link(now(), port)).IgnoreError();
    });
    return;
  }
  if (kind == CauseKind::kPeerDisable) {
    During(planned, [this, peer = PeerOf(port)](bool begins) {
      fabric_.SetDisabled(now(), peer, begins).IgnoreError();
    });
    return;
  }
  simulation_.At(planned.start, [this, ends = injected_[planned.number].ends] {
    for (PortRef end : ends) fabric_.ClearCounters(now(), end).IgnoreError();
  });
}

void CauseInjector::ScheduleNodes(Planned& planned) {
  const CauseKind kind = planned.cause.kind;
  During(planned, [this, kind, nodes = planned.place.nodes](bool begins) {
    for (NodeIndex node : nodes) {
      if (begins) {
        const Ending ending =
            kind == CauseKind::kHostReboot ? Ending::kShutdown : Ending::kPowerLoss;
        fabric_.PowerOff(now(), node, ending).IgnoreError();
      } else {
        fabric_.PowerOn(now(), node).IgnoreError();
      }
    }
  });
}

// How agents answer; where two causes are at one node the later one decides.
void CauseInjector::ScheduleAgents(Planned& planned) {
  PerformanceOptions options;
  if (planned.cause.kind == CauseKind::kOddAgent) {
    options = *ParsePerformanceOptions(planned.cause.agent);
  } else {
    options.With(PerformanceQuirk::kUnresponsive);
  }
  During(planned, [this, options, nodes = planned.place.nodes](bool begins) {
    for (NodeIndex node : nodes) {
      fabric_.SetPerformance(node, begins ? options : PerformanceOptions()).IgnoreError();
    }
  });
}

// Drops come by a Poisson process.
void CauseInjector::ScheduleFlaps(Planned& planned) {
  constexpr double kHour = 3600;
  Instant at = planned.start;
  const Instant end = std::min(planned.end, begin_ + Seconds(scenario_.length));
  while (true) {
    at += Seconds(-std::log1p(-DrawUniform(planned.rng)) * kHour / planned.severity);
    if (at >= end) return;
    simulation_.At(at, [this, port = planned.place.port] {
      fabric_.LoseSignal(now(), port, kLinkIntegrity).IgnoreError();
    });
  }
}

// Multicast: packets of groups whose only member is their sender come back to the port that they
// came from and are dropped there. VL15: more SMPs than a device has buffers for.
void CauseInjector::ScheduleDrops(Planned& planned) {
  const double mean = planned.severity * std::chrono::duration<double>(kDropsStep).count();
  const Instant end = std::min(planned.end, begin_ + Seconds(scenario_.length));
  const std::vector<Counter> counters =
      planned.cause.kind == CauseKind::kVl15Drops
          ? std::vector<Counter>{Counter::kVl15Dropped}
          : std::vector<Counter>{Counter::kMulticastRcvPackets, Counter::kRcvPackets,
                                 Counter::kRcvDlidMappingErrors};
  const auto& nodes = planned.place.nodes;
  const std::set<NodeIndex> dropping(nodes.begin(), nodes.end());
  for (Instant at = planned.start; at < end; at += kDropsStep) {
    simulation_.At(at, [this, mean, counters, dropping, ends = injected_[planned.number].ends,
                        seed = planned.rng.Next()] {
      Rng rng(seed);
      for (PortRef end_port : ends) {
        if (!dropping.contains(end_port.node)) continue;
        const uint64_t packets = DrawPoisson(rng, mean);
        for (Counter counter : counters) {
          fabric_.AddToCounter(now(), end_port, counter, packets).IgnoreError();
        }
      }
    });
  }
}

double CauseInjector::LimitsOf(const Planned& planned) const {
  const auto behind_fec = [&](double raw) {
    double most = 0;
    for (PortRef receiver : injected_[planned.number].ends) {
      most = std::max(most, BehindFec(raw, fabric_.FecAt(receiver)).symbol);
    }
    return most / kSymbolErrorLimit;
  };
  switch (planned.cause.kind) {
    case CauseKind::kNoisyCable:
    case CauseKind::kNoisyTransmitter:
    case CauseKind::kNoisyReceiver: return planned.severity;
    case CauseKind::kDirtyCable: return behind_fec(std::min(1.0, planned.severity * 1e-9));
    case CauseKind::kHotModule: return behind_fec(RawRateAt(planned.severity));
    case CauseKind::kSlowReceiver: return planned.severity / kSlowLimit;
    case CauseKind::kFlappingCable: return planned.severity / kFlapLimit;
    default: return 0;
  }
}

std::vector<NodeIndex> CauseInjector::HostsBehind(NodeIndex leaf) const {
  std::vector<NodeIndex> hosts;
  for (const PortNum number : fabric_.device(leaf)->LinkPorts()) {
    const PortRef peer = fabric_.LinkedPeer({leaf, number});
    if (!peer.IsNone() && !fabric_.device(peer.node)->IsSwitch()) hosts.push_back(peer.node);
  }
  return hosts;
}

// Of the HCAs that are the same device with the same firmware most often in the fabric.
std::vector<NodeIndex> CauseInjector::DrawFamily(double share, Rng& rng) const {
  using Family = std::tuple<uint32_t, uint16_t, uint32_t>;
  std::map<Family, std::vector<NodeIndex>> families;
  for (const auto& [name, adapters] : fabric_.Hosts()) {
    for (NodeIndex node : adapters) {
      const wire::NodeInfo& info = fabric_.device(node)->node_info();
      families[{info.vendor_id, info.device_id, info.revision}].push_back(node);
    }
  }
  std::vector<NodeIndex> all;
  for (auto& [family, nodes] : families) {
    if (nodes.size() > all.size()) all = std::move(nodes);
  }
  const auto count = static_cast<size_t>(std::ceil(share * static_cast<double>(all.size())));
  for (size_t i = 0; i < count; ++i) std::swap(all[i], all[i + rng.Below(all.size() - i)]);
  all.resize(count);
  return all;
}

}  // namespace fabricd::sim
