// SPDX-License-Identifier: Apache-2.0
#include "daemon/fabric_port.h"

#include <utility>

#include "common/status.h"
#include "mad/umad_transport.h"
#include "sim/fabric/topology.h"
#include "sim/transport/sim_transport.h"

namespace fabricd::daemon {

absl::StatusOr<std::shared_ptr<FabricPort>> FabricPort::Open(const std::string& spec, SmMode mode) {
  if (spec.rfind("sim:", 0) == 0) {
    auto topology = sim::MakeTopology(spec.substr(4));
    // What --fabric names is the operator's word, also where no such file exists.
    if (!topology.ok()) return InvalidArgument("{}", Message(topology.status()));
    auto transport = sim::SimTransport::Create(**topology, {});
    if (!transport.ok()) return transport.status();
    sim::Control* const control = transport->get();
    return std::shared_ptr<FabricPort>(new FabricPort(*std::move(transport), control));
  }
  const auto choice = mad::UmadChoice::Parse(spec);
  if (!choice.ok()) return choice.status();
  auto transport = mad::UmadTransport::Open(*choice, mode);
  if (!transport.ok()) return transport.status();
  return std::shared_ptr<FabricPort>(new FabricPort(*std::move(transport), nullptr));
}

mad::Transport& FabricPort::Use(SmMode mode) {
  if (MayManage(mode)) return transport_;
  return read_only_.emplace(transport_, mode);
}

}  // namespace fabricd::daemon
