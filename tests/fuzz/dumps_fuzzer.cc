// SPDX-License-Identifier: Apache-2.0
// OpenSM's dumps of forwarding tables, both ways: any text is read or its lines are named, and any
// tables come back from what the writers make of them. The first byte selects.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/check.h"
#include "fabric/ibnetdiscover_text.h"
#include "fabric/opensm_dumps.h"
#include "tests/fuzz/bytes.h"

namespace fabricd::fabric {
namespace {

using test::FuzzBytes;

// Two switches with two cables between them and an adapter each.
constexpr char kFabric[] = R"(switchguid=0x10(10)
Switch 4 "S-0000000000000010" # "left" base port 0 lid 1 lmc 0
[1] "H-0000000000000020"[1](21) # "node1 mlx5_0" lid 3 4xHDR
[2] "S-0000000000000011"[2] # "right" lid 2 4xHDR
[3] "S-0000000000000011"[3] # "right" lid 2 4xHDR

switchguid=0x11(11)
Switch 4 "S-0000000000000011" # "right" base port 0 lid 2 lmc 0
[1] "H-0000000000000022"[1](23) # "node2 mlx5_0" lid 4 4xHDR
[2] "S-0000000000000010"[2] # "left" lid 1 4xHDR
[3] "S-0000000000000010"[3] # "left" lid 1 4xHDR

caguid=0x20
Ca 1 "H-0000000000000020" # "node1 mlx5_0"
[1](21) "S-0000000000000010"[1] # lid 3 lmc 0 "left" lid 1 4xHDR

caguid=0x22
Ca 1 "H-0000000000000022" # "node2 mlx5_0"
[1](23) "S-0000000000000011"[1] # lid 4 lmc 0 "right" lid 2 4xHDR
)";

// With the descriptions that the input wants, as far as the topology's text can say them.
std::shared_ptr<const FabricSnapshot> SmallFabric(FuzzBytes& input) {
  static const ReadResult plain = ReadTopology(kFabric);
  FABRICD_CHECK(plain.snapshot && plain.snapshot->node_count() == 4 && plain.skipped.empty());
  const auto wanted = input.Take(input.Byte() % 40);
  if (wanted.empty()) return plain.snapshot;
  std::string text = kFabric;
  for (const char* name : {"left", "node2"}) {
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += wanted.size()) {
      text.replace(at, std::strlen(name), std::string(wanted.begin(), wanted.end()));
    }
  }
  const ReadResult read = ReadTopology(text);
  return read.snapshot && read.snapshot->node_count() == 4 ? read.snapshot : plain.snapshot;
}

void CheckSkipped(const std::vector<SkippedLine>& skipped, std::string_view text) {
  size_t last = 0;
  for (const SkippedLine& line : skipped) {
    FABRICD_CHECK(line.line > last && line.line <= text.size() + 1 && !line.reason.empty());
    FABRICD_CHECK(line.text.size() <= 200);
    last = line.line;
  }
}

void ReadUnicast(FuzzBytes& input) {
  const std::string text = input.Rest();
  const UnicastTables read = ReadUnicastTables(text);
  CheckSkipped(read.skipped, text);
  for (const UnicastTable& table : read.tables) {
    FABRICD_CHECK(table.switch_guid && table.egress.size() <= size_t{kMaxUnicastLid.value()} + 1);
  }
}

void ReadMulticast(FuzzBytes& input) {
  const std::string text = input.Rest();
  const MulticastTables read = ReadMcfdbs(text);
  CheckSkipped(read.skipped, text);
  for (const MulticastTable& table : read.tables) FABRICD_CHECK(table.switch_guid);
}

// LIDs of the four end ports as the input wants them, each its own.
LidTable SomeLids(const FabricSnapshot& snapshot, FuzzBytes& input) {
  LidTable lids;
  uint16_t next = 1;
  snapshot.ForEachNode([&](const Node& node) {
    next = static_cast<uint16_t>(next + input.Byte() % 32);
    lids.Assign({node.index, PortNum(node.IsSwitch() ? 0 : 1)}, {Lid(next), 0});
    ++next;
  });
  return lids;
}

