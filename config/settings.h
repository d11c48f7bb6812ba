// SPDX-License-Identifier: Apache-2.0
// A Config as text: its keys one by one, and as YAML. Pure; any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/config.h"

namespace fabricd::config {

// What stands for a secret (sm.m_key, sm.sm_key) that is not the default.
inline constexpr char kMasked[] = "***";
enum class Secrets { kMask, kShow };

// One key as an operator would write it.
struct Setting {
  std::string path;  // "sm.priority"
  std::string value;
  ReloadClass reload = ReloadClass::kRestart;
};

// Every key, in the order of the schema.
std::vector<Setting> Settings(const Config& config, Secrets secrets = Secrets::kMask);

// YAML that LoadYaml() reads to the same Config, unless it has secrets that are masked. `wanted`
// chooses keys by their paths; `comment` may give one a comment that stands above it.
using WantedKey = std::function<bool(const std::string& path)>;
using KeyComment = std::function<std::string(const std::string& path)>;
std::string ToYaml(const Config& config, Secrets secrets, const WantedKey& wanted = nullptr,
                   const KeyComment& comment = nullptr);

// `wanted` with the values that `running` has of all keys that wait for a restart: what a reload
// can put in force.
Config WithoutRestarts(Config wanted, const Config& running);

// "10s", "200ms", "30d" comes back as "2592000s".
std::string DurationText(Duration value);

// "live", "resweep", "restart".
const char* ReloadClassName(ReloadClass reload);

}  // namespace fabricd::config
