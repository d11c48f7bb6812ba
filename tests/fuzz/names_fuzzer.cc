// SPDX-License-Identifier: Apache-2.0
// What operators and requests name things by, on any text: names, GUIDs and LIDs, ports behind
// them, name maps, host patterns, the simulator's names. The input's first lines are descriptions
// that devices sent, the next a name map's, the rest what was typed.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/render/fields.h"
#include "cli/verbs/commands.h"
#include "common/check.h"
#include "daemon/rpc/security/listen.h"
#include "fabric/hosts.h"
#include "fabric/names.h"
#include "fabric/snapshot_builder.h"
#include "fabric/v1/topology_service.pb.h"
#include "mad/umad_ports.h"
#include "query/port_text.h"
#include "sim/fabric/sim_fabric.h"
#include "tests/fuzz/bytes.h"

namespace fabricd {
namespace {

using fabric::FabricSnapshot;
using fabric::NameTable;

constexpr size_t kDescriptions = 3;

// A switch and two adapters of two ports, cabled by their first ones.
std::shared_ptr<const FabricSnapshot> MakeFabric(const std::vector<std::string>& descriptions) {
  fabric::SnapshotBuilder builder;
  std::vector<NodeIndex> nodes;
  for (size_t i = 0; i < kDescriptions; ++i) {
    wire::NodeInfo info;
    info.node_type = i == 0 ? wire::NodeType::kSwitch : wire::NodeType::kChannelAdapter;
    info.num_ports = 2;
    info.node_guid = Guid(0x0002c90000000000 + 16 * i);
    info.port_guid = Guid(info.node_guid.value() + (i == 0 ? 0 : 1));
    info.system_image_guid = Guid(0x100);
    info.local_port = PortNum(1);
    nodes.push_back(builder.PutNode(info));
    builder.SetDescription(nodes.back(), descriptions[i]);
    for (uint8_t number = i == 0 ? 0 : 1; number <= 2; ++number) {
      const PortRef port{nodes.back(), PortNum(number)};
      const bool has_lid = i > 0 || number == 0;
      wire::PortInfo port_info;
      port_info.lid = Lid(static_cast<uint16_t>(has_lid ? 4 * i + number + 1 : 0));
      port_info.port_state = wire::PortState::kInit;
      port_info.port_physical_state = wire::PortPhysicalState::kLinkUp;
      builder.SetPortInfo(port, port_info);
      if (has_lid) builder.SetPortGuid(port, Guid(info.node_guid.value() + number));
    }
  }
  builder.Link({nodes[0], PortNum(1)}, {nodes[1], PortNum(1)});
  builder.Link({nodes[0], PortNum(2)}, {nodes[2], PortNum(1)});
  return builder.Build();
}

// What is found by a text is found by its plainest name too.
void CheckResolve(const FabricSnapshot& snapshot, const NameTable& names, const std::string& text) {
  const auto address = names.Resolve(text);
  if (!address.ok()) return;
  const fabric::Node* node = snapshot.node(address->node);
  FABRICD_CHECK(node != nullptr);
  FABRICD_CHECK(!address->has_port || address->port.value() < node->ports.size());
  const std::string plain = address->has_port ? fmt::format("{}/{}", node->guid(), address->port)
                                              : fmt::format("{}", node->guid());
  const auto again = names.Resolve(plain);
  FABRICD_CHECK(again.ok() && again->node == address->node, "{}", plain);
  FABRICD_CHECK(again->has_port == address->has_port && again->port == address->port, "{}", plain);
}

void CheckGuid(const std::string& text) {
  const Guid guid = fabric::ParseGuid(text);
  if (guid) FABRICD_CHECK(fabric::ParseGuid(fmt::format("{}", guid)) == guid, "{}", text);
}

void CheckHosts(const FabricSnapshot& snapshot, const fabric::HostPatterns& patterns) {
  const fabric::HostTable hosts = fabric::FindHosts(snapshot, patterns);
  size_t ports = 0;
  for (size_t i = 0; i < hosts.hosts().size(); ++i) {
    const fabric::Host& host = hosts.hosts()[i];
    FABRICD_CHECK(hosts.Find(host.name) == &host);
    if (i > 0) FABRICD_CHECK(fabric::CompareNatural(hosts.hosts()[i - 1].name, host.name) < 0);
    for (const fabric::HostPort& port : host.ports) {
      FABRICD_CHECK(hosts.HostOf(port.port.node) == &host);
      ++ports;
    }
  }
  FABRICD_CHECK(ports <= 4);
}

// Expressions that an operator wrote. Their search may take a time that doubles with each byte, so
// it is tried on few; that Compile refuses without an exception is what counts.
void CheckPatterns(const std::string& host, const std::string& rail) {
  const auto patterns = fabric::HostPatterns::Compile(host, rail);
  if (!patterns.ok()) return;
  const auto reading = patterns->Read("n1 m2");
  FABRICD_CHECK(reading.rail >= -1);
}

void CheckPortText(const std::string& text) {
  const auto split = query::SplitPortText(text);
  if (split) {
    const auto again = query::SplitPortText(fmt::format("{}[{}]", split->node, split->port));
    FABRICD_CHECK(again && again->node == split->node && again->port == split->port, "{}", text);
  }
  const std::string utf8 = fabricd::Utf8(text);
  FABRICD_CHECK(utf8.size() == text.size() && fabricd::Utf8(utf8) == utf8);
  const auto path = rpc::UnixSocketPath(text);
  if (path.ok()) FABRICD_CHECK(!path->empty() && *rpc::UnixSocketPath("unix://" + *path) == *path);
}

// What fabricctl takes apart itself.
void CheckCommand(const std::string& text) {
  std::string error;
  const ::fabric::v1::GetSmResponse prototype;
  const auto condition = cli::FieldCondition::Parse(text, prototype, &error);
  FABRICD_CHECK(condition.has_value() == error.empty(), "{}", text);
  if (condition) (void)condition->Holds(prototype);
  if (cli::ParseResource(text)) {
    for (char c : text) FABRICD_CHECK(c >= 'a' && c <= 'z', "{}", text);
  }
}

void CheckSim(const FabricSnapshot& snapshot, const std::string& text) {
  const sim::SimFabric sim(snapshot);
  const auto node = sim.FindNode(text);
  if (node.ok()) FABRICD_CHECK(sim.device(*node) != nullptr);
  const auto port = sim.FindHostPort(text);
  if (!port.ok()) return;
  const sim::SimDevice* device = sim.device(port->node);
  FABRICD_CHECK(device != nullptr && device->HasPort(port->port));
  const auto again = sim.FindHostPort(fmt::format("{}/{}", device->guid(), port->port));
  FABRICD_CHECK(again.ok() && *again == *port, "{}", text);
}

void Check(test::FuzzBytes input) {
  std::vector<std::string> descriptions;
  for (size_t i = 0; i < kDescriptions; ++i) descriptions.push_back(input.Line());
  const auto snapshot = MakeFabric(descriptions);
  const std::string map_line = input.Line();
  const fabric::NodeNameMap map = fabric::NodeNameMap::Parse(map_line);
  const fabric::NodeNames by_name(*snapshot, &map);
  const NameTable names(*snapshot, by_name);
  snapshot->ForEachNode([&](const fabric::Node& node) {
    FABRICD_CHECK(!fabric::DisplayName(node, &map).empty());
    FABRICD_CHECK(!by_name.Find(fabric::DisplayName(node, &map)).empty() ||
                  fabric::DisplayName(node, &map) == fmt::format("{}", node.guid()));
    CheckResolve(*snapshot, names, fabric::PortName(node, PortNum(1), &map));
  });
  CheckHosts(*snapshot, fabric::HostPatterns());
  const std::string first = input.Line();
  const std::string second = input.Line();
  CheckPatterns(first, second);
  for (const std::string& text : {first, second, input.Rest()}) {
    CheckResolve(*snapshot, names, text);
    CheckGuid(text);
    CheckPortText(text);
    CheckCommand(text);
    const auto choice = mad::UmadChoice::Parse(text);
    if (!choice.ok()) FABRICD_CHECK(absl::IsInvalidArgument(choice.status()));
    CheckSim(*snapshot, text);
  }
  const int order = fabric::CompareNatural(first, second);
  FABRICD_CHECK(order == -fabric::CompareNatural(second, first));
  FABRICD_CHECK((order == 0) == (first == second));
}

}  // namespace
}  // namespace fabricd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fabricd::Check(fabricd::test::FuzzBytes(data, size));
  return 0;
}
