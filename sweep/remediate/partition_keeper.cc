// SPDX-License-Identifier: Apache-2.0
#include "sweep/remediate/partition_keeper.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "policy/partitions_diff.h"

namespace fabricd::sweep {

PartitionKeeper::PartitionKeeper(const CoreOptions& options, Effects& effects,
                                 OpenQuestions& questions, policy::PartitionState stored)
    : options_(options),
      effects_(effects),
      questions_(questions),
      state_(std::make_shared<const policy::PartitionState>(std::move(stored))) {
  MakeIndex();
}

void PartitionKeeper::MakeIndex() {
  index_ = std::make_shared<const policy::PartitionIndex>(
      state_->partitions, state_->ever, options_.policy.partitions.isolated_in_default);
  ++generation_;
}

// The options affect the tables that result from partitions.
void PartitionKeeper::OnOptions() { MakeIndex(); }

void PartitionKeeper::Replace(std::shared_ptr<const policy::PartitionState> stored) {
  state_ = std::move(stored);
  MakeIndex();
  change_ = "partitions of the master";
}

void PartitionKeeper::OnApplied(uint64_t generation) { applied_ = std::max(applied_, generation); }

void PartitionKeeper::On(ChangePartitions command) {
  if (waiting_.size() >= kMaxWaiting) {
    effects_.finished.push_back(
        {command.command,
         MakeStatus(absl::StatusCode::kResourceExhausted,
                    "{} requests about partitions are waiting already", waiting_.size())});
    return;
  }
  waiting_.push_back(std::move(command));
  StartNext();
}

void PartitionKeeper::StartNext() {
  while (!questions_.IsOpen<PersistPartitions>() && !waiting_.empty()) {
    auto outcome = policy::Apply(waiting_.front().request, state_);
    if (!outcome.ok()) {
      Finish(outcome.status(), nullptr);
      continue;
    }
    auto made = std::make_shared<const policy::PartitionOutcome>(*std::move(outcome));
    if (waiting_.front().validate_only || *made->after == *state_) {
      Finish(absl::OkStatus(), std::move(made));
      continue;
    }
    outcome_ = std::move(made);
    questions_.Ask(PersistPartitions{policy::PartitionRows(*state_, *outcome_->after)});
  }
}

// If the change is durable, it takes effect now.
void PartitionKeeper::On(const Persisted& persisted, Instant now) {
  auto outcome = std::move(outcome_);
  if (persisted.status.ok()) {
    const bool differs = outcome->after->revision != state_->revision;
    state_ = outcome->after;
    if (differs) {
      Tell(*outcome, waiting_.front(), now);
      MakeIndex();
      change_ = "partitions";
    }
  } else {
    effects_.log.push_back({LogLevel::kError, fmt::format("partitions could not be stored: {}",
                                                          Message(persisted.status))});
    outcome = nullptr;
  }
  Finish(persisted.status, std::move(outcome));
  StartNext();
}

void PartitionKeeper::Tell(const policy::PartitionOutcome& outcome, const ChangePartitions& command,
                           Instant now) {
  constexpr size_t kShown = 3;
  std::vector<std::string> lines =
      policy::DiffPartitions(outcome.before->partitions, outcome.after->partitions);
  const size_t changes = lines.size();
  if (changes > kShown) {
    lines.resize(kShown);
    lines.push_back(fmt::format("and {} more", changes - kShown));
  }
  fabric::FabricEvent event;
  event.type = "PartitionsChanged";
  event.subject =
      outcome.number == 0 ? "partitions" : fmt::format("partition {:#06x}", outcome.number);
  event.message = fmt::format("{}", fmt::join(lines, "; "));
  event.facts = {{"by", command.by},
                 {"changes", std::to_string(changes)},
                 {"revision", std::to_string(outcome.after->revision)}};
  event.at = now;
  effects_.events.push_back(std::move(event));
}

void PartitionKeeper::Finish(absl::Status status,
                             std::shared_ptr<const policy::PartitionOutcome> outcome) {
  const uint64_t command = waiting_.front().command;
  waiting_.pop_front();
  effects_.finished.push_back({command, std::move(status), nullptr, std::move(outcome)});
}

}  // namespace fabricd::sweep
