// SPDX-License-Identifier: Apache-2.0
// Collects what an operator should know, bounded: past kMax only a count is kept.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sweep/view.h"

namespace fabricd::sweep {

class ProblemList {
 public:
  static constexpr size_t kMax = 1000;
  void Add(std::string kind, std::string subject, std::string message) {
    for (const Problem& known : problems_)
      if (known.kind == kind && known.subject == subject) return;
    if (problems_.size() < kMax)
      problems_.push_back({std::move(kind), std::move(subject), std::move(message)});
    else
      ++dropped_;
  }
  // With a last entry that counts those beyond the bound.
  std::vector<Problem> List() const {
    std::vector<Problem> list = problems_;
    if (dropped_ > 0) list.push_back({"MoreProblems", "subnet", fmt::format("{} more", dropped_)});
    return list;
  }
  bool empty() const { return problems_.empty(); }

 private:
  std::vector<Problem> problems_;
  size_t dropped_ = 0;
};

}  // namespace fabricd::sweep
