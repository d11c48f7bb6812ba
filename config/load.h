// SPDX-License-Identifier: Apache-2.0
// From YAML text to a checked Config. Pure apart from LoadFile; any thread.
// Every fault is found in one pass: unknown and repeated keys, wrong types, values out of range,
// and settings that contradict each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <absl/status/statusor.h>

#include "config/config.h"

namespace fabricd::config {

struct Fault {
  std::string path;  // "sm.priority", "routing.chain[1]"; empty for the file as a whole.
  int line = 0;      // From 1; 0 when there is no line to point at.
  std::string message;
};

// One "FILE:LINE: PATH: MESSAGE" line per fault.
std::string FaultsText(const std::string& filename, const std::vector<Fault>& faults);

// `filename` is only for messages. INVALID_ARGUMENT when anything is wrong: its message has one
// "FILE:LINE: PATH: MESSAGE" line per fault, in file order, and `faults` (may be null) the same as
// data. `mode_option` is the value of --mode, empty without it. It replaces the mode of the text,
// unless that is no mode: a typing error in the file stays one.
absl::StatusOr<Config> LoadYaml(const std::string& text, const std::string& filename,
                                std::vector<Fault>* faults, std::string_view mode_option = "");

// The same for a file. NOT_FOUND or UNAVAILABLE when it cannot be read.
absl::StatusOr<Config> LoadFile(const std::string& path, std::vector<Fault>* faults,
                                std::string_view mode_option = "");

// fabricd.example.yaml: every key with its default, unit and meaning, as --print-default-config
// writes it.
const std::string& ExampleYaml();

}  // namespace fabricd::config
