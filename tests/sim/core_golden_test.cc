// SPDX-License-Identifier: Apache-2.0
// Runs each script of tests/golden/core: a command, "----", what the core does, and an empty line.
// UPDATE_GOLDEN=1 in the environment writes what it does into the scripts.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sim/core_script.h"

namespace fabricd::test {
namespace {

const std::filesystem::path kScripts =
    std::filesystem::path(FABRICD_SOURCE_DIR) / "tests/golden/core";

std::vector<std::string> Scripts() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kScripts))
    if (entry.path().extension() == ".txt") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

// The script with what each command leads to now. Comments and commands stay.
std::string RunScript(const std::string& text) {
  CoreScript script;
  std::string result, line;
  std::istringstream in(text);
  while (std::getline(in, line)) {
    result += line + '\n';
    if (line.empty() || line.starts_with('#')) continue;
    std::string expected;
    while (std::getline(in, expected) && !expected.empty()) {
    }
    result += "----\n" + script.Run(line) + '\n';
  }
  return result;
}

class CoreGolden : public testing::TestWithParam<std::string> {};

TEST_P(CoreGolden, CommandsLeadToTheEffectsInTheScript) {
  const std::filesystem::path path = kScripts / (GetParam() + ".txt");
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  const std::string result = RunScript(text.str());
  if (const char* update = std::getenv("UPDATE_GOLDEN"); update && *update)
    std::ofstream(path, std::ios::binary) << result;
  else
    EXPECT_EQ(result, text.str()) << "differs from " << path;
}

INSTANTIATE_TEST_SUITE_P(, CoreGolden, testing::ValuesIn(Scripts()),
                         [](const auto& script) { return script.param; });

TEST(CoreScript, FaultsOfCommandsAreSaid) {
  CoreScript script;
  EXPECT_EQ(script.Run("dance"), "unknown command: dance\n");
  EXPECT_EQ(script.Run("start"), "no fabric\n");
  script.Run("fabric fat-tree:radix=4,levels=2");
  EXPECT_THAT(script.Run("cut nowhere/3"), testing::HasSubstr("nowhere"));
  EXPECT_THAT(script.Run("run soon"), testing::HasSubstr("run TIME"));
}

}  // namespace
}  // namespace fabricd::test
