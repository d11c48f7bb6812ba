// SPDX-License-Identifier: Apache-2.0
// MastershipClaim: the right to be master where several managers share the durable state. It is
// asked for once in each mastership, before the first Set.
#pragma once

#include <optional>
#include <utility>

#include "sweep/interface/questions.h"

namespace fabricd::sweep {

class MastershipClaim {
 public:
  // `questions` must outlive this.
  explicit MastershipClaim(OpenQuestions& questions) : questions_(questions) {}

  bool is_granted() const { return claimed_.has_value(); }
  // The mastership goes on with the state of a predecessor that was master until now.
  bool continues() const { return claimed_ && claimed_->continues; }
  void Ask() { questions_.Ask(ClaimMastership{}); }
  void Cancel() { questions_.Drop<ClaimMastership>(); }
  void OnGranted(const MastershipClaimed& claimed) { claimed_ = claimed; }
  // This SM is master by a handover, and rises once the claim is granted.
  void OnGiven() { was_given_ = true; }
  bool TakeGiven() { return std::exchange(was_given_, false); }
  // This SM is not master.
  void End() {
    claimed_.reset();
    was_given_ = false;
  }

 private:
  OpenQuestions& questions_;
  std::optional<MastershipClaimed> claimed_;
  bool was_given_ = false;
};

}  // namespace fabricd::sweep
