// SPDX-License-Identifier: Apache-2.0
// The text of a fault specification, and what seeds draw from it.
#include "sim/faults/fault_spec.h"

#include <gmock/gmock.h>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "common/status.h"

namespace fabricd::sim {
namespace {

FaultRange RangeOf(const FaultSpec& spec, const std::string& name) {
  for (size_t i = 0; i < spec.size(); ++i)
    if (FaultClasses()[i].name == name) return spec[i];
  ADD_FAILURE() << name;
  return {};
}

FaultSpec Read(const std::string& text) {
  auto spec = ReadFaults(text);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.ok() ? *spec : FaultSpec(FaultClasses().size());
}

TEST(FaultSpecTest, WrittenFaultsAreReadBackUnchanged) {
  EXPECT_EQ(Read(WriteFaults(StandardFaults())), StandardFaults());
  Rng rng(1);
  for (int round = 0; round < 100; ++round) {
    FaultSpec spec;
    for (const FaultClass& each : FaultClasses()) {
      const auto part = [&] { return each.most * static_cast<double>(rng.Below(9973)) / 9973; };
      const double a = part(), b = part();
      spec.push_back({std::min(a, b), std::max(a, b), part()});
    }
    EXPECT_EQ(Read(WriteFaults(spec)), spec) << WriteFaults(spec);
  }
}

TEST(FaultSpecTest, MissingNumbersFollowFromThoseThatAreThere) {
  const FaultSpec spec = Read("flaps 3 # pulled\nloss\t0.1  0.2\r\n\n# none\nkills 1 2 5");
  EXPECT_EQ(RangeOf(spec, "flaps"), (FaultRange{3, 3, 3}));
  EXPECT_EQ(RangeOf(spec, "loss"), (FaultRange{0.1, 0.2, 0.2}));
  EXPECT_EQ(RangeOf(spec, "kills"), (FaultRange{1, 2, 5}));
}

TEST(FaultSpecTest, AClassThatIsNotNamedHasItsStandardRange) {
  FaultSpec spec = Read("flaps 3");
  for (size_t i = 0; i < spec.size(); ++i) {
    if (std::string(FaultClasses()[i].name) != "flaps") {
      EXPECT_EQ(spec[i], StandardFaults()[i]) << FaultClasses()[i].name;
    }
  }
}

TEST(FaultSpecTest, OthersCanBeLow) {
  FaultSpec spec = Read("flaps 3\nothers low\nloss 0 0.5 1");
  EXPECT_EQ(RangeOf(spec, "flaps"), (FaultRange{3, 3, 3}));
  EXPECT_EQ(RangeOf(spec, "loss"), (FaultRange{0, 0.5, 1}));
  EXPECT_EQ(RangeOf(spec, "kills"), (FaultRange{0, 0, 0}));
  EXPECT_EQ(RangeOf(spec, "managers"), (FaultRange{1, 1, 1}));
}

struct Bad {
  const char* text;
  const char* error;
};

class BadFaults : public testing::TestWithParam<Bad> {};

TEST_P(BadFaults, AreRefusedWithTheirLine) {
  const auto spec = ReadFaults(GetParam().text);
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(spec.status()), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadFaults,
    testing::Values(Bad{"loss 0.1\nlos 0.1\n", "line 2: no fault class 'los'"},
                    Bad{"flaps 1\n\nflaps 2\n", "line 3: flaps is given twice"},
                    Bad{"# first\nflaps\n", "line 2: flaps takes LOW [HIGH [EXTREME]]"},
                    Bad{"flaps 1 2 3 4", "line 1: flaps takes LOW [HIGH [EXTREME]]"},
                    Bad{"loss 1.5", "line 1: loss 1.5: a number from 0 to 1 is wanted"},
                    Bad{"loss 0 -0.5", "line 1: loss -0.5: a number from 0 to 1 is wanted"},
                    Bad{"loss nan", "line 1: loss nan: a number from 0 to 1 is wanted"},
                    Bad{"loss 0 0 1x", "line 1: loss 1x: a number from 0 to 1 is wanted"},
                    Bad{"others none", "line 1: others takes 'low'"},
                    Bad{"flaps 4 3", "line 1: flaps: 3 is below 4"},
                    Bad{"x 1\nloss 0.1\nkills 2 1",
                        "line 1: no fault class 'x'; line 3: kills: 1 is below 2"}));

TEST(FaultSpecTest, SeedsDrawLowExtremeAndIntermediateValues) {
  const FaultSpec spec = Read("flaps 2 4 100\nreboots 7");
  Rng rng(1);
  int low = 0, extreme = 0;
  for (int seed = 0; seed < 4000; ++seed) {
    const Faults drawn = DrawFaults(spec, rng);
    EXPECT_EQ(drawn.reboots, 7);
    low += drawn.flaps == 2 ? 1 : 0;
    extreme += drawn.flaps == 100 ? 1 : 0;
    EXPECT_TRUE(drawn.flaps == 100 || (drawn.flaps >= 2 && drawn.flaps <= 4)) << drawn.flaps;
  }
  // One in four and one in eight, within six standard deviations.
  EXPECT_NEAR(low, 1000, 6 * 28);
  EXPECT_NEAR(extreme, 500, 6 * 21);
}

TEST(FaultSpecTest, AChangedRangeKeepsTheDrawsOfOthers) {
  Rng a(5), b(5);
  Faults with = DrawFaults(StandardFaults(), a);
  const Faults without = DrawFaults(Read("loss 0.5"), b);
  EXPECT_NE(with.loss, without.loss);
  with.loss = without.loss;
  for (const FaultClass& each : FaultClasses())
    EXPECT_EQ(with.*each.value, without.*each.value) << each.name;
}

TEST(FaultSpecTest, DescribeNamesFaultsAboveZero) {
  Faults faults{};
  EXPECT_EQ(Describe(faults), "");
  faults.loss = 0.05;
  faults.flaps = 3;
  EXPECT_EQ(Describe(faults), "loss 0.05, flaps 3");
}

// A fault class that is added later must not affect runs that do not name it.
TEST(FaultFiles, NameEveryClass) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(FABRICD_SOURCE_DIR) + "/tests/sim/faults")) {
    ++files;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_TRUE(ReadFaults(text.str()).ok()) << entry.path();
    if (text.str().find("\nothers low\n") != std::string::npos) continue;
    for (const FaultClass& each : FaultClasses())
      EXPECT_NE(text.str().find(fmt::format("\n{} ", each.name)), std::string::npos)
          << entry.path() << " " << each.name;
  }
  EXPECT_GE(files, 3);
}

}  // namespace
}  // namespace fabricd::sim
