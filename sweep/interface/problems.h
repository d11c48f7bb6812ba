// SPDX-License-Identifier: Apache-2.0
// ProblemList: collects problems for operators. Beyond kMax only their number is kept.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sweep/interface/problem.h"

namespace fabricd::sweep {

class ProblemList {
 public:
  static constexpr size_t kMax = 1000;
  void Add(ProblemKind kind, ProblemSubject subject, std::string message) {
    Add({kind, std::move(subject), std::move(message)});
  }
  // Keeps the first problem of each kind and subject.
  void Add(Problem problem) {
    for (const Problem& known : problems_)
      if (known.kind == problem.kind && known.subject == problem.subject) return;
    if (problems_.size() < kMax)
      problems_.push_back(std::move(problem));
    else
      ++dropped_;
  }
  // Call before all problems of this kind are searched for again.
  void Remove(ProblemKind kind) {
    std::erase_if(problems_, [kind](const Problem& problem) { return problem.kind == kind; });
  }
  // Call before the node and its ports are read again.
  void RemoveAbout(Guid node) {
    std::erase_if(problems_, [node](const Problem& problem) {
      return problem.subject.node && problem.subject.node == node;
    });
  }
  // If there are more than kMax, a last entry counts the rest.
  std::vector<Problem> List() const {
    std::vector<Problem> list = problems_;
    if (dropped_ > 0)
      list.push_back(
          {ProblemKind::kMoreProblems, ProblemSubject::Subnet(), fmt::format("{} more", dropped_)});
    return list;
  }
  bool empty() const { return problems_.empty(); }

 private:
  std::vector<Problem> problems_;
  size_t dropped_ = 0;
};

}  // namespace fabricd::sweep
