// SPDX-License-Identifier: Apache-2.0
// Surveys: the looks at changed switches that are under way. There are a few at a time, so that one
// that waits for a device which does not answer holds up no other: what the next one finds lost may
// be just what the first one waits for.
//
// Bound: kMost. While so many are under way what is reported waits in Suspects.
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

  bool empty() const;  // Nobody explores either.
  bool full() const;
  // One of them is reading it, or about to.
  bool AreAt(NodeIndex node) const;
  // REQUIRES: not full. `local` is the SM's port, the same for all that are under way.
  void Start(SurveyTask task, PortRef local, Instant now);
  // All end here; what they asked must have been cancelled.
  void Clear();

  void OnCompletion(const mad::Completion& completion, Instant now);
  void OnExplorerCompletion(const mad::Completion& completion, Instant now);
  // Call after each batch of completions, and at NextDeadline().
  void Advance(Instant now);
  // Of those that have no changes: to take these is the next thing to be done.
  Instant NextDeadline() const;

  bool HasChanges() const;  // As of the last Advance().
  struct Changes {
    SurveyChanges found;
    std::string cause;  // Of the first report that led to it.
    Instant since = kNever;
  };
  // What all of them found since the last call, together; lists of nodes sorted.
  Changes TakeChanges();
  // Those that are done and whose changes were taken.
  std::vector<std::unique_ptr<Survey>> TakeDone();
  const Ground& ground() const { return ground_; }
  Explorer& explorer() { return *explorer_; }
  const Explorer& explorer() const { return *explorer_; }

 private:
  struct Place {
    std::unique_ptr<Survey> survey;  // Null: free.
    bool has_changes = false;
  };

  const Ground ground_;

  std::array<Place, kMost> places_;     // The number of a place is the run of its survey.
  std::unique_ptr<Explorer> explorer_;  // Never null.
  PortRef local_;
};

}  // namespace fabricd::sweep
