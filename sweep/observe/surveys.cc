// SPDX-License-Identifier: Apache-2.0
#include "sweep/observe/surveys.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/sort_unique.h"

namespace fabricd::sweep {
namespace {

void Append(const std::vector<NodeIndex>& from, std::vector<NodeIndex>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

void Merge(SurveyChanges from, SurveyChanges* to) {
  if (to->about.IsNone()) {
    to->about = from.about;
    to->peer = from.peer;
  }
  to->meets_sm |= from.meets_sm;
  if (to->needs_sweep.empty()) to->needs_sweep = std::move(from.needs_sweep);
  Append(from.touched, &to->touched);
  Append(from.gone, &to->gone);
  Append(from.come, &to->come);
}

}  // namespace

bool Surveys::empty() const {
  return explorer_->idle() && std::all_of(places_.begin(), places_.end(), [](const Place& place) {
           return place.survey == nullptr;
         });
}

bool Surveys::full() const {
  return std::all_of(places_.begin(), places_.end(),
                     [](const Place& place) { return place.survey != nullptr; });
}

bool Surveys::AreAt(NodeIndex node) const {
  return std::any_of(places_.begin(), places_.end(),
                     [&](const Place& place) { return place.survey && place.survey->IsAt(node); });
}

void Surveys::Start(SurveyTask task, PortRef local, Instant now) {
  const auto free = std::find_if(places_.begin(), places_.end(),
                                 [](const Place& place) { return place.survey == nullptr; });
  FABRICD_CHECK(free != places_.end());
  const auto number = static_cast<uint16_t>(free - places_.begin());
  local_ = local;
  free->survey = std::make_unique<Survey>(ground_, *explorer_, local, number);
  free->survey->Start(std::move(task), now);
}

void Surveys::Clear() {
  places_ = {};
  explorer_ = std::make_unique<Explorer>(ground_);
}

void Surveys::OnCompletion(const mad::Completion& completion, Instant now) {
  Place& place = places_[completion.context.run];
  if (place.survey) place.survey->OnCompletion(completion, now);
}

void Surveys::OnExplorerCompletion(const mad::Completion& completion, Instant now) {
  explorer_->OnCompletion(completion, now);
}

void Surveys::Advance(Instant now) {
  bool reading = false;
  for (Place& place : places_) {
    if (!place.survey) continue;
    place.survey->Advance(now);
    reading = reading || place.survey->IsReading(now);
  }
  explorer_->Advance(local_, reading, now);
  for (Place& place : places_) place.has_changes = place.survey && place.survey->HasChanges(now);
}

Instant Surveys::NextDeadline() const {
  Instant next = explorer_->NextDeadline();
  for (const Place& place : places_)
    if (place.survey && !place.has_changes) next = std::min(next, place.survey->NextDeadline());
  return next;
}

bool Surveys::HasChanges() const {
  return explorer_->HasChanges() ||
         std::any_of(places_.begin(), places_.end(),
                     [](const Place& place) { return place.has_changes; });
}

Surveys::Changes Surveys::TakeChanges() {
  Changes changes;
  const auto take = [&](auto&& found, const std::string& cause, Instant since) {
    Merge(std::move(found), &changes.found);
    if (since >= changes.since) return;
    changes.since = since;
    changes.cause = cause;
  };
  for (Place& place : places_) {
    if (!std::exchange(place.has_changes, false)) continue;
    const SurveyTask& task = place.survey->task();
    take(place.survey->TakeChanges(), task.cause, task.since);
  }
  if (explorer_->HasFound()) take(explorer_->TakeChanges(), explorer_->cause(), explorer_->since());
  for (std::vector<NodeIndex>* nodes :
       {&changes.found.touched, &changes.found.gone, &changes.found.come})
    SortUnique(*nodes);
  return changes;
}

std::vector<std::unique_ptr<Survey>> Surveys::TakeDone() {
  std::vector<std::unique_ptr<Survey>> done;
  for (Place& place : places_)
    if (place.survey && !place.has_changes && place.survey->done())
      done.push_back(std::move(place.survey));
  return done;
}

}  // namespace fabricd::sweep
