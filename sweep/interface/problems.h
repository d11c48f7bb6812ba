// SPDX-License-Identifier: Apache-2.0
// Collects what an operator should know, bounded: past kMax only a count is kept.
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
  // One of a kind and subject is kept: the first.
  void Add(Problem problem) {
    for (const Problem& known : problems_)
      if (known.kind == problem.kind && known.subject == problem.subject) return;
    if (problems_.size() < kMax)
      problems_.push_back(std::move(problem));
    else
      ++dropped_;
  }
  // What is found again each time it is looked for.
  void Remove(ProblemKind kind) {
    std::erase_if(problems_, [kind](const Problem& problem) { return problem.kind == kind; });
  }
  // Of the node and its ports, which are looked at again.
  void RemoveAbout(Guid node) {
    std::erase_if(problems_, [node](const Problem& problem) {
      return problem.subject.node && problem.subject.node == node;
    });
  }
  // With a last entry that counts those beyond the bound.
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
