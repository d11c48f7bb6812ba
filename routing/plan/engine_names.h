// SPDX-License-Identifier: Apache-2.0
// What the routing engines are called, in configurations, plans and messages: the one list.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace fabricd::routing {

inline constexpr std::string_view kRailEngine = "rail", kFatTreeEngine = "fat_tree",
                                  kLayeredEngine = "layered", kUpDownEngine = "up_down",
                                  kMinHopEngine = "min_hop";
inline constexpr std::array<std::string_view, 5> kEngineNames = {
    kRailEngine, kFatTreeEngine, kLayeredEngine, kUpDownEngine, kMinHopEngine};

// The order in which they are tried unless another one is configured.
inline std::vector<std::string> DefaultChain() {
  std::vector<std::string> chain;
  for (const std::string_view name : {kRailEngine, kFatTreeEngine, kLayeredEngine, kUpDownEngine})
    chain.emplace_back(name);
  return chain;
}

}  // namespace fabricd::routing
