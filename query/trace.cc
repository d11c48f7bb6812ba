// SPDX-License-Identifier: Apache-2.0
#include "query/trace.h"

#include <fmt/format.h>

namespace fabricd::query {
namespace {

std::string PortText(const ReadModel& model, PortRef port) { return model.port_name(port); }

class Walk {
 public:
  Walk(const ReadModel& model, Lid destination)
      : model_(model), destination_(destination), owner_(model.view->lids->Owner(destination)) {}

  Trace From(PortRef source) {
    trace_.hops.push_back({source.node, std::nullopt, std::nullopt});
    if (source == owner_) {
      trace_.reachable = true;
    } else if (!node(source.node).IsSwitch()) {
      Leave(source);
    }
    while (!ended()) Forward();
    return std::move(trace_);
  }

 private:
  const fabric::Node& node(NodeIndex index) const { return *model_.snapshot().node(index); }
  bool ended() const { return trace_.reachable || !trace_.stopped.empty(); }

  // The last hop is a switch that the packet is in.
  void Forward() {
    const NodeIndex at = trace_.hops.back().node;
    if (trace_.hops.size() > model_.snapshot().switch_count() + 2) {
      trace_.stopped = "the tables loop";
      return;
    }
    const uint8_t egress = model_.view->plan->HasRow(at)
                               ? model_.view->plan->EgressPort(at, destination_)
                               : routing::kNoRoute;
    if (egress == routing::kNoRoute) {
      trace_.stopped = fmt::format("{} has no route to LID {}", model_.name(at), destination_);
    } else if (egress != 0) {
      Leave({at, PortNum(egress)});
    } else {
      trace_.hops.back().egress = PortNum(0);
      trace_.reachable = owner_ == PortRef{at, PortNum(0)};
      if (!trace_.reachable) {
        trace_.stopped = fmt::format("{} takes LID {} for its own", model_.name(at), destination_);
      }
    }
  }

  // Over the link at `egress` of the last hop.
  void Leave(PortRef egress) {
    trace_.hops.back().egress = egress.port;
    const fabric::Port* port = model_.snapshot().port(egress);
    if (!port || port->peer.IsNone()) {
      trace_.stopped = fmt::format("{} is not linked", PortText(model_, egress));
      return;
    }
    if (port->known && !port->IsUp()) {
      trace_.stopped = fmt::format("{} is {}", PortText(model_, egress),
                                   wire::PortStateName(port->info.port_state));
      return;
    }
    const PortRef to = port->peer;
    trace_.hops.push_back({to.node, to.port, std::nullopt});
    if (node(to.node).IsSwitch()) return;
    trace_.reachable = to == owner_;
    if (!trace_.reachable) {
      trace_.stopped = fmt::format("{} does not own LID {}", PortText(model_, to), destination_);
    }
  }

  const ReadModel& model_;
  const Lid destination_;
  const PortRef owner_;
  Trace trace_;
};

}  // namespace

Trace TracePath(const ReadModel& model, PortRef source, Lid destination) {
  return Walk(model, destination).From(source);
}

}  // namespace fabricd::query
