// SPDX-License-Identifier: Apache-2.0
// Surveys: the surveys in progress. A few run at a time, so that an unresponsive device delays only
// one of them. The next survey may find the lost link that the first one waits for.
//
// Bound: kMost. Further reports wait in Suspects.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sweep/observe/survey.h"

namespace fabricd::sweep {

class Surveys {
 public:
  static constexpr size_t kMost = 8;

  // All that `ground` names must outlive this.
  explicit Surveys(Ground ground)
      : ground_(ground), explorer_(std::make_unique<Explorer>(ground_)) {}

  bool empty() const;  // Includes the explorer.
  bool full() const;
  // A survey is reading the node, or will.
  bool AreAt(NodeIndex node) const;
  // REQUIRES: !full(). `local` is the SM's port, the same for all surveys under way.
  void Start(SurveyTask task, PortRef local, Instant now);
  // Drops all surveys. The caller must have cancelled their requests.
  void Clear();

  void OnCompletion(const mad::Completion& completion, Instant now);
  void OnExplorerCompletion(const mad::Completion& completion, Instant now);
  // Call after each batch of completions, and at NextDeadline().
  void Advance(Instant now);
  // Does not include surveys with changes: take those first.
  Instant NextDeadline() const;

  bool HasChanges() const;  // As of the last Advance().
  struct Changes {
    SurveyChanges found;
    std::string cause;  // Of the earliest report.
    Instant since = kNever;
  };
  // The findings of all surveys since the last call, merged; lists of nodes are sorted.
  Changes TakeChanges();
  // Returns surveys that are done and have no changes left to take.
  std::vector<std::unique_ptr<Survey>> TakeDone();
  const Ground& ground() const { return ground_; }
  Explorer& explorer() { return *explorer_; }
  const Explorer& explorer() const { return *explorer_; }

 private:
  struct Place {
    std::unique_ptr<Survey> survey;  // Null: the place is free.
    bool has_changes = false;
  };

  const Ground ground_;

  std::array<Place, kMost> places_;     // The index of a place is the run number of its survey.
  std::unique_ptr<Explorer> explorer_;  // Never null.
  PortRef local_;
};

}  // namespace fabricd::sweep
