// SPDX-License-Identifier: Apache-2.0
// EffectRunner: carries out the effects of the core, in the same order in every shell. Log lines
// come first, then MADs, because the fabric waits for them, then questions. Then the view is
// published with its events, so that events never precede the view that shows them. Outcomes of
// commands come last.
//
// Each question gets an answer: from a job of the executor or, if its queue is full, at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "shell/ports.h"
#include "sweep/core.h"

namespace fabricd::shell {

class EffectRunner {
 public:
  // All must outlive this, and this must outlive the jobs of the executor. `tap` null: nothing is
  // recorded.
  EffectRunner(sweep::Core& core, Ports ports, Tap* tap = nullptr)
      : core_(core), ports_(ports), tap_(tap) {}
  EffectRunner(const EffectRunner&) = delete;
  EffectRunner& operator=(const EffectRunner&) = delete;

  void Step(sweep::Event event, Instant now) {
    if (tap_ != nullptr) tap_->OnStep(event, now);
    core_.Step(std::move(event), now);
  }
  // Takes the effects of the core and carries them out. A failure is reported to the core as a
  // step. The effects of that step are taken by the next call.
  void CarryOut(Instant now);
  void CarryOut(sweep::Effects effects, Instant now);

 private:
  struct Check {
    sweep::QuestionId id;
    sweep::CheckCables task;
  };
  struct Plan {
    sweep::QuestionId id;
    sweep::ComputePlan task;
    std::shared_ptr<const Check> check;  // Null: none.
  };
  // The one plan that waits in a queue, or null.
  using WaitingPlan = std::atomic<std::shared_ptr<const Plan>>;
  void Send(mad::OutgoingMad mad, Instant now);
  void Ask(std::vector<sweep::Question> questions, Instant now);
  // `check` null: none.
  void Ask(sweep::QuestionId id, sweep::ComputePlan task, std::shared_ptr<const Check> check,
           Instant now);
  void Ask(sweep::QuestionId id, sweep::OrderTables task, Instant now);
  void Ask(sweep::QuestionId id, sweep::ComputeTrees task, Instant now);
  void Ask(sweep::QuestionId id, sweep::EvaluateIntent task, Instant now);
  void Ask(sweep::QuestionId id, sweep::ClaimMastership task, Instant now);
  template <typename Record>
  void Ask(sweep::QuestionId id, Record record, Instant now);
  void Compute(const Plan& plan, bool urgent);
  template <typename Task>
  [[nodiscard]] bool Post(Queue queue, sweep::QuestionId id, Task task);
  void Answer(const Check& check, bool is_void);
  void CheckLater(std::shared_ptr<const Check> check);
  void LogError(std::string text);

  sweep::Core& core_;
  const Ports ports_;
  Tap* const tap_;
  std::atomic<uint64_t> newest_plan_ = 0;  // Id of the newest question. Jobs read it too.
  WaitingPlan urgent_plan_;
  WaitingPlan whole_plan_;
  // Handed from a job of the urgent queue to one of the compute queue.
  std::atomic<std::shared_ptr<const Check>> unchecked_;
};

}  // namespace fabricd::shell
