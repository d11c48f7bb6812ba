// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/services/sim_service.h"

#include <cstdlib>

#include "common/status.h"
#include "daemon/rpc/streams/reactors.h"
#include "query/port_text.h"

namespace fabricd::rpc {
namespace {

// What Control knows the node by: a name that only fabricd gives (node-name-map, first word, LID)
// becomes the GUID. A node that fabricd does not see (rebooting, cut off) keeps the name it was
// called.
std::string ControlName(daemon::Models& models, const std::string& node) {
  const auto model = models.Current();
  const auto found = model->FindNode(node);
  return found.ok() ? fmt::format("{}", (*found)->guid()) : node;
}

absl::Status Explain(const absl::Status& status, const std::string& node) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound: return NoSuch("node", node, Message(status));
    case absl::StatusCode::kInvalidArgument: return WithReason(status, "AMBIGUOUS_NAME");
    case absl::StatusCode::kFailedPrecondition: return WithReason(status, "CABLE_STATE");
    default: return WithReason(status, "SIMULATION_FAILED");
  }
}

// Calls apply(node, port) for the port that `text` names.
template <typename Apply>
absl::Status AtPort(daemon::Models& models, const std::string& text, Apply&& apply) {
  const auto parts = query::SplitPortText(text);
  if (!parts) return BadField("port", fmt::format("\"{}\" is not NODE[PORT]", text));
  return Explain(apply(ControlName(models, parts->node), parts->port), text);
}

absl::StatusOr<sim::PortErrors> ReadErrors(const simpb::SetErrorsRequest& request) {
  sim::PortErrors errors;
  errors.clear = request.clear();
  for (const auto& [name, count] : request.counters()) {
    const auto counter = sim::ParseCounter(name);
    if (!counter) {
      return BadField("counters", fmt::format("\"{}\" is none of {}", name, sim::CounterNames()));
    }
    errors.counts.emplace_back(*counter, count);
  }
  if (request.has_rates()) {
    const simpb::BitErrorRates& rates = request.rates();
    for (double rate : {rates.raw(), rates.effective(), rates.symbol()}) {
      if (!(rate >= 0 && rate <= 1)) {
        return BadField("rates", fmt::format("{} is no bit error rate", rate));
      }
    }
    errors.rates = sim::BitErrorRates{rates.raw(), rates.effective(), rates.symbol()};
  }
  constexpr int kMostDegrees = 127;
  if (request.has_module_celsius()) {
    if (std::abs(request.module_celsius()) > kMostDegrees) {
      return BadField("module_celsius",
                      fmt::format("{} is not from -{} to {}", request.module_celsius(),
                                  kMostDegrees, kMostDegrees));
    }
    errors.module_celsius = request.module_celsius();
  }
  return errors;
}

void Fill(const sim::SimEndpoint& end, simpb::SimEndpoint* out) {
  out->set_node(Utf8(end.node));
  out->set_guid(fmt::format("{}", end.guid));
  out->set_port(end.port.value());
}

}  // namespace

grpc::ServerUnaryReactor* SimService::Unlink(Context* context, const simpb::UnlinkRequest* request,
                                             simpb::UnlinkResponse*) {
  return Answer(context, [&] {
    return AtPort(models_, request->port(), [&](const std::string& node, PortNum port) {
      return control_.Unlink(node, port);
    });
  });
}

grpc::ServerUnaryReactor* SimService::Link(Context* context, const simpb::LinkRequest* request,
                                           simpb::LinkResponse*) {
  return Answer(context, [&] {
    return AtPort(models_, request->port(),
                  [&](const std::string& node, PortNum port) { return control_.Link(node, port); });
  });
}

grpc::ServerUnaryReactor* SimService::Connect(Context* context,
                                              const simpb::ConnectRequest* request,
                                              simpb::ConnectResponse*) {
  return Answer(context, [&] {
    return AtPort(models_, request->a(), [&](const std::string& node_a, PortNum port_a) {
      return AtPort(models_, request->b(), [&](const std::string& node_b, PortNum port_b) {
        return control_.Connect(node_a, port_a, node_b, port_b);
      });
    });
  });
}

grpc::ServerUnaryReactor* SimService::Reboot(Context* context, const simpb::RebootRequest* request,
                                             simpb::RebootResponse*) {
  return Answer(context, [&] {
    return Explain(control_.Reboot(ControlName(models_, request->node())), request->node());
  });
}

