// SPDX-License-Identifier: Apache-2.0
// Collects what an operator should know, bounded: past kMax only a count is kept.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sweep/interface/view.h"

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
  // What is found anew each time it is looked for.
  void Remove(std::string_view kind) {
    std::erase_if(problems_, [kind](const Problem& problem) { return problem.kind == kind; });
  }
  // What is looked at again. `guid` as subjects have it.
  void RemoveAbout(std::string_view guid) {
    std::erase_if(problems_, [guid](const Problem& problem) {
      return problem.subject.find(guid) != std::string::npos;
    });
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
