// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/event_log.h"

#include <algorithm>
#include <random>

#include <spdlog/spdlog.h>

#include "common/mutex.h"
#include "common/number_text.h"
#include "common/process_clock.h"
#include "common/status.h"

namespace fabricd::daemon {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kGap = 100'000;

store::EventRecord Stamped(fabric::FabricEvent event, Instant now, int64_t wall_ms) {
  const auto wall_of = [&](Instant instant) {
    return wall_ms - std::chrono::duration_cast<milliseconds>(now - instant).count();
  };
  store::EventRecord record;
  // An event without a time has just happened.
  record.time_ms = event.at == Instant() ? wall_ms : wall_of(event.at);
  if (event.reroute) record.begun_ms = wall_of(event.reroute->begun);
  record.event = std::move(event);
  return record;
}

store::EventRecord LostEvents(size_t count) {
  store::EventRecord record;
  record.time_ms = WallNowMs();
  record.event.type = "EventsLost";
  record.event.severity = fabric::Severity::kWarning;
  record.event.subject = "history";
  record.event.message = fmt::format("{} events came faster than they could be written", count);
  record.event.facts = {{"count", fmt::format("{}", count)}};
  return record;
}

}  // namespace

int64_t ToWallMs(Instant instant) {
  return WallNowMs() -
         std::chrono::duration_cast<milliseconds>(ProcessClock::Now() - instant).count();
}

absl::StatusOr<std::unique_ptr<EventLog>> EventLog::Open(store::Store& store, PostToStore post,
                                                         Listings listings, Limits limits) {
  limits.ring = std::min(limits.ring, limits.keep);
  std::unique_ptr<EventLog> log(new EventLog(store, std::move(post), std::move(listings), limits));
  FABRICD_RETURN_IF_ERROR(log->Load());
  return log;
}

absl::Status EventLog::Load() {
  auto latest = store_.ListEvents({.limit = limits_.ring, .latest = true});
  if (!latest.ok()) return latest.status();
  auto epoch = store_.GetMeta(store::kEventLogKey);
  if (!epoch.ok()) return epoch.status();
  if (*epoch && !(*epoch)->empty()) {
    epoch_ = **epoch;
  } else {
    epoch_ = fmt::format("{:08x}", std::random_device()());
    FABRICD_RETURN_IF_ERROR(store_.PutMeta(store::kEventLogKey, epoch_));
  }
  std::erase_if(*latest, [this](const auto& record) { return record.number <= numbering_.floor; });
  MutexLock lock(mutex_);
  floor_ = last_ = numbering_.floor;
  for (store::EventRecord& record : *latest)
    ring_.push_back(std::make_shared<const store::EventRecord>(std::move(record)));
  if (!ring_.empty()) {
    floor_ = ring_.front()->number - 1;
    last_ = ring_.back()->number;
  }
  begin_ = last_ == 0 ? 1 : last_ + kGap;
  if (numbering_.begin > 0) begin_ = numbering_.begin;
  next_ = begin_;
  return absl::OkStatus();
}

void EventLog::Append(std::vector<fabric::FabricEvent> events, Instant now) {
  const int64_t wall_ms = WallNowMs();
  std::vector<store::EventRecord> records;
  records.reserve(events.size());
  for (fabric::FabricEvent& event : events)
    records.push_back(Stamped(std::move(event), now, wall_ms));
  queue_.Add(std::move(records));
}

void EventLog::Beat() {
  queue_.Schedule();
  // Not posted now: the next beat will be.
  (void)post_([this] { Wake(true); });
}

bool EventLog::CatchUp() {
  return !numbering_.follows || post_([this] { ShowTaken(); });
}

void EventLog::ShowTaken() {
  uint64_t after = 0;
  {
    MutexLock lock(mutex_);
    after = last_;
  }
  while (true) {
    auto records = store_.ListEvents({.after = after, .limit = limits_.ring});
    if (!records.ok() || records->empty()) break;
    after = records->back().number;
    Show(*std::move(records));
  }
  keeper_.KeepOthers([&](int64_t before) { return store_.TrimEvents(limits_.keep, before); });
}

void EventLog::Write(std::vector<store::EventRecord> records, size_t lost) {
  if (numbering_.follows) return;
  // Another node may have used higher numbers.
  next_ = std::max(next_, store_.event_numbering().begin);
  if (lost > 0) records.push_back(LostEvents(lost));
  for (store::EventRecord& record : records) record.number = next_++;
  keeper_.Keep(
      records.size(), [&] { return store_.AppendEvents(records); },
      [&](int64_t before) { return store_.TrimEvents(limits_.keep, before); });
  Show(std::move(records));
}

