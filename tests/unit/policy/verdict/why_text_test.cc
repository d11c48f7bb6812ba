// SPDX-License-Identifier: Apache-2.0
#include "policy/verdict/why_text.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/unit/policy/verdict/made_links.h"

namespace fabricd::policy {
namespace {

using namespace testing;  // NOLINT: of the fixture.

const EndNames kNames{"node0012/mlx5_3", "leaf1/7"};

void ExpectOneScreen(const std::string& text) {
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 28);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
}

TEST(WhyTextTest, NamesCulpritRemedyAndRows) {
  LinkEvidence link = CleanLink();
  MakeNoisy(link.a);
  link.a.temperature = 72;
  link.b.signals[static_cast<size_t>(Signal::kEffectiveErrors)] = std::nullopt;
  Standing standing;
  standing.stage = Stage::kBad;
  standing.verdict = Verdict::kNoisyPhy;
  const Instant now(std::chrono::minutes(250));
  standing.since = now - std::chrono::minutes(125);
  const std::string text = WhyText(link, Evaluate(link, Limits()), standing, now, kNames);
  ExpectOneScreen(text);
  EXPECT_EQ(text, R"(NOISY_PHY  node0012/mlx5_3 - leaf1/7  confidence 0.97
because     one row is fatal
culprit     cable: errors only where the host receives
try         reseat, then swap the cable or module; then the receiver's end
stage       BAD for 2 h
link        400 Gb/s, low-latency FEC, copper, up for 3 d

  level   row  at                 signal                        value    limit  window times    age
  fatal   E6   node0012/mlx5_3    local physical errors            12       10   720 s     3   20 s
               by RcvErrorDetails, ratio 1.4e-09
  strong  E1   node0012/mlx5_3    symbol errors                    40       15   720 s     3   20 s
               by PPCNT 0x16, ratio 1.4e-13
  suspect E13  node0012/mlx5_3    module temperature             72 C     70 C   300 s     -   20 s
               by PDDR module page

in limits   node0012/mlx5_3: E2 E3 E5 E7 E8 E9 E11 E12 E14 E16
in limits   leaf1/7: E1 E3 E5 E6 E7 E8 E9 E10 E13 E14 E16
in limits   both ends: E4 E15
no data     leaf1/7: E2
)");
}

TEST(WhyTextTest, AHealthyLinkIsShort) {
  const LinkEvidence link = CleanLink();
  const std::string text = WhyText(link, Evaluate(link, Limits()), std::nullopt, Instant(), kNames);
  EXPECT_EQ(text, R"(HEALTHY  node0012/mlx5_3 - leaf1/7  confidence 1.00
because     no row is raised
link        400 Gb/s, low-latency FEC, copper, up for 3 d

in limits   node0012/mlx5_3: E1 E2 E3 E5 E6 E7 E8 E9 E11 E12 E13 E14 E16
in limits   leaf1/7: E1 E2 E3 E5 E6 E7 E8 E9 E10 E13 E14 E16
in limits   both ends: E4 E15
)");
}

TEST(WhyTextTest, AllRowsAtOnceStillFitOneScreen) {
  LinkEvidence link = CleanLink();
  for (EndEvidence* end : {&link.a, &link.b}) {
    for (size_t i = 0; i < kSignals; ++i) SetAll(*end, static_cast<Signal>(i), 4'000'000'000'000);
    end->wait.fill(WaitWindow{1, 0});
    end->device_verdict = DeviceVerdict::kAlarm;
    end->temperature = 120;
  }
  link.is_below_capability = true;
  Standing standing;
  standing.stage = Stage::kRecovering;
  standing.verdict = Verdict::kSlowReceiver;
  standing.needs_operator = true;
  standing.is_known = false;
  standing.clean_time = std::chrono::hours(24);
  ExpectOneScreen(
      WhyText(link, Evaluate(link, Limits()), standing, Instant(std::chrono::hours(90)), kNames));
}

}  // namespace
}  // namespace fabricd::policy
