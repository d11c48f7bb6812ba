// SPDX-License-Identifier: Apache-2.0
// Every reader of text in fabric/ on any bytes. A topology that can be read makes sense, and comes
// back the same from what is written of it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/check.h"
#include "fabric/hosts.h"
#include "fabric/ibnetdiscover_text.h"
#include "fabric/names.h"
#include "fabric/opensm_dumps.h"

namespace fabricd::fabric {
namespace {

void CheckLinks(const FabricSnapshot& snapshot) {
  snapshot.ForEachNode([&](const Node& node) {
    FABRICD_CHECK(snapshot.FindNode(node.guid()) == &node);
    for (size_t i = 0; i < node.ports.size(); ++i) {
      const PortRef peer = node.ports[i].peer;
      if (peer.IsNone()) continue;
      const PortRef self{node.index, PortNum(static_cast<uint8_t>(i))};
      FABRICD_CHECK(snapshot.port(peer) && snapshot.port(peer)->peer == self && peer != self);
      FABRICD_CHECK(node.ports[i].IsUp() && i > 0);
    }
  });
}

void CheckTopology(std::string_view text) {
  const ReadResult read = ReadTopology(text);
  FABRICD_CHECK(read.status.ok() == (read.snapshot != nullptr));
  if (!read.snapshot) return;
  CheckLinks(*read.snapshot);
  const std::string written = WriteIbnetdiscover(*read.snapshot, {});
  const ReadResult again = ReadTopology(written);
  FABRICD_CHECK(again.status.ok() && again.skipped.empty());
  FABRICD_CHECK(WriteIbnetdiscover(*again.snapshot, {}) == written);
  FABRICD_CHECK(ReadTopology(WriteIbsim(*read.snapshot).text).skipped.empty());
  FindHosts(*read.snapshot, HostPatterns());
  const NodeNames by_name(*read.snapshot);
  const NameTable names(*read.snapshot, by_name);
  read.snapshot->ForEachNode([&](const Node& node) {
    const auto address = names.Resolve(fmt::format("{}", node.guid()));
    FABRICD_CHECK(address.ok() && address->node == node.index);
    (void)names.Resolve(node.description);
  });
}

}  // namespace
}  // namespace fabricd::fabric

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fabricd::fabric;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckTopology(text);
  const NodeNameMap names = NodeNameMap::Parse(text);
  FABRICD_CHECK(names.size() + names.skipped.size() <= size);
  ReadUnicastTables(text);
  ReadMcfdbs(text);
  return 0;
}
