// SPDX-License-Identifier: Apache-2.0
// Compares text with tests/golden/cli/NAME.txt; UPDATE_GOLDEN=1 in the environment rewrites the
// file.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace fabricd::cli::testing {

inline void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(FABRICD_SOURCE_DIR) + "/tests/golden/cli/" + name + ".txt";
  if (const char* update = std::getenv("UPDATE_GOLDEN"); update && *update) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream in(path, std::ios::binary);
  ASSERT_TRUE(in) << path << " is missing; UPDATE_GOLDEN=1 writes it";
  std::ostringstream golden;
  golden << in.rdbuf();
  EXPECT_EQ(text, golden.str()) << "differs from " << path;
}

}  // namespace fabricd::cli::testing