grpc::ServerUnaryReactor* SimService::SetErrors(Context* context,
                                                const simpb::SetErrorsRequest* request,
                                                simpb::SetErrorsResponse*) {
  return Answer(context, [&]() -> absl::Status {
    const auto errors = ReadErrors(*request);
    if (!errors.ok()) return errors.status();
    return AtPort(models_, request->port(), [&](const std::string& node, PortNum port) {
      return control_.SetErrors(node, port, *errors);
    });
  });
}

grpc::ServerUnaryReactor* SimService::SetPerformance(Context* context,
                                                     const simpb::SetPerformanceRequest* request,
                                                     simpb::SetPerformanceResponse*) {
  return Answer(context, [&]() -> absl::Status {
    const auto options = sim::ParsePerformanceOptions(request->options());
    if (!options.ok()) return BadField("options", Message(options.status()));
    const std::string& node = request->node();
    return Explain(
        control_.SetPerformance(node.empty() ? node : ControlName(models_, node), *options), node);
  });
}

grpc::ServerUnaryReactor* SimService::SetClock(Context* context,
                                               const simpb::SetClockRequest* request,
                                               simpb::SetClockResponse*) {
  return Answer(context, [&]() -> absl::Status {
    const absl::Status set = control_.SetClockRate(request->rate());
    return absl::IsInvalidArgument(set) ? BadField("rate", Message(set)) : set;
  });
}

grpc::ServerUnaryReactor* SimService::StartTraffic(Context* context,
                                                   const simpb::StartTrafficRequest* request,
                                                   simpb::StartTrafficResponse*) {
  return Answer(context, [&]() -> absl::Status {
    const simpb::TrafficJob& asked = request->job();
    const auto pattern = sim::ParseTrafficPattern(asked.pattern());
    if (!pattern) {
      return BadField("job.pattern", fmt::format("\"{}\" is none of {}", asked.pattern(),
                                                 sim::TrafficPatternNames()));
    }
    sim::TrafficJob job;
    job.name = asked.name();
    job.pattern = *pattern;
    job.hosts.assign(asked.hosts().begin(), asked.hosts().end());
    if (asked.load() != 0) job.load = asked.load();
    const absl::Status started = control_.StartTraffic(job);
    switch (started.code()) {
      case absl::StatusCode::kInvalidArgument: return BadField("job", Message(started));
      case absl::StatusCode::kNotFound: return WithReason(started, "HOST_NOT_FOUND");
      case absl::StatusCode::kAlreadyExists: return WithReason(started, "JOB_RUNS");
      default: return started;
    }
  });
}

grpc::ServerUnaryReactor* SimService::StopTraffic(Context* context,
                                                  const simpb::StopTrafficRequest* request,
                                                  simpb::StopTrafficResponse*) {
  return Answer(context, [&] {
    const absl::Status stopped = control_.StopTraffic(request->name());
    return absl::IsNotFound(stopped) ? WithReason(stopped, "JOB_NOT_FOUND") : stopped;
  });
}

grpc::ServerUnaryReactor* SimService::ListTraffic(Context* context,
                                                  const simpb::ListTrafficRequest*,
                                                  simpb::ListTrafficResponse* response) {
  return Answer(context, [&] {
    for (const sim::TrafficReport& report : control_.ListTraffic()) {
      simpb::TrafficReport* out = response->add_jobs();
      out->mutable_job()->set_name(Utf8(report.job.name));
      out->mutable_job()->set_pattern(std::string(sim::TrafficPatternName(report.job.pattern)));
      for (const std::string& host : report.job.hosts) out->mutable_job()->add_hosts(Utf8(host));
      out->mutable_job()->set_load(report.job.load);
      out->set_flows(report.flows);
      out->set_unrouted(report.unrouted);
      out->set_gigabits(report.gigabits);
      out->set_slowest_gigabits(report.slowest);
    }
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* SimService::ListLinks(Context* context, const simpb::ListLinksRequest*,
                                                simpb::ListLinksResponse* response) {
  return Answer(context, [&] {
    for (const sim::SimCable& cable : control_.ListCables()) {
      simpb::SimLink* link = response->add_links();
      Fill(cable.a, link->mutable_a());
      Fill(cable.b, link->mutable_b());
      link->set_plugged(cable.plugged);
      link->set_up(cable.up);
    }
    return absl::OkStatus();
  });
}

}  // namespace fabricd::rpc
