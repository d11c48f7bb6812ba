// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/check_command.h"

#include "cli/terminal/tar.h"
#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {
namespace {

Verdict JudgeText(const std::string& host, bool allow_degraded = false) {
  CheckOptions options;
  options.allow_degraded = allow_degraded;
  return Judge(FromText<pb::HostReadiness>(host), options);
}

TEST(CheckTest, WordsAndCodes) {
  const Verdict ready = JudgeText("host: 'n1' readiness: READINESS_READY");
  EXPECT_EQ(ready.word, Verdict::kWell);
  EXPECT_EQ(ready.line, "n1 READY");
  const std::string degraded =
      "host: 'n1' readiness: READINESS_DEGRADED reasons: 'mlx5_1: 1x' reasons: 'b' reasons: 'c'";
  EXPECT_EQ(JudgeText(degraded).word, Verdict::kIll);
  EXPECT_EQ(JudgeText(degraded).line, "n1 DEGRADED: mlx5_1: 1x (+2)");
  EXPECT_EQ(JudgeText(degraded, true).word, Verdict::kWell);
  EXPECT_EQ(JudgeText("host: 'n1' readiness: READINESS_HELD").word, Verdict::kIll);
  EXPECT_EQ(JudgeText("host: 'n1' readiness: READINESS_UNKNOWN").word, Verdict::kUnknown);
}

TEST(CheckTest, LinesFit) {
  pb::HostReadiness host;
  host.set_host("n1");
  host.set_readiness(pb::READINESS_HELD);
  std::string reason;
  for (int i = 0; i < 60; ++i) reason += "ä";
  for (const char* shift : {"", "x"}) {
    host.clear_reasons();
    host.add_reasons(shift + reason);
    const std::string line = Judge(host, {}).line;
    EXPECT_LE(line.size(), kCheckLine);
    EXPECT_GE(line.size(), kCheckLine - 1);
    // No half of a letter before the dots.
    const std::string head = line.substr(0, line.size() - 3);
    EXPECT_EQ(static_cast<unsigned char>(head.back()), 0xA4);
  }
}

// Values of POSIX.1 pax(1), "ustar Interchange Format".
TEST(TarTest, Header) {
  const std::string header = TarHeader("a/b", 513, 1);
  ASSERT_EQ(header.size(), 512u);
  EXPECT_STREQ(header.c_str(), "a/b");
  EXPECT_EQ(header.substr(124, 12), std::string("00000001001\0", 12));
  EXPECT_EQ(header.substr(257, 8), std::string("ustar\0"
                                               "00",
                                               8));
  unsigned sum = 0;
  for (size_t i = 0; i < header.size(); ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  EXPECT_EQ(std::stoul(header.substr(148, 6), nullptr, 8), sum);
}

}  // namespace
}  // namespace fabricd::cli::testing
