// SPDX-License-Identifier: Apache-2.0
// The real files of ../shared/topologies, with the counts that their INDEX.md gives.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "fabric/hosts.h"
#include "fabric/ibnetdiscover_text.h"

namespace fabricd::fabric {
namespace {

const std::filesystem::path kFolder = FABRICD_SOURCE_DIR "/../shared/topologies";

struct Counts {
  size_t switches = 0, adapters = 0, links = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};
std::ostream& operator<<(std::ostream& out, const Counts& c) {
  return out << c.switches << " switches, " << c.adapters << " adapters, " << c.links << " links";
}

struct File {
  const char* name;
  Counts counts;
  size_t remarks = 0;
};
void PrintTo(const File& file, std::ostream* out) { *out << file.name; }

Counts CountsOf(const FabricSnapshot& snapshot) {
  Counts counts;
  size_t ends = 0;
  snapshot.ForEachNode([&](const Node& node) {
    ++(node.IsSwitch() ? counts.switches : counts.adapters);
    for (const Port& port : node.ports) ends += !port.peer.IsNone();
  });
  counts.links = ends / 2;
  return counts;
}

std::string Load(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Node GUIDs to all that is known of a node, links by GUID: equal for equal fabrics in whatever
// order they were read.
std::map<Guid, std::string> Picture(const FabricSnapshot& snapshot) {
  std::map<Guid, std::string> picture;
  snapshot.ForEachNode([&](const Node& node) {
    std::string text = fmt::format("{} {} {} {}", node.description, node.info.num_ports,
                                   node.info.device_id, node.info.system_image_guid);
    for (const Port& port : node.ports) {
      const Node* peer = snapshot.node(port.peer.node);
      text += fmt::format("|{} {} {} {} {}", port.guid, port.info.lid, port.info.lmc,
                          wire::ActiveWidth(port.info), wire::SpeedName(port.Speed()));
      if (peer) text += fmt::format(" {}/{}", peer->guid(), port.peer.port);
    }
    picture[node.guid()] = text;
  });
  return picture;
}

class SharedTopologyTest : public testing::TestWithParam<File> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << kFolder << " is absent";
    text_ = Load(kFolder / GetParam().name);
    ASSERT_FALSE(text_.empty());
  }
  std::string text_;
};

TEST_P(SharedTopologyTest, HasTheNodesAndLinksOfTheIndex) {
  const ReadResult result = ReadTopology(text_);
  ASSERT_TRUE(result.status.ok()) << Message(result.status);
  EXPECT_EQ(CountsOf(*result.snapshot), GetParam().counts);
  EXPECT_EQ(result.skipped.size(), GetParam().remarks);
}

TEST_P(SharedTopologyTest, IsTheSameAfterWritingAndReading) {
  const ReadResult once = ReadTopology(text_);
  ASSERT_TRUE(once.status.ok());
  const std::string written = WriteIbnetdiscover(*once.snapshot, {});
  const ReadResult twice = ReadTopology(written);
  ASSERT_TRUE(twice.status.ok()) << Message(twice.status);
  EXPECT_THAT(twice.skipped, testing::IsEmpty());
  EXPECT_EQ(Picture(*twice.snapshot), Picture(*once.snapshot));
  EXPECT_EQ(WriteIbnetdiscover(*twice.snapshot, {}), written);
}

TEST_P(SharedTopologyTest, CutInTheMiddleNamesALine) {
  // In the middle of the last line that is longer than a few bytes.
  const size_t end = text_.find_last_not_of(" \t\r\n");
  const size_t begin = text_.rfind('\n', end);
  const ReadResult result =
      ReadTopology(std::string_view(text_).substr(0, begin + (end - begin) / 2));
  ASSERT_FALSE(result.status.ok());
  const size_t line = static_cast<size_t>(std::count(
                          text_.begin(), text_.begin() + static_cast<long>(begin) + 1, '\n')) +
                      1;
  EXPECT_THAT(Message(result.status), testing::HasSubstr(fmt::format("line {}:", line)));
}

INSTANTIATE_TEST_SUITE_P(
    Files, SharedTopologyTest,
    testing::Values(
        File{"nvidia-selene-storage.ibnetdiscover", {160, 1247, 3286}},
        File{"nvidia-topograph-example.ibnetdiscover", {40, 582, 1114}},
        File{"nvidia-topograph-example.ibnetdiscover.net", {40, 582, 1114}},
        File{"nvidia-topograph-example-bad.ibnetdiscover", {0, 1, 0}},
        File{"psmn-X5.ibnetdiscover", {11, 89, 159}},
        File{"avakas/subnet.ibnetdiscover-vp", {25, 281, 569}},
        File{"avakas/subnet.net", {25, 281, 569}},
        File{"ut-loginoff-topo.ibnetdiscover", {8, 144, 192}},
        File{"ufm-lab-small.ibnetdiscover", {2, 13, 16}},
        File{"ibtopotool-1.ibnetdiscover", {2, 4, 7}},
        File{"ibtopotool-2.ibnetdiscover", {1, 2, 2}},
        File{"ibtopotool-3.ibnetdiscover", {2, 6, 10}, 1},
        File{"ibtopotool-4.ibnetdiscover", {1, 1, 1}},
        // One switch is known only as the far end of a link; INDEX.md counts the other three.
        File{"osc-test.ibnetdiscover-p", {4, 3, 4}},
        File{"osc-test.ibnetdiscover-p.net", {4, 3, 4}},
        File{"ibutils-RhinoBased512.lst.net", {216, 512, 2752}},
        File{"trees/12-ary-2-tree.net", {24, 144, 288}},
        File{"trees/4-ary-2-tree.net", {8, 16, 32}},
        File{"trees/4-ary-2-tree-links-at-same-rank-1.net", {8, 16, 35}},
        File{"trees/4-ary-2-tree-missing-sw-link.net", {8, 14, 29}},
        File{"trees/4-ary-3-tree.net", {48, 64, 192}}, File{"trees/IS3-loop.net", {11, 36, 84}},
        File{"trees/RhinoReindeer1100.net", {116, 1100, 1904}},
        File{"trees/credit-loops.net", {20, 16, 48}},
        File{"trees/half-4-ary-3-tree.net", {24, 32, 96}},
        File{"trees/merge-root-4-ary-3-tree.net", {40, 64, 192}}));

TEST(SharedTopologiesTest, TheTopographExampleHasItsHosts) {
  if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << kFolder << " is absent";
  const ReadResult result = ReadTopology(Load(kFolder / "nvidia-topograph-example.ibnetdiscover"));
  ASSERT_TRUE(result.status.ok());
  const HostTable hosts = FindHosts(*result.snapshot, HostPatterns());
  size_t of_four = 0;
  for (const Host& host : hosts.hosts()) {
    if (host.ports.size() != 4) continue;
    ++of_four;
    EXPECT_GE(host.ports.front().rail, 0) << host.name;
    for (size_t i = 1; i < 4; ++i)
      EXPECT_LT(host.ports[i - 1].rail, host.ports[i].rail) << host.name;
  }
  EXPECT_EQ(of_four, 109u);
  ASSERT_TRUE(hosts.Find("a08-p1-dgx-04-c17"));
}

}  // namespace
}  // namespace fabricd::fabric
