// SPDX-License-Identifier: Apache-2.0
// Whole commands in this process: what they print and their exit codes.
#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "cli/shell/command_line.h"

namespace fabricd::cli::testing {

class CommandFixture : public ::testing::Test {
 protected:
  // What whoever runs the tests has set is not looked at. The daemon's log is no output of ours.
  CommandFixture() {
    spdlog::set_level(spdlog::level::off);
    for (const char* name : {"FABRICCTL_SERVER", "FABRICCTL_CONTEXT"}) unsetenv(name);
    setenv("FABRICCTL_CONFIG", "/nonexistent/config.yaml", 1);
  }
  // "fabricctl --server unix:SOCKET WORDS"; words with blanks are given in one piece.
  int RunAt(const std::string& socket, std::vector<std::string> words) {
    words.insert(words.begin(), {"fabricctl", "--server", "unix:" + socket});
    return RunBare(words);
  }
  int RunBare(const std::vector<std::string>& words) {
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int code = RunCommandLine(static_cast<int>(arguments.size()), arguments.data());
    out_ = ::testing::internal::GetCapturedStdout();
    error_ = ::testing::internal::GetCapturedStderr();
    return code;
  }

  std::string out_, error_;
};

}  // namespace fabricd::cli::testing
