// SPDX-License-Identifier: Apache-2.0
// EffectRunner: carries out what the core asks for, in one order, whatever the shell: logs first,
// then MADs, for the fabric waits for them; then questions; then what is shown, events behind the
// view that shows what they tell, and answers to commands last.
//
// Each question is answered: by a job of the executor or, where its queue is full, at once.
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
  // All outlive this, and this outlives the executor's jobs. `tap`: null: nobody looks.
  EffectRunner(sweep::Core& core, Ports ports, Tap* tap = nullptr)
      : core_(core), ports_(ports), tap_(tap) {}
  EffectRunner(const EffectRunner&) = delete;
  EffectRunner& operator=(const EffectRunner&) = delete;

  void Step(sweep::Event event, Instant now) {
    if (tap_ != nullptr) tap_->OnStep(event, now);
    core_.Step(std::move(event), now);
  }
  // Takes what the core wants and carries it out. What cannot be done is a step of the core; what
  // it wants then is taken next time.
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
  // Slot of the one plan that waits in a queue, or null.
  using WaitingPlan = std::atomic<std::shared_ptr<const Plan>>;
  void Send(mad::OutgoingMad mad, Instant now);
  void Ask(std::vector<sweep::Question> questions, Instant now);
  // `check`: null: none.
  void Ask(sweep::QuestionId id, sweep::ComputePlan task, std::shared_ptr<const Check> check,
           Instant now);
  void Ask(sweep::QuestionId id, sweep::OrderTables task, Instant now);
  void Ask(sweep::QuestionId id, sweep::ComputeTrees task, Instant now);
  void Ask(sweep::QuestionId id, sweep::EvaluateIntent task, Instant now);
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
  std::atomic<uint64_t> newest_plan_ = 0;  // Id of the question. Also read by jobs.
  WaitingPlan urgent_plan_;
  WaitingPlan whole_plan_;
  // Handed from a job of the urgent queue to one of the other.
  std::atomic<std::shared_ptr<const Check>> unchecked_;
};

}  // namespace fabricd::shell