void EventLog::Show(std::vector<store::EventRecord> records) {
  {
    MutexLock lock(mutex_);
    for (store::EventRecord& record : records) {
      last_ = record.number;
      ring_.push_back(std::make_shared<const store::EventRecord>(std::move(record)));
    }
    while (ring_.size() > limits_.ring) {
      floor_ = ring_.front()->number;
      ring_.pop_front();
    }
  }
  Wake(false);
}

void EventLog::Wake(bool beat) {
  std::vector<std::shared_ptr<Watcher>> awake;
  {
    MutexLock lock(mutex_);
    for (const auto& watcher : watchers_) {
      if (auto alive = watcher.lock()) awake.push_back(std::move(alive));
    }
  }
  for (const auto& watcher : awake) watcher->OnEvents(beat);
}

std::string EventLog::version() const {
  MutexLock lock(mutex_);
  return VersionOf(last_);
}

std::string EventLog::VersionOf(uint64_t number) const {
  return fmt::format("{}.{}", epoch_, number);
}

std::string EventLog::oldest() const {
  MutexLock lock(mutex_);
  return VersionOf(floor_);
}

absl::StatusOr<uint64_t> EventLog::NumberOf(const std::string& version) const {
  const size_t dot = version.find('.');
  const auto number = dot == std::string::npos
                          ? std::nullopt
                          : ParseNumber<uint64_t>(std::string_view(version).substr(dot + 1));
  if (!number) return InvalidArgument("\"{}\" is no resource version", version);
  if (version.compare(0, dot, epoch_) != 0)
    return MakeStatus(absl::StatusCode::kOutOfRange, "version {} is of another history", version);
  return *number;
}

absl::StatusOr<uint64_t> EventLog::BeginAt(const std::string& version) const {
  absl::StatusOr<uint64_t> number = 0;
  if (!version.empty()) number = NumberOf(version);
  MutexLock lock(mutex_);
  if (version.empty()) return last_;
  if (number.ok() && *number > last_ && MayBeOfAnotherNode(*number)) return number;
  if (number.ok() && (*number < floor_ || *number > last_)) {
    return MakeStatus(absl::StatusCode::kOutOfRange,
                      "the events after version {} are no longer at hand", version);
  }
  return number;
}

// One that the former master has shown and that is not here, or not yet.
bool EventLog::MayBeOfAnotherNode(uint64_t number) const {
  return numbering_.floor > 0 && (numbering_.follows || number < begin_);
}

absl::StatusOr<std::vector<EventLog::Record>> EventLog::After(uint64_t number, size_t most) const {
  MutexLock lock(mutex_);
  if (number < floor_) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "the events after number {} are no longer at hand", number);
  }
  const auto first =
      std::upper_bound(ring_.begin(), ring_.end(), number,
                       [](uint64_t n, const Record& record) { return n < record->number; });
  const auto count = std::min<size_t>(most, static_cast<size_t>(ring_.end() - first));
  return std::vector<Record>(first, first + static_cast<ptrdiff_t>(count));
}

void EventLog::List(store::EventQuery query, Listed done) {
  {
    MutexLock lock(mutex_);
    query.up_to = last_;
  }
  const auto shared = std::make_shared<Listed>(std::move(done));
  const bool posted = listings_.post([this, query = std::move(query), shared] {
    auto records = listings_.history.ListEvents(query);
    if (records.ok())
      (*shared)(Page{*std::move(records), VersionOf(query.up_to)});
    else
      (*shared)(records.status());
  });
  if (!posted) (*shared)(Unavailable("too many listings wait, or fabricd is stopping"));
}

size_t EventLog::watcher_count() const {
  MutexLock lock(mutex_);
  return static_cast<size_t>(std::count_if(watchers_.begin(), watchers_.end(),
                                           [](const auto& known) { return !known.expired(); }));
}

bool EventLog::AddWatcher(const std::shared_ptr<Watcher>& watcher) {
  MutexLock lock(mutex_);
  watchers_.erase(std::remove_if(watchers_.begin(), watchers_.end(),
                                 [](const auto& known) { return known.expired(); }),
                  watchers_.end());
  if (watchers_.size() >= limits_.watchers) return false;
  watchers_.push_back(watcher);
  return true;
}

}  // namespace fabricd::daemon
