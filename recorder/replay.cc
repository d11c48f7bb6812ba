// SPDX-License-Identifier: Apache-2.0
#include "recorder/replay.h"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "common/stable_hash.h"
#include "common/status.h"
#include "recorder/effects_text.h"
#include "recorder/recorder.h"
#include "sweep/plan/computing.h"

namespace fabricd::recorder {
namespace {

class Player {
 public:
  Player(const ReplayOptions& options, const std::function<void(const std::string&)>& say)
      : options_(options), say_(say) {}

  // False: the replay has ended.
  bool Play(uint64_t number, const pb::Record& record);
  absl::StatusOr<ReplayResult> Finish();

 private:
  void Start(const pb::Start& start);
  void Step(const pb::Step& step);
  void Take(uint64_t number, const pb::Taken& taken);
  std::optional<sweep::Event> AnswerOf(const pb::Answer& answer);
  void Fail(absl::Status status) { status_ = std::move(status); }
  void Say(uint64_t number, const std::string& text) {
    if (options_.break_at && number >= *options_.break_at)
      say_(fmt::format("{:>8} {:>14.6f} s  {}", number,
                       std::chrono::duration<double>(now_.time_since_epoch()).count(), text));
  }

  const ReplayOptions& options_;
  const std::function<void(const std::string&)>& say_;
  std::unique_ptr<sweep::Core> core_;
  Instant now_{}, begun_{};
  std::map<uint64_t, sweep::Question> open_;  // By id. Few: at most one open question of each kind.
  uint64_t number_ = 0;
  StableHash recorded_, replayed_;
  ReplayResult result_;
  absl::Status status_;
};

bool Player::Play(uint64_t number, const pb::Record& record) {
  number_ = number;
  if (options_.until && number >= *options_.until) return false;
  if (options_.break_at && number >= *options_.break_at + kBreakRecords) return false;
  if (!record.has_start() && core_ == nullptr) {
    Fail(MakeStatus(absl::StatusCode::kDataLoss, "it does not begin with a core's start"));
    return false;
  }
  switch (record.what_case()) {
    case pb::Record::kStart: Start(record.start()); break;
    case pb::Record::kStep: Step(record.step()); break;
    case pb::Record::kTaken: Take(number, record.taken()); break;
    case pb::Record::kLost:
      result_.stopped = fmt::format("{} records are missing: the disk was too slow", record.lost());
      return false;
    case pb::Record::WHAT_NOT_SET:
      Fail(MakeStatus(absl::StatusCode::kDataLoss, "record {} is of an unknown kind", number));
  }
  ++result_.records;
  if (begun_ == Instant{}) begun_ = now_;
  result_.time = now_ - begun_;
  const bool is_late = options_.until_time && result_.time > *options_.until_time;
  return status_.ok() && !result_.difference && !is_late;
}

void Player::Start(const pb::Start& start) {
  const auto inputs = InputsOf(start);
  if (!inputs.ok()) return Fail(inputs.status());
  core_ = inputs->MakeCore();
}

void Player::Step(const pb::Step& step) {
  now_ += Duration(step.after_ns());
  std::optional<sweep::Event> event;
  if (step.has_answer()) {
    event = AnswerOf(step.answer());
    if (!event)
      return Fail(MakeStatus(absl::StatusCode::kDataLoss, "question {} was not asked",
                             step.answer().question()));
  } else {
    auto read = EventOf(step);
    if (!read.ok()) return Fail(read.status());
    event = *std::move(read);
  }
  Say(number_, TextOf(*event));
  core_->Step(*std::move(event), now_);
}

std::optional<sweep::Event> Player::AnswerOf(const pb::Answer& answer) {
  auto asked = open_.extract(answer.question());
  if (asked.empty()) return std::nullopt;
  const sweep::QuestionId id(answer.question());
  return std::visit(
      [&](const auto& task) -> std::optional<sweep::Event> {
        using Task = std::decay_t<decltype(task)>;
        using Wanted = typename Task::Answer;
        const auto code = static_cast<absl::StatusCode>(answer.status());
        const absl::Status status =
            code == absl::StatusCode::kOk ? absl::OkStatus() : absl::Status(code, answer.text());
        if constexpr (std::is_same_v<Wanted, sweep::Persisted>) {
          return sweep::Answer{id, sweep::Persisted{status}};
        } else if constexpr (std::is_same_v<Wanted, sweep::MastershipClaimed>) {
          return sweep::Answer{id, sweep::MastershipClaimed{status, answer.continues()}};
        } else {
          if (!answer.refused()) return sweep::Answer{id, sweep::CarryOut(task)};
          Wanted none{};
          if constexpr (std::is_same_v<Wanted, sweep::TreesReady>) none.fault = answer.text();
          if constexpr (requires { none.consequences; }) {
            none.consequences.plan_found = false;
            none.consequences.why_not = answer.text();
          }
          return sweep::Answer{id, std::move(none)};
        }
      },
      asked.mapped().what);
}

void Player::Take(uint64_t number, const pb::Taken& taken) {
  now_ += Duration(taken.after_ns());
  sweep::Effects effects = core_->TakeEffects(now_);
  const uint64_t digest = DigestOf(effects, nullptr);
  recorded_.Add(taken.digest());
  replayed_.Add(digest);
  for (const std::string& line : LinesOf(effects)) Say(number, "  " + line);
  if (digest != taken.digest()) {
    Difference& difference = result_.difference.emplace();
    difference.record = number;
    difference.lines = LinesOf(effects);
    const auto count = [&](const char* what, size_t before, size_t now) {
      if (before != now)
        difference.counts += fmt::format("{}{} {} recorded, {} now",
                                         difference.counts.empty() ? "" : "; ", before, what, now);
    };
    count("sends", taken.sends(), effects.send.size());
    count("questions", taken.questions(), effects.questions.size());
    count("events", taken.events(), effects.events.size());
    count("answers to commands", taken.finished(), effects.finished.size());
  }
  for (sweep::Question& question : effects.questions)
    open_.insert_or_assign(question.id.value(), std::move(question));
}

absl::StatusOr<ReplayResult> Player::Finish() {
  if (!status_.ok())
    return absl::Status(status_.code(), fmt::format("record {}: {}", number_, Message(status_)));
  result_.recorded_digest = recorded_.value();
  result_.replayed_digest = replayed_.value();
  return std::move(result_);
}

}  // namespace

absl::StatusOr<ReplayResult> Replay(const Recording& recording, const ReplayOptions& options,
                                    const std::function<void(const std::string&)>& say) {
  Player player(options, say);
  FABRICD_RETURN_IF_ERROR(recording.ForEach(
      /*beyond_gap=*/false,
      [&](uint64_t number, const pb::Record& record) { return player.Play(number, record); }));
  auto result = player.Finish();
  if (result.ok() && result->stopped.empty() && !recording.gap().empty())
    result->stopped = recording.gap() + ": what is behind them cannot be replayed";
  return result;
}

}  // namespace fabricd::recorder
