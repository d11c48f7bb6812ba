// SPDX-License-Identifier: Apache-2.0
#include "shell/effect_runner.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "common/status.h"
#include "sweep/plan/computing.h"

namespace fabricd::shell {

void EffectRunner::CarryOut(Instant now) {
  sweep::Effects effects = core_.TakeEffects(now);
  if (tap_ != nullptr) tap_->OnEffects(effects, now);
  CarryOut(std::move(effects), now);
}

void EffectRunner::CarryOut(sweep::Effects effects, Instant now) {
  for (sweep::LogRecord& record : effects.log) ports_.listener.OnLog(std::move(record));
  if (effects.set_is_sm) {
    const absl::Status status = ports_.network.SetIsSm(*effects.set_is_sm);
    if (!status.ok()) LogError(fmt::format("IsSM: {}", Message(status)));
  }
  for (mad::OutgoingMad& mad : effects.send) Send(std::move(mad), now);
  Ask(std::move(effects.questions), now);
  if (effects.publish || !effects.events.empty())
    ports_.listener.OnPublished(std::move(effects.publish), std::move(effects.events), now);
  for (sweep::FinishedCommand& finished : effects.finished)
    ports_.listener.OnFinished(std::move(finished));
}

// The cable check runs after the plan of the same batch, on whichever queue that plan is computed.
void EffectRunner::Ask(std::vector<sweep::Question> questions, Instant now) {
  std::shared_ptr<const Check> check;
  for (sweep::Question& each : questions)
    if (auto* task = std::get_if<sweep::CheckCables>(&each.what))
      check = std::make_shared<const Check>(Check{each.id, std::move(*task)});
  for (sweep::Question& each : questions)
    std::visit(
        [&](auto&& what) {
          using What = std::decay_t<decltype(what)>;
          if constexpr (std::is_same_v<What, sweep::ComputePlan>)
            Ask(each.id, std::move(what), std::move(check), now);
          else if constexpr (!std::is_same_v<What, sweep::CheckCables>)
            Ask(each.id, std::move(what), now);
        },
        std::move(each.what));
  // The plan is not in this batch any more: the core has dropped it.
  if (check && !ports_.executor.Post(Queue::kCompute, [this, check] { Answer(*check, false); }))
    Step(sweep::Answer{check->id, sweep::CablesChecked{}}, now);
}

void EffectRunner::LogError(std::string text) {
  ports_.listener.OnLog({sweep::LogLevel::kError, std::move(text)});
}

void EffectRunner::Send(mad::OutgoingMad mad, Instant now) {
  const absl::Status status = ports_.network.Send(std::move(mad));
  if (status.ok()) return;
  ports_.listener.OnLog({sweep::LogLevel::kDebug, fmt::format("send: {}", Message(status))});
  Step(mad::IncomingMad{mad::IncomingMad::Kind::kSendFailed, mad.agent, mad.to,
                        std::move(mad.payload)},
       now);
}

template <typename Task>
bool EffectRunner::Post(Queue queue, sweep::QuestionId id, Task task) {
  return ports_.executor.Post(queue, [this, id, task = std::move(task)] {
    ports_.listener.OnAnswer({id, sweep::CarryOut(task)});
  });
}

template <typename Record>
void EffectRunner::Ask(sweep::QuestionId id, Record record, Instant now) {
  const bool posted = ports_.executor.Post(Queue::kStore, [this, id, record = std::move(record)] {
    ports_.listener.OnAnswer({id, sweep::Persisted{ports_.records.Write(record)}});
  });
  if (!posted)
    Step(sweep::Answer{id, sweep::Persisted{Unavailable("the store's queue is full")}}, now);
}

// At most one plan waits in each queue. A newer one replaces it, and the older one is answered at
// once. Otherwise a long plan would fill the queue with superseded ones.
void EffectRunner::Ask(sweep::QuestionId id, sweep::ComputePlan task,
                       std::shared_ptr<const Check> check, Instant now) {
  newest_plan_ = id.value();
  const bool urgent = task.goal <= routing::ReplanGoal::kWhole && task.before != nullptr;
  WaitingPlan& waiting = urgent ? urgent_plan_ : whole_plan_;
  auto plan = std::make_shared<const Plan>(Plan{id, std::move(task), std::move(check)});
  auto unwanted = waiting.exchange(std::move(plan));
  if (unwanted == nullptr) {
    const bool posted = ports_.executor.Post(
        urgent ? Queue::kUrgent : Queue::kCompute,
        [this, urgent, &waiting] { Compute(*waiting.exchange(nullptr), urgent); });
    if (posted) return;
    LogError("the queue of plans is full");
    unwanted = waiting.exchange(nullptr);
  }
  Step(sweep::Answer{unwanted->id, sweep::PlanReady{}}, now);
  if (unwanted->check) Step(sweep::Answer{unwanted->check->id, sweep::CablesChecked{}}, now);
}

// Runs in a job. A superseded plan is not computed: its answer is ignored anyway.
void EffectRunner::Compute(const Plan& plan, bool urgent) {
  const bool is_void = newest_plan_ != plan.id.value();
  ports_.listener.OnAnswer({plan.id, is_void ? sweep::PlanReady{} : sweep::CarryOut(plan.task)});
  if (plan.check == nullptr) return;
  if (urgent && !is_void)
    CheckLater(plan.check);
  else
    Answer(*plan.check, is_void);
}

void EffectRunner::Answer(const Check& check, bool is_void) {
  ports_.listener.OnAnswer(
      {check.id, is_void ? sweep::CablesChecked{} : sweep::CarryOut(check.task)});
}

// Runs in a job of the urgent queue, which must not be delayed. While links flap, whole plans keep
// the compute queue busy. So at most one check waits there, and a newer one replaces it.
void EffectRunner::CheckLater(std::shared_ptr<const Check> check) {
  if (const auto older = unchecked_.exchange(std::move(check)))
    return Answer(*older, /*is_void=*/true);
  if (!ports_.executor.Post(Queue::kCompute,
                            [this] { Answer(*unchecked_.exchange(nullptr), false); }))
    Answer(*unchecked_.exchange(nullptr), /*is_void=*/true);
}

void EffectRunner::Ask(sweep::QuestionId id, sweep::OrderTables task, Instant now) {
  if (Post(Queue::kUrgent, id, std::move(task))) return;
  LogError("the queue of urgent computing is full");
  Step(sweep::Answer{id, sweep::TablesOrdered{}}, now);
}

void EffectRunner::Ask(sweep::QuestionId id, sweep::ComputeTrees task, Instant now) {
  if (Post(Queue::kCompute, id, std::move(task))) return;
  Step(sweep::Answer{id, sweep::TreesReady{nullptr, "fabricd is busy or stopping"}}, now);
}

void EffectRunner::Ask(sweep::QuestionId id, sweep::EvaluateIntent task, Instant now) {
  if (Post(Queue::kCompute, id, std::move(task))) return;
  Step(sweep::Answer{id, sweep::IntentEvaluated{{.plan_found = false,
                                                 .why_not = "fabricd is busy or stopping"}}},
       now);
}

void EffectRunner::Ask(sweep::QuestionId id, sweep::ClaimMastership, Instant now) {
  const bool posted = ports_.executor.Post(Queue::kStore, [this, id] {
    ports_.listener.OnAnswer({id, ports_.records.Claim()});
  });
  if (!posted)
    Step(sweep::Answer{id, sweep::MastershipClaimed{Unavailable("the store's queue is full")}},
         now);
}

}  // namespace fabricd::shell
