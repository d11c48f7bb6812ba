// SPDX-License-Identifier: Apache-2.0
// fabricd.yaml of any bytes: accepted, or refused with at least one fault in line order.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "common/check.h"
#include "config/exclusion.h"
#include "config/host_port.h"
#include "config/load.h"
#include "config/principal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fabricd::config::Fault;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<Fault> faults;
  const auto config = fabricd::config::LoadYaml(text, "fuzz.yaml", &faults);
  FABRICD_CHECK(config.ok() == faults.empty());
  FABRICD_CHECK(std::is_sorted(faults.begin(), faults.end(),
                               [](const Fault& a, const Fault& b) { return a.line < b.line; }));
  const int lines = 1 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  for (const Fault& fault : faults) FABRICD_CHECK(fault.line <= lines + 1, "{}", fault.line);
  if (const auto exclusion = fabricd::config::ParseExclusion(text)) FABRICD_CHECK(exclusion->node);
  if (const auto principal = fabricd::config::ParsePrincipal(text))
    FABRICD_CHECK(fabricd::config::ParsePrincipal(fabricd::config::ToText(*principal)) ==
                  principal);
  if (const auto address = fabricd::config::ParseHostPort(text)) {
    const auto again =
        fabricd::config::ParseHostPort(fmt::format("[{}]:{}", address->host, address->port));
    FABRICD_CHECK(again && again->host == address->host && again->port == address->port);
  }
  if (config.ok()) {
    FABRICD_CHECK(!config->listen.empty() && !config->routing.chain.empty());
    FABRICD_CHECK(config->smp.window_initial <= config->smp.window);
    FABRICD_CHECK(fabricd::config::Diff(*config, *config).empty());
  }
  return 0;
}