enum class Form { kFdbs, kLfts };
template <Form kForm>
void WriteUnicast(FuzzBytes& input) {
  const auto snapshot = SmallFabric(input);
  const LidTable lids = SomeLids(*snapshot, input);
  std::vector<std::vector<uint8_t>> tables(snapshot->node_index_end());
  for (auto& table : tables) {
    for (int lid = 0; lid <= lids.top().value(); ++lid) {
      const uint8_t port = input.Byte();
      table.push_back(port <= 4 ? port : 255);
    }
  }
  const EgressPortOf egress = [&](NodeIndex node, Lid lid) {
    return tables[node.value()][lid.value()];
  };
  std::string text;
  if (kForm == Form::kFdbs) {
    WriteFdbs(*snapshot, lids, egress, AppendTo(text));
  } else {
    WriteLftsDump(*snapshot, lids, egress, AppendTo(text));
  }
  const UnicastTables read = ReadUnicastTables(text);
  FABRICD_CHECK(read.skipped.empty() && read.tables.size() == 2, "{}", text);
  for (const UnicastTable& table : read.tables) {
    const Node* node = snapshot->FindNode(table.switch_guid);
    FABRICD_CHECK(node != nullptr);
    for (int lid = 1; lid <= lids.top().value(); ++lid) {
      const bool owned = !lids.Owner(Lid(static_cast<uint16_t>(lid))).IsNone();
      const uint8_t wanted = owned ? egress(node->index, Lid(static_cast<uint16_t>(lid))) : 255;
      const size_t at = static_cast<size_t>(lid);
      const uint8_t got = at < table.egress.size() ? table.egress[at] : 255;
      FABRICD_CHECK(got == wanted, "LID {}: {} for {} in\n{}", lid, got, wanted, text);
    }
  }
}

void WriteMulticast(FuzzBytes& input) {
  const auto snapshot = SmallFabric(input);
  std::vector<std::vector<MulticastEntry>> tables(snapshot->node_index_end());
  for (auto& table : tables) {
    uint16_t mlid = 0xC000;
    for (int left = input.Byte() % 8; left > 0; --left) {
      mlid = static_cast<uint16_t>(mlid + 1 + input.Byte() % 32);
      MulticastEntry entry{Lid(mlid), {}};
      const uint8_t mask = input.Byte();
      for (uint8_t port = 0; port <= 4; ++port) {
        if (mask >> port & 1) entry.ports.push_back(PortNum(port));
      }
      if (!entry.ports.empty()) table.push_back(std::move(entry));
    }
  }
  std::string text;
  WriteMcfdbs(
      *snapshot, [&](NodeIndex node) { return tables[node.value()]; }, AppendTo(text));
  const MulticastTables read = ReadMcfdbs(text);
  FABRICD_CHECK(read.skipped.empty(), "{}", text);
  size_t wanted = 0;
  snapshot->ForEachNode([&](const Node& node) {
    if (node.IsSwitch() && !tables[node.index.value()].empty()) ++wanted;
  });
  FABRICD_CHECK(read.tables.size() == wanted, "{}", text);
  for (const MulticastTable& table : read.tables) {
    const Node* node = snapshot->FindNode(table.switch_guid);
    FABRICD_CHECK(node != nullptr && table.entries == tables[node->index.value()], "{}", text);
  }
}

// Add at the end only, or the corpus loses its meaning.
constexpr void (*kWays[])(FuzzBytes&) = {
    ReadUnicast,    ReadMulticast, WriteUnicast<Form::kFdbs>, WriteUnicast<Form::kLfts>,
    WriteMulticast,
};

}  // namespace
}  // namespace fabricd::fabric

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fabricd::fabric::kWays;
  if (size == 0 || data[0] >= std::size(kWays)) return 0;
  fabricd::test::FuzzBytes input(data + 1, size - 1);
  kWays[data[0]](input);
  return 0;
}
