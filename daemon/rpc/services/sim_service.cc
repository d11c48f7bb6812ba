// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/services/sim_service.h"

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
