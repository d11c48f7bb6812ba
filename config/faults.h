// SPDX-License-Identifier: Apache-2.0
// Internal: faults on their way out, with the line that each key was found on. One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/load.h"

namespace fabricd::config {

class FaultList {
 public:
  void SetLine(const std::string& path, int line) { lines_[path] = line; }
  bool HasKey(const std::string& path) const { return lines_.contains(path); }
  void Add(const std::string& path, int line, std::string message);
  // On the line of the key, or of the nearest section around it that the file has.
  void Add(const std::string& path, std::string message);
  // Whether the key's value was already refused: judging its default again would only confuse.
  bool IsFaulty(const std::string& path) const;
  bool empty() const { return faults_.empty(); }
  // By line, then in the order found.
  std::vector<Fault> Take();

 private:
  std::map<std::string, int> lines_;
  std::vector<Fault> faults_;
};

}  // namespace fabricd::config
