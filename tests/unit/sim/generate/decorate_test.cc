// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/decorate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "fabric/ibnetdiscover_text.h"
#include "sim/device/link_rate.h"
#include "sim/generate/kinds.h"
#include "tests/unit/sim/generate/generated.h"

namespace fabricd::sim {
namespace {

using ::testing::HasSubstr;

// One small fabric of each kind, without the comma for more parameters.
const std::map<std::string, std::string>& Small() {
  static const auto& small = *new std::map<std::string, std::string>{
      {"fat-tree", "fat-tree:radix=4"},
      {"superpod", "superpod:sus=2,hosts=4,rails=2"},
      {"torus", "torus:dims=3x2x4,parallel=2"},
      {"dragonfly-plus", "dragonfly-plus:groups=3,global-links=2"},
      {"hypercube", "hypercube:dimensions=3,hosts=2"},
      {"directors", "directors:leaves=3,spines=2"},
      {"random", "random:switches=10,degree=3,hosts=2"}};
  return small;
}

class EachKind : public testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<const fabric::FabricSnapshot> With(const std::string& more) {
    return Made(Small().at(GetParam()) + more);
  }
};

std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const Kind& kind : Kinds()) names.push_back(kind.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Decorate, EachKind, testing::ValuesIn(KindNames()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(EachKind, LosesTheRequestedNumberOfCablesAndNoHost) {
  const auto whole = With(",seed=5");
  ASSERT_TRUE(whole);
  const auto cables = SwitchCablesOf(*whole, Numbers::kWith);
  for (size_t count : {size_t{1}, cables.size() / 2, cables.size()}) {
    const auto broken = With(fmt::format(",fail-links={},seed=5", count));
    ASSERT_TRUE(broken);
    EXPECT_EQ(Check(*broken).hosts, Check(*whole).hosts);  // And no HCA without a cable.
    const auto left = SwitchCablesOf(*broken, Numbers::kWith);
    EXPECT_EQ(left.size(), cables.size() - count);
    EXPECT_TRUE(std::includes(cables.begin(), cables.end(), left.begin(), left.end()));
    EXPECT_EQ(Check(*whole).links - Check(*broken).links, count);
  }
  EXPECT_THAT(Refusal(Small().at(GetParam()) + fmt::format(",fail-links={}", cables.size() + 1)),
              HasSubstr(fmt::format("from 0 to {}, the cables between switches", cables.size())));
  EXPECT_THAT(Refusal(Small().at(GetParam()) + ",fail-links=-1"), HasSubstr("fail-links -1"));
}

TEST_P(EachKind, KeepsItsGraphWhenPortsArePermuted) {
  // The random graph is drawn from the same seed, so both have it.
  const auto plain = With(",seed=9"), permuted = With(",permute-ports,seed=9");
  ASSERT_TRUE(plain && permuted);
  EXPECT_EQ(Check(*permuted), Check(*plain));
  EXPECT_EQ(CablesOf(*permuted, Numbers::kWithout), CablesOf(*plain, Numbers::kWithout));
  EXPECT_NE(CablesOf(*permuted, Numbers::kWith), CablesOf(*plain, Numbers::kWith));
  EXPECT_NE(CablesOf(*permuted, Numbers::kWith),
            CablesOf(*With(",permute-ports=true,seed=10"), Numbers::kWith));
  plain->ForEachNode([&](const fabric::Node& node) {
    const fabric::Node* other = permuted->FindNode(node.guid());
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(other->description, node.description);
    EXPECT_EQ(other->info, node.info);
    EXPECT_EQ(other->switch_info, node.switch_info);
    EXPECT_EQ(other->ports[0], node.ports[0]);
    for (size_t number = node.IsSwitch() ? 0 : 1; number < other->ports.size(); ++number) {
      EXPECT_EQ(other->ports[number].info.local_port.value(), number);
    }
  });
}

TEST_P(EachKind, LosesTheSameCablesIndependentOfOtherDraws) {
  const auto broken = With(",fail-links=4,seed=3"),
             all = With(",fail-links=4,seed=3,permute-ports,mixed-speeds=0.5,fill=0.5");
  ASSERT_TRUE(broken && all);
  EXPECT_EQ(SwitchCablesOf(*all, Numbers::kWithout), SwitchCablesOf(*broken, Numbers::kWithout));
}

TEST_P(EachKind, IsTheSameFabricEachTimeAndAnotherByAnotherSeed) {
  const std::string more = ",fail-links=3,permute-ports,mixed-speeds=0.3,fill=0.7,seed=";
  const auto text = [&](int seed) {
    const auto made = With(more + std::to_string(seed));
    return made ? fabric::WriteIbnetdiscover(*made, {}) : "";
  };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

TEST_P(EachKind, RoundTripsAsText) {
  for (const char* more : {"", ",fail-links=3,permute-ports,mixed-speeds=0.3,fill=0.7"}) {
    const auto made = With(more);
    ASSERT_TRUE(made);
    const fabric::ReadResult read =
        fabric::ReadTopology(fabric::WriteIbnetdiscover(*made, {.generated_on = "a test"}));
    ASSERT_TRUE(read.status.ok()) << read.status;
    EXPECT_TRUE(read.skipped.empty());
    EXPECT_EQ(TellOf(*read.snapshot), TellOf(*made));
    const fabric::ReadResult ibsim = fabric::ReadTopology(fabric::WriteIbsim(*made).text);
    ASSERT_TRUE(ibsim.status.ok()) << ibsim.status;
    EXPECT_EQ(CablesOf(*ibsim.snapshot, Numbers::kWith), CablesOf(*made, Numbers::kWith));
  }
}

TEST_P(EachKind, RunsSomeCablesOneGenerationSlower) {
  const auto made = With(",mixed-speeds=0.25,speed=HDR");
  ASSERT_TRUE(made);
  Check(*made);
  size_t slow = 0;
  made->ForEachNode([&](const fabric::Node& node) {
    for (const fabric::Port& port : node.ports) {
      if (port.peer.IsNone()) continue;
      const bool between_switches = node.IsSwitch() && made->node(port.peer.node)->IsSwitch();
      if (port.Speed() == wire::LinkSpeed::kHdr) continue;
      EXPECT_TRUE(between_switches);
      EXPECT_EQ(port.Speed(), wire::LinkSpeed::kEdr);
      EXPECT_EQ(wire::ActiveWidth(port.info), 4);
      ++slow;
      // The cable bounces and comes up as it was.
      wire::PortInfo a = port.info, b = made->port(port.peer)->info;
      NegotiateRate(a, b);
      EXPECT_EQ(a, port.info);
    }
  });
  const double cables = static_cast<double>(SwitchCablesOf(*made, Numbers::kWithout).size());
  EXPECT_EQ(slow, 2 * static_cast<size_t>(std::llround(0.25 * cables)));
}

TEST_P(EachKind, LeavesHostsOut) {
  const auto whole = With(""), part = With(",fill=0.5");
  ASSERT_TRUE(whole && part);
  EXPECT_EQ(Check(*part).hosts * 2, Check(*whole).hosts);
  EXPECT_TRUE(IsConnected(*part));
  EXPECT_EQ(SwitchCablesOf(*part, Numbers::kWith), SwitchCablesOf(*whole, Numbers::kWith));
  // Those that are left have their names, and the ports that they had.
  const auto before = CablesOf(*whole, Numbers::kWith), after = CablesOf(*part, Numbers::kWith);
  EXPECT_TRUE(std::includes(before.begin(), before.end(), after.begin(), after.end()));
}

TEST(Decorate, SpreadsHostsOverTheLeaves) {
  const auto made = Made("fat-tree:radix=8,fill=0.6");
  ASSERT_TRUE(made);
  EXPECT_EQ(Check(*made).hosts, 77u);  // Of 128, on 32 leaves: 2 or 3 on each.
  made->ForEachNode([&](const fabric::Node& node) {
    if (node.description.find("leaf") == std::string::npos) return;
    size_t hosts = 0;
    for (const fabric::Port& port : node.ports) {
      if (!port.peer.IsNone() && !made->node(port.peer.node)->IsSwitch()) ++hosts;
    }
    EXPECT_TRUE(hosts == 2 || hosts == 3) << node.description << " has " << hosts;
  });
}

TEST(Decorate, LeavesOutAHostWithAllOfItsAdapters) {
  const auto made = Made("superpod:sus=2,hosts=4,rails=3,fill=0.75");
  ASSERT_TRUE(made);
  EXPECT_EQ(Check(*made).hosts, 18u);
  std::map<Guid, int> adapters;
  made->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch()) ++adapters[node.info.system_image_guid];
  });
  EXPECT_EQ(adapters.size(), 6u);
  for (const auto& [system, count] : adapters) EXPECT_EQ(count, 3);
}

