// SPDX-License-Identifier: Apache-2.0
// Reads a topology file and writes it, or dumps that go with it, in another format: what
// text_judged.py needs of fabric/.
//   fabric_text ibnetdiscover TOPOLOGY
//   fabric_text ibsim TOPOLOGY
//   fabric_text subnet-lst TOPOLOGY SM_NODE_GUID
//   fabric_text fdbs|lfts TOPOLOGY TABLES       TABLES: opensm.fdbs or opensm-lfts.dump
//   fabric_text mcfdbs TOPOLOGY TABLES          TABLES: opensm.mcfdbs
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "common/status.h"
#include "fabric/ibnetdiscover_text.h"
#include "fabric/names.h"
#include "fabric/opensm_dumps.h"

namespace fabricd::fabric {
namespace {

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "fabric_text: %s\n", why.c_str());
  std::exit(1);
}

std::string Load(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Fail(fmt::format("cannot read {}", path));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void Print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void FailOnSkipped(const std::vector<SkippedLine>& skipped) {
  if (skipped.empty()) return;
  Fail(fmt::format("line {}: {}: {}", skipped[0].line, skipped[0].reason, skipped[0].text));
}

// By the LIDs that the ports report.
LidTable LidsOf(const FabricSnapshot& snapshot) {
  LidTable lids;
  snapshot.ForEachNode([&](const Node& node) {
    for (size_t i = node.first_end_port().value(); i <= node.last_end_port().value(); ++i) {
      const wire::PortInfo& info = node.ports[i].info;
      if (info.lid)
        lids.Assign({node.index, PortNum(static_cast<uint8_t>(i))}, {info.lid, info.lmc});
    }
  });
  return lids;
}

void PrintUnicast(const FabricSnapshot& snapshot, const char* path, bool fdbs) {
  const UnicastTables read = ReadUnicastTables(Load(path));
  FailOnSkipped(read.skipped);
  std::vector<const UnicastTable*> by_node(snapshot.node_index_end());
  for (const UnicastTable& table : read.tables) {
    const NodeIndex node = snapshot.FindIndex(table.switch_guid);
    if (node.IsNone()) Fail(fmt::format("{} has a table but no node", table.switch_guid));
    by_node[node.value()] = &table;
  }
  const EgressPortOf egress = [&](NodeIndex node, Lid lid) -> uint8_t {
    const UnicastTable* table = by_node[node.value()];
    return table && lid.value() < table->egress.size() ? table->egress[lid.value()] : 255;
  };
  (fdbs ? WriteFdbs : WriteLftsDump)(snapshot, LidsOf(snapshot), egress, Print);
}

void PrintMulticast(const FabricSnapshot& snapshot, const char* path) {
  const MulticastTables read = ReadMcfdbs(Load(path));
  FailOnSkipped(read.skipped);
  const MulticastEntriesOf entries = [&](NodeIndex node) -> std::vector<MulticastEntry> {
    for (const MulticastTable& table : read.tables) {
      if (snapshot.FindIndex(table.switch_guid) == node) return table.entries;
    }
    return {};
  };
  WriteMcfdbs(snapshot, entries, Print);
}

int Main(int argc, char** argv) {
  if (argc < 3) Fail("usage: fabric_text FORMAT TOPOLOGY [TABLES|GUID]");
  const std::string format = argv[1];
  const ReadResult topology = ReadTopology(Load(argv[2]));
  if (!topology.status.ok()) Fail(Message(topology.status));
  const FabricSnapshot& snapshot = *topology.snapshot;
  if (format == "ibnetdiscover") {
    Print(WriteIbnetdiscover(snapshot, {}));
  } else if (format == "ibsim") {
    Print(WriteIbsim(snapshot).text);
  } else if (format == "subnet-lst" && argc == 4) {
    WriteSubnetLst(snapshot, LidsOf(snapshot), snapshot.FindIndex(ParseGuid(argv[3])), Print);
  } else if ((format == "fdbs" || format == "lfts") && argc == 4) {
    PrintUnicast(snapshot, argv[3], format == "fdbs");
  } else if (format == "mcfdbs" && argc == 4) {
    PrintMulticast(snapshot, argv[3]);
  } else {
    Fail("unknown format or too few arguments");
  }
  return 0;
}

}  // namespace
}  // namespace fabricd::fabric

int main(int argc, char** argv) { return fabricd::fabric::Main(argc, argv); }
