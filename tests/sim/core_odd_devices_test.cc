// SPDX-License-Identifier: Apache-2.0
// Devices that depart from the specification as devices in the field do: the subnet comes up, and
// what one device does costs the others nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/generate.h"
#include "sim/run/checkers.h"
#include "sim/run/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using std::chrono::milliseconds;
using testing::IsEmpty;
using wire::AttributeId;

struct Case {
  const char* name;
  sim::Oddities oddities;
};
void PrintTo(const Case& which, std::ostream* out) { *out << which.name; }

class OddDevices : public testing::TestWithParam<Case> {
 protected:
  OddDevices() {
    for (const char* node : {"su1-rail0-leaf", "spine1", "node0002 mlx5_0"}) {
      simulation.fabric().SetOddities(simulation.fabric().FindNode(node).value(),
                                      GetParam().oddities);
    }
  }
  void ExpectHealthy() {
    EXPECT_THAT(sim::PortsNotActive(simulation.fabric()), IsEmpty());
    EXPECT_THAT(sim::LidFaults(simulation.fabric()), IsEmpty());
    EXPECT_THAT(sim::BrokenPairs(simulation.fabric()), IsEmpty());
  }
  std::shared_ptr<const fabric::FabricSnapshot> topology =
      *sim::Generate("superpod:sus=1,hosts=4,rails=2,radix=8");
  sim::Simulation simulation{*topology};
};

TEST_P(OddDevices, AreBroughtUpWithTheRest) {
  const size_t sm = simulation.Add({});
  simulation.Start(sm);
  ASSERT_TRUE(simulation.RunUntilUp(sm, std::chrono::minutes(5))) << LogOf(simulation.manager(sm));
  ExpectHealthy();
}

TEST_P(OddDevices, FollowALinkThatFails) {
  const size_t sm = simulation.Add({});
  simulation.Start(sm);
  ASSERT_TRUE(simulation.RunUntilUp(sm, std::chrono::minutes(5)));
  const PortRef cable{simulation.fabric().FindNode("spine1").value(), PortNum(1)};
  ASSERT_TRUE(simulation.fabric().Unlink(simulation.now(), cable).ok());
  simulation.RunFor(std::chrono::seconds(30));
  EXPECT_THAT(sim::BrokenPairs(simulation.fabric()), IsEmpty());
  ASSERT_TRUE(simulation.fabric().Link(simulation.now(), cable).ok());
  simulation.RunFor(std::chrono::seconds(30));
  ExpectHealthy();
}

INSTANTIATE_TEST_SUITE_P(
    All, OddDevices,
    testing::Values(Case{"Slow", {.answer_delay = milliseconds(150)}},
                    Case{"Stale", {.stale_reads = milliseconds(20)}},
                    Case{"VeryStale", {.stale_reads = std::chrono::seconds(3)}},
                    Case{"TooSlow", {.answer_delay = milliseconds(450)}},
                    Case{"BusyEveryOther", {.busy_every = 2}}, Case{"Busy", {.busy_every = 5}},
                    Case{"Ibsim", {.ignored = sim::IgnoredPortInfoFields::OfIbsim()}},
                    Case{"Older",
                         {.refused_gets = {{AttributeId::kSwitchPortStateTable,
                                            wire::kStatusUnsupportedMethodAttribute},
                                           {AttributeId::kPortInfoExtended,
                                            wire::kStatusUnsupportedMethodAttribute}}}}),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace fabricd::test
