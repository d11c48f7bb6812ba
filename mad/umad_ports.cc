// SPDX-License-Identifier: Apache-2.0
#include "mad/umad_ports.h"

#include <endian.h>
#include <infiniband/umad.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "common/number_text.h"
#include "common/status.h"

namespace fabricd::mad {
namespace {

constexpr unsigned kPortStateDown = 1;
constexpr int kMaxDevices = 32;
constexpr char kNoDevice[] =
    "no InfiniBand device found (/dev/infiniband/umad*): load ib_umad, check permissions, or use "
    "--fabric sim:...";

struct FoundPort {
  UmadPort port;
  bool infiniband = false;
  unsigned state = 0;
};

std::vector<FoundPort> PortsOf(const char* device) {
  std::vector<FoundPort> found;
  umad_ca_t ca;
  if (umad_get_ca(device, &ca) < 0) return found;
  for (const umad_port_t* port : ca.ports) {
    if (port == nullptr) continue;
    FoundPort& entry = found.emplace_back();
    entry.port.local.device = device;
    entry.port.local.port = PortNum(static_cast<uint8_t>(port->portnum));
    entry.port.local.port_guid = Guid(be64toh(port->port_guid));
    entry.port.local.node_guid = Guid(be64toh(ca.node_guid));
    // "IB" is what libibumad says where the kernel has no link_layer file.
    entry.infiniband = std::strcmp(port->link_layer, "InfiniBand") == 0 ||
                       std::strcmp(port->link_layer, "IB") == 0;
    entry.port.on_ibsim = std::strcmp(ca.ca_type, "simulator") == 0;
    entry.state = port->state;
  }
  umad_release_ca(&ca);
  return found;
}

std::vector<FoundPort> AllPorts() {
  char names[kMaxDevices][UMAD_CA_NAME_LEN];
  const int count = umad_get_cas_names(names, kMaxDevices);
  std::vector<FoundPort> all;
  for (int device = 0; device < count; ++device) {
    for (FoundPort& port : PortsOf(names[device])) all.push_back(std::move(port));
  }
  return all;
}

// The first InfiniBand port with this number (0: any), one whose link is up before others. Null:
// none.
const FoundPort* BestOf(const std::vector<FoundPort>& ports, PortNum number) {
  const FoundPort* best = nullptr;
  for (const FoundPort& found : ports) {
    if (!found.infiniband || (number && number != found.port.local.port)) continue;
    if (best == nullptr || (best->state == kPortStateDown && found.state != kPortStateDown))
      best = &found;
  }
  return best;
}

}  // namespace

absl::StatusOr<UmadChoice> UmadChoice::Parse(std::string_view text) {
  constexpr std::string_view kPrefix = "umad";
  UmadChoice choice;
  const std::string_view rest = text.substr(std::min(kPrefix.size(), text.size()));
  const bool is_umad = text.substr(0, kPrefix.size()) == kPrefix;
  if (!is_umad || (!rest.empty() && rest.front() != ':')) {
    return InvalidArgument("\"{}\" is not umad[:DEVICE[:PORT]]", text);
  }
  if (rest.empty()) return choice;
  const size_t colon = rest.find(':', 1);
  choice.device = std::string(rest.substr(1, colon == rest.npos ? rest.npos : colon - 1));
  if (choice.device.empty()) return InvalidArgument("\"{}\" names no device", text);
  if (colon == rest.npos) return choice;
  const uint8_t port = ParseNumber<uint8_t>(rest.substr(colon + 1)).value_or(0);
  if (port == 0) {
    return InvalidArgument("\"{}\": the port is a number from 1 to 255", text);
  }
  choice.port = PortNum(port);
  return choice;
}

absl::StatusOr<UmadPort> FindPort(const UmadChoice& choice) {
  umad_init();
  // libibumad reads each P_Key of each port of a device, so other devices are read for an error
  // only.
  const bool any = choice.device.empty();
  const std::vector<FoundPort> candidates = any ? AllPorts() : PortsOf(choice.device.c_str());
  if (const FoundPort* const best = BestOf(candidates, choice.port)) return best->port;
  const std::vector<FoundPort> all = any ? candidates : AllPorts();
  if (all.empty()) return NotFound("{}", kNoDevice);
  std::string seen;
  for (const FoundPort& found : all) {
    fmt::format_to(std::back_inserter(seen), "{}{}:{}{}", seen.empty() ? "" : ", ",
                   found.port.local.device, found.port.local.port,
                   found.infiniband ? "" : " (not InfiniBand)");
  }
  if (any) return NotFound("no port with link layer InfiniBand among {}", seen);
  return NotFound("no InfiniBand port {}{} among {}", choice.device,
                  choice.port ? fmt::format(":{}", choice.port) : "", seen);
}

}  // namespace fabricd::mad
