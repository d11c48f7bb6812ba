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

constexpr int kMaxDevices = 32;
constexpr char kNoDevice[] =
    "no InfiniBand device found (/dev/infiniband/umad*): load ib_umad, check permissions, or use "
    "--fabric sim:...";

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
    entry.state = static_cast<wire::PortState>(port->state);
    entry.lid = Lid(static_cast<uint16_t>(port->base_lid));
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

bool IsUp(const FoundPort& found) { return found.state >= wire::PortState::kInit; }

bool Fits(const FoundPort& found, const UmadChoice& choice) {
  const LocalPort& local = found.port.local;
  return found.infiniband && (choice.device.empty() || choice.device == local.device) &&
         (!choice.port || choice.port == local.port);
}

absl::Status Ambiguous(const std::vector<const FoundPort*>& up) {
  std::string lines;
  for (const FoundPort* found : up) {
    const LocalPort& local = found->port.local;
    fmt::format_to(std::back_inserter(lines), "\n  --fabric umad:{}:{}  {}, LID {}, port GUID {}",
                   local.device, local.port, wire::PortStateName(found->state), found->lid,
                   local.port_guid);
  }
  return InvalidArgument(
      "{} InfiniBand ports are up, perhaps of different subnets; name the one to use, also as "
      "\"fabric\" in the configuration:{}",
      up.size(), lines);
}

absl::Status Missing(std::span<const FoundPort> found, const UmadChoice& choice) {
  if (found.empty()) return NotFound("{}", kNoDevice);
  std::string seen;
  for (const FoundPort& each : found) {
    fmt::format_to(std::back_inserter(seen), "{}{}:{}{}", seen.empty() ? "" : ", ",
                   each.port.local.device, each.port.local.port,
                   each.infiniband ? "" : " (not InfiniBand)");
  }
  if (choice.device.empty()) return NotFound("no port with link layer InfiniBand among {}", seen);
  return NotFound("no InfiniBand port {}{} among {}", choice.device,
                  choice.port ? fmt::format(":{}", choice.port) : "", seen);
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

absl::StatusOr<UmadPort> ChoosePort(std::span<const FoundPort> found, const UmadChoice& choice) {
  const FoundPort* first = nullptr;
  std::vector<const FoundPort*> up;
  for (const FoundPort& each : found) {
    if (!Fits(each, choice)) continue;
    if (first == nullptr) first = &each;
    if (IsUp(each)) up.push_back(&each);
  }
  if (first == nullptr) return Missing(found, choice);
  if (up.size() > 1) return Ambiguous(up);
  return up.empty() ? first->port : up.front()->port;
}

absl::StatusOr<UmadPort> FindPort(const UmadChoice& choice) {
  umad_init();
  // libibumad reads each P_Key of each port of a device, so other devices are read for an error
  // only.
  const bool any = choice.device.empty();
  const absl::StatusOr<UmadPort> chosen =
      ChoosePort(any ? AllPorts() : PortsOf(choice.device.c_str()), choice);
  if (any || chosen.status().code() != absl::StatusCode::kNotFound) return chosen;
  return ChoosePort(AllPorts(), choice);
}

}  // namespace fabricd::mad
