// SPDX-License-Identifier: Apache-2.0
#include "config/faults.h"

#include <algorithm>
#include <utility>

namespace fabricd::config {

void FaultList::Add(const std::string& path, int line, std::string message) {
  faults_.push_back(Fault{path, line, std::move(message)});
}

void FaultList::Add(const std::string& path, std::string message) {
  std::string around = path;
  while (!around.empty() && !lines_.contains(around)) {
    const size_t cut = around.find_last_of(".[");
    around.resize(cut == std::string::npos ? 0 : cut);
  }
  const auto found = lines_.find(around);
  Add(path, found == lines_.end() ? 0 : found->second, std::move(message));
}

bool FaultList::IsFaulty(const std::string& path) const {
  return std::any_of(faults_.begin(), faults_.end(), [&path](const Fault& fault) {
    return fault.path == path || fault.path.rfind(path + "[", 0) == 0;
  });
}

std::vector<Fault> FaultList::Take() {
  std::stable_sort(faults_.begin(), faults_.end(),
                   [](const Fault& a, const Fault& b) { return a.line < b.line; });
  return std::move(faults_);
}

}  // namespace fabricd::config
