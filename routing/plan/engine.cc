// SPDX-License-Identifier: Apache-2.0
#include "routing/plan/engine.h"

#include <algorithm>

#include "common/stable_hash.h"

namespace fabricd::routing {

uint64_t DigestOf(const RoutingOptions& options) {
  StableHash hash;
  hash.Add(options.chain.size());
  for (const std::string& engine : options.chain) hash.Add(engine);
  hash.Add(options.roots.size());
  for (const Guid root : options.roots) hash.Add(root.value());
  hash.Add(options.lanes_max);
  hash.Add(options.engine_budget);
  hash.Add(static_cast<uint64_t>(options.balance));
  hash.Add(options.host_patterns.host_text());
  hash.Add(options.host_patterns.rail_text());
  return std::max<uint64_t>(hash.value(), 2);
}

}  // namespace fabricd::routing