TEST_P(EachKind, ExchangesCablesOfHcas) {
  const auto plain = With(",seed=4"), swapped = With(",swap-cables=2,seed=4");
  ASSERT_TRUE(plain && swapped);
  EXPECT_EQ(Check(*swapped), Check(*plain));
  EXPECT_EQ(SwitchCablesOf(*swapped, Numbers::kWith), SwitchCablesOf(*plain, Numbers::kWith));
  size_t moved = 0;
  std::multiset<NodeIndex> leaves_before, leaves_after;
  plain->ForEachNode([&](const fabric::Node& node) {
    if (node.IsSwitch()) return;
    const NodeIndex before = node.ports[1].peer.node;
    const NodeIndex after = swapped->FindNode(node.guid())->ports[1].peer.node;
    moved += before != after;
    leaves_before.insert(before);
    leaves_after.insert(after);
  });
  EXPECT_EQ(moved, 4u);
  EXPECT_EQ(leaves_after, leaves_before);
  EXPECT_THAT(Refusal(Small().at(GetParam()) + ",swap-cables=-1"), HasSubstr("swap-cables -1"));
  EXPECT_THAT(Refusal(Small().at(GetParam()) + ",swap-cables=1000"), HasSubstr("from 0 to "));
}

TEST(Decorate, TakesHcasAwayOneByOne) {
  const auto made = Made("superpod:sus=2,hosts=4,rails=2,missing-hcas=0.25");
  ASSERT_TRUE(made);
  EXPECT_EQ(Check(*made).hosts, 12u);
  std::map<Guid, int> adapters;
  made->ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch()) ++adapters[node.info.system_image_guid];
  });
  EXPECT_GT(adapters.size(), 6u);  // Not whole hosts.
  EXPECT_THAT(Refusal("superpod:missing-hcas=1.5"), HasSubstr("missing-hcas 1.5: from 0 to 1"));
}

TEST(Decorate, ReturnsTheSameFabricWhenThereIsNothingToDo) {
  const auto made = Made("hypercube");
  ASSERT_TRUE(made);
  const auto same = Decorate(made, {.seed = 77});
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(*same, made);
}

TEST(Decorate, RefusesInvalidParametersByName) {
  EXPECT_THAT(Refusal("hypercube:fill=0"), HasSubstr("fill 0: above 0, at most 1"));
  EXPECT_THAT(Refusal("hypercube:fill=1.1"), HasSubstr("fill 1.1"));
  EXPECT_THAT(Refusal("hypercube:fill=nan"), HasSubstr("fill nan"));
  EXPECT_THAT(Refusal("hypercube:fill=0.001"), HasSubstr("leaves none of 16 hosts"));
  EXPECT_THAT(Refusal("hypercube:mixed-speeds=1.5"), HasSubstr("mixed-speeds 1.5: from 0 to 1"));
  EXPECT_THAT(Refusal("hypercube:mixed-speeds=nan"), HasSubstr("mixed-speeds nan"));
  EXPECT_THAT(Refusal("hypercube:mixed-speeds=1,speed=SDR"), HasSubstr("slower than SDR"));
}

}  // namespace
}  // namespace fabricd::sim
