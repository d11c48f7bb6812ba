// SPDX-License-Identifier: Apache-2.0
// SMPs queue at the CPU of each switch on their path, and VL15 has no flow control. At the first
// contact with a fabric nothing is known of these queues, and yet none of them overflows.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/device/firmware_profile.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

// The daemon's (config::Smp, ToCoreOptions(), StateOpener).
sweep::CoreOptions OptionsOfDaemon() {
  sweep::CoreOptions options;
  options.smp.first_contact = true;
  options.smp.window_initial = 16;
  options.smp.window_max = 32;
  options.smp.device_limit = 4;
  options.smp.subtree_limit = 32;
  options.smp.queue_delay = microseconds(500);
  return options;
}

struct Counts {
  uint64_t dropped = 0;
  uint32_t window = 0;
};

class FirstContact : public ::testing::TestWithParam<const char*> {
 protected:
  // A bring-up, and a cable between switches that flaps.
  Counts Run(const sweep::CoreOptions& options) {
    sim::Simulation simulation(**sim::Generate("superpod:sus=4,hosts=16,rails=4"));
    const sim::Quirks& quirks = sim::FindFirmwareProfile(GetParam())->quirks;
    for (uint32_t index = 0; index < simulation.fabric().node_index_end(); ++index)
      if (simulation.fabric().device(NodeIndex(index))->IsSwitch())
        simulation.fabric().SetQuirks(NodeIndex(index), quirks);
    const size_t sm = simulation.Add(options);
    simulation.Start(sm);
    EXPECT_TRUE(simulation.RunUntilUp(sm)) << LogOf(simulation.manager(sm));
    const PortRef link{*simulation.fabric().FindNode("spine1"), PortNum(1)};
    EXPECT_TRUE(simulation.fabric().Unlink(simulation.now(), link).ok());
    simulation.RunFor(seconds(5));
    EXPECT_TRUE(simulation.fabric().Link(simulation.now(), link).ok());
    simulation.RunFor(seconds(15));
    EXPECT_TRUE(simulation.manager(sm).view->subnet_up) << LogOf(simulation.manager(sm));
    return {simulation.fabric().stats().lost_vl15_queue,
            simulation.manager(sm).core->statistics().window};
  }
};

TEST_P(FirstContact, NoQueueOfASwitchOverflows) {
  const Counts counts = Run(OptionsOfDaemon());
  EXPECT_EQ(counts.dropped, 0u);
  EXPECT_GT(counts.window, 8u) << "nothing was learned";
}

INSTANTIATE_TEST_SUITE_P(Profiles, FirstContact,
                         ::testing::Values("quantum2", "switchib_edr", "old_qdr"),
                         [](const auto& test) { return std::string(test.param); });

using WithoutCaution = FirstContact;

TEST_P(WithoutCaution, AQueueOverflows) {
  sweep::CoreOptions options = OptionsOfDaemon();
  options.smp.first_contact = false;
  options.smp.window_initial = options.smp.window_max = 256;
  options.smp.subtree_limit = 256;
  options.smp.queue_delay = Duration::zero();
  EXPECT_GT(Run(options).dropped, 0u);
}

INSTANTIATE_TEST_SUITE_P(Profiles, WithoutCaution, ::testing::Values("switchib_edr", "old_qdr"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace fabricd::test
