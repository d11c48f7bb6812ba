// SPDX-License-Identifier: Apache-2.0
// OpenSM's dump of its Subnet Administration and its prefix routes, of any bytes: what is read can
// be taken over, and faults are bounded and name a line.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/check.h"
#include "sa/import/client_import.h"
#include "sa/state/sa_state.h"
#include "sa/view/prefix_routes.h"

namespace {

namespace sa = fabricd::sa;

void CheckFaults(const std::vector<sa::LineFault>& faults, std::string_view text, size_t most) {
  const auto lines = 1 + static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  FABRICD_CHECK(faults.size() <= most);
  for (const sa::LineFault& fault : faults)
    FABRICD_CHECK(fault.line >= 1 && fault.line <= lines && !fault.reason.empty());
}

void TakeOver(const sa::OpensmDump& dump, std::string_view text) {
  constexpr sa::WallMs kNow = 1'700'000'000'000;
  const sa::ClientImport made = sa::ImportClients(dump, kNow);
  CheckFaults(made.skipped, text, text.size());
  const auto state = sa::SaState::Make(made.rows, kNow);
  FABRICD_CHECK(state.ok(), "{}", state.status().ToString());
  const auto published = (*state)->TakeEffects(fabricd::Instant{}).publish;
  FABRICD_CHECK(published->groups->size() == made.groups);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const sa::OpensmDump dump = sa::ParseOpensmDump(text);
  CheckFaults(dump.faults, text, sa::kMostDumpFaults);
  if (dump.ok()) TakeOver(dump, text);

  const sa::ParsedPrefixRoutes routes = sa::ParsePrefixRoutes(text);
  FABRICD_CHECK(routes.routes.size() <= sa::ParsedPrefixRoutes::kMost);
  CheckFaults(routes.faults, text, sa::ParsedPrefixRoutes::kMost);
  return 0;
}
