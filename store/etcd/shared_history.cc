// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/shared_history.h"

#include <algorithm>
#include <functional>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

#include "common/breakage.h"
#include "common/stable_hash.h"
#include "common/status.h"

namespace fabricd::store::etcd {
namespace {

constexpr char kPlaceKey[] = "history";
constexpr char kLogKey[] = "events.epoch";
constexpr uint64_t kParts = 65'536;  // Of a block.
constexpr int64_t kUnknown = -1;     // No mod_revision.
constexpr int kAttempts = 3;
constexpr int kAppends = 16;         // In one turn: the lease has to be kept alive meanwhile.
constexpr size_t kRecords = 48;      // Of each kind in one transaction.
constexpr uint64_t kPagesRead = 64;  // By one call.
constexpr uint64_t kSaveEvery = 64;  // Pages.

std::string RandomName() { return fmt::format("{:08x}", std::random_device()()); }

EventRecord LostEvents(uint64_t number, int64_t time_ms) {
  EventRecord record;
  record.number = number;
  record.time_ms = time_ms;
  record.instance = "-";  // It is of this node alone, and is not appended.
  record.event.type = "EventsLost";
  record.event.severity = fabric::Severity::kWarning;
  record.event.subject = "history";
  record.event.message =
      "other nodes have recorded events before this one that are no longer in etcd";
  return record;
}

}  // namespace

SharedHistory::SharedHistory(Client& client, Store& local, Mutex& local_mutex,
                             const std::string& prefix, std::string instance,
                             uint64_t most_pages)
    : client_(client),
      local_(local),
      local_mutex_(local_mutex),
      head_key_(prefix + "control/history"),
      page_prefix_(prefix + "history/"),
      instance_(std::move(instance)),
      most_pages_(most_pages) {}

std::string SharedHistory::TextOf(const Head& head) {
  return fmt::format("{} {} {} {} {}", head.log, head.incarnation, head.first, head.next,
                     head.numbers);
}

std::optional<SharedHistory::Head> SharedHistory::ParseHead(const std::string& text) {
  std::istringstream words(text);
  Head head;
  words >> head.log >> head.incarnation >> head.first >> head.next >> head.numbers;
  if (!words || head.first > head.next) return std::nullopt;
  return head;
}

std::string SharedHistory::KeyOf(uint64_t page) const {
  return fmt::format("{}{:016x}", page_prefix_, page);
}

// ---- opening

absl::Status SharedHistory::Resume() {
  {
    MutexLock lock(local_mutex_);
    FABRICD_RETURN_IF_ERROR(ReadPlace());
  }
  return FindNumbers();
}

absl::Status SharedHistory::ReadPlace() {
  const auto text = local_.GetMeta(kPlaceKey);
  if (!text.ok()) return text.status();
  std::istringstream words(text->value_or(""));
  Place place;
  words >> place.log >> place.incarnation >> place.page >> place.events >> place.audit;
  if (words) place_ = place;
  saved_page_ = place_.page;
  return absl::OkStatus();
}

absl::Status SharedHistory::Join() {
  const absl::Status taken = TakePart();
  Leave();
  const bool is_later = absl::IsUnavailable(taken) && !place_.log.empty();
  FABRICD_RETURN_IF_ERROR(is_later ? absl::OkStatus() : taken);
  return FindNumbers();
}

// The part of the block after the last one that is known. Part 0 is of Reserve().
absl::Status SharedHistory::FindNumbers() {
  MutexLock lock(local_mutex_);
  const auto events = local_.ListEvents({.limit = 1, .latest = true});
  if (!events.ok()) return events.status();
  last_ = events->empty() ? 0 : events->back().number;
  StableHash hash;
  hash.Add(instance_);
  const uint64_t block = std::max(last_, kFloor) / kBlock + 1;
  begin_ = block * kBlock + (1 + hash.value() % (kParts - 1)) * (kBlock / kParts);
  return absl::OkStatus();
}

// Two blocks on: a node without etcd may have used the next one.
void SharedHistory::Reserve() {
  for (int attempt = 0; attempt < kAttempts && head_revision_ > 0; ++attempt) {
    Head head = head_;
    head.numbers = (std::max({last_, head.numbers, kFloor}) / kBlock + 2) * kBlock;
    if (IsBroken(Breakage::kNumbersGivenTwice)) head.numbers = kFloor + kBlock;
    Transaction take;
    take.comparisons = {{head_key_, Comparison::Field::kModRevision, head_revision_}};
    take.changes = {{head_key_, TextOf(head)}};
    take.reads = {{head_key_}};
    const auto taken = client_.Commit(take);
    if (!taken.ok()) return;
    if (taken->succeeded) {
      head_ = head;
      head_revision_ = taken->revision;
      begin_ = head.numbers;
      return;
    }
    // Another node has appended, or this attempt was made twice.
    const auto other = taken->kvs.empty() ? std::nullopt : ParseHead(taken->kvs[0].value);
    if (!other || other->incarnation != place_.incarnation) return;
    head_ = *other;
    head_revision_ = taken->kvs[0].mod_revision;
  }
}

absl::Status SharedHistory::TakePart() {
  const auto head = FindOrMakeHead();
  if (!head.ok()) return head.status();
  FABRICD_RETURN_IF_ERROR(Adopt(*head));
  const absl::Status taken = Take(*head);
  if (!taken.ok()) head_revision_ = kUnknown;  // Follow() tries it again.
  return taken;
}

absl::StatusOr<SharedHistory::Head> SharedHistory::FindOrMakeHead() {
  Transaction make;
  make.comparisons = {{head_key_, Comparison::Field::kModRevision, 0}};
  make.changes = {
      {head_key_, TextOf({place_.log.empty() ? RandomName() : place_.log, RandomName()})}};
  make.reads = {{head_key_}};
  auto found = client_.Range({head_key_});
  if (!found.ok()) return found.status();
  std::vector<KeyValue> kvs = std::move(found->kvs);
  if (kvs.empty()) {
    auto made = client_.Commit(make);
    if (!made.ok()) return made.status();
    kvs = std::move(made->kvs);  // Of another node that was faster.
    if (made->succeeded) kvs = {{head_key_, make.changes[0].value, 0, made->revision}};
  }
  const auto head = kvs.empty() ? std::nullopt : ParseHead(kvs[0].value);
  if (!head)
    return MakeStatus(absl::StatusCode::kDataLoss, "etcd {}: no value of ours", head_key_);
  head_ = *head;
  head_revision_ = kvs[0].mod_revision;
  return head_;
}

// What was recorded before this node took part stays its own.
absl::Status SharedHistory::Adopt(const Head& head) {
  if (place_.log == head.log && place_.incarnation == head.incarnation) return absl::OkStatus();
  const bool is_new_log = place_.log != head.log;
  place_.log = head.log;
  place_.incarnation = head.incarnation;
  place_.page = head.first;
  MutexLock lock(local_mutex_);
  if (is_new_log) {
    const auto events = local_.ListEvents({.limit = 1, .latest = true});
    if (!events.ok()) return events.status();
    const auto audit = local_.ListAudit({.limit = 1});
    if (!audit.ok()) return audit.status();
    place_.events = events->empty() ? 0 : events->back().number;
    place_.audit = audit->empty() ? 0 : audit->back().number;
  }
  return local_.PutMeta(kLogKey, head.log);
}

void SharedHistory::Leave() {
  if (place_.log.empty()) return;
  MutexLock lock(local_mutex_);
  const absl::Status saved =
      local_.PutMeta(kPlaceKey, fmt::format("{} {} {} {} {}", place_.log, place_.incarnation,
                                            place_.page, place_.events, place_.audit));
  // What is not saved is read again, and found to be there.
  if (saved.ok()) saved_page_ = place_.page;
}

EventNumbering SharedHistory::Numbering() const {
  if (place_.log.empty()) return {};
  return {.floor = kFloor, .begin = begin_};
}

// ---- taking

void SharedHistory::Follow(const KeyValue& head) {
  is_answered_ = true;
  if (head.mod_revision == 0 || head.mod_revision == head_revision_) return;
  const auto parsed = ParseHead(head.value);
  // Of a new etcd, or of a store that is opened again: Join() is for that.
  if (!parsed || parsed->log != place_.log || parsed->incarnation != place_.incarnation) return;
  head_ = *parsed;
  head_revision_ = head.mod_revision;
  if (Take(head_).ok()) return SaveIfDue();
  head_revision_ = kUnknown;  // It is tried again.
  is_answered_ = false;
}

absl::Status SharedHistory::Take(const Head& head) {
  if (place_.page < head.first) {
    has_gap_ = true;
    place_.page = head.first;
  }
  while (place_.page < head.next) {
    const uint64_t end = std::min(place_.page + kPagesRead, head.next);
    const auto read = client_.Range({KeyOf(place_.page), KeyOf(end)});
    if (!read.ok()) return read.status();
    has_gap_ |= read->kvs.size() < end - place_.page;
    std::vector<EventRecord> events;
    std::vector<AuditRecord> audit;
    for (const KeyValue& kv : read->kvs)
      FABRICD_RETURN_IF_ERROR(TakePage(kv.value, events, audit));
    if (IsBroken(Breakage::kHistoryNotTaken)) events.clear();
    if (!events.empty() || !audit.empty()) {
      MutexLock lock(local_mutex_);
      FABRICD_RETURN_IF_ERROR(local_.MergeHistory(events, audit));
      ++taken_;
    }
    place_.page = end;
  }
  return absl::OkStatus();
}

// A page of this node is there although no answer said so, or from before a crash.
absl::Status SharedHistory::TakePage(const std::string& bytes, std::vector<EventRecord>& events,
                                     std::vector<AuditRecord>& audit) {
  auto page = DecodeHistory(bytes);
  if (!page) {
    has_gap_ = true;
    return absl::OkStatus();
  }
  if (page->instance == instance_) {
    for (const EventRecord& record : page->events)
      place_.events = std::max(place_.events, record.number);
    for (const AuditRecord& record : page->audit)
      place_.audit = std::max(place_.audit, record.origin);
    return absl::OkStatus();
  }
  if (has_gap_ && !page->events.empty()) {
    const EventRecord& next = page->events.front();
    events.push_back(LostEvents(next.number - 1, next.time_ms));
    has_gap_ = false;
  }
  std::move(page->events.begin(), page->events.end(), std::back_inserter(events));
  std::move(page->audit.begin(), page->audit.end(), std::back_inserter(audit));
  return absl::OkStatus();
}

// ---- appending

void SharedHistory::Send() {
  if (!is_answered_ || place_.page != head_.next || !is_unsent_.exchange(false)) return;
  for (int i = 0; i < kAppends && is_answered_; ++i) {
    const auto page = Unsent();
    if (!page.ok() || (page->events.empty() && page->audit.empty())) return SaveIfDue();
    const auto appended = Append(*page);
    // Else there was no answer, or another node has appended: after the next Follow().
    is_answered_ = appended.ok() && *appended;
  }
  is_unsent_ = true;
}

absl::StatusOr<HistoryPage> SharedHistory::Unsent() {
  MutexLock lock(local_mutex_);
  HistoryPage page{instance_};
  auto events = local_.ListEvents({.after = place_.events, .own = true, .limit = kRecords});
  if (!events.ok()) return events.status();
  auto audit = local_.ListAudit({.own = true, .after = place_.audit, .limit = kRecords});
  if (!audit.ok()) return audit.status();
  page.events = *std::move(events);
  page.audit = *std::move(audit);
  return page;
}

// False: control/history has changed.
absl::StatusOr<bool> SharedHistory::Append(const HistoryPage& page) {
  Head head = head_;
  Transaction append;
  append.comparisons = {{head_key_, Comparison::Field::kModRevision, head_revision_}};
  for (std::string& bytes : EncodeHistory(page, kPageBytes))
    append.changes.push_back({KeyOf(head.next++), std::move(bytes)});
  if (head.next - head.first > most_pages_) {
    const uint64_t first = head.next - most_pages_;
    append.changes.push_back({KeyOf(head.first), "", true, KeyOf(first)});
    head.first = first;
  }
  append.changes.push_back({head_key_, TextOf(head)});
  const auto result = client_.Commit(append);
  if (!result.ok() && !absl::IsInvalidArgument(result.status())) return result.status();
  if (result.ok() && !result->succeeded) return false;
  // etcd does not take such a page, now or later: it stays in the local store alone.
  if (result.ok()) {
    head_ = head;
    head_revision_ = result->revision;
    place_.page = head.next;
  }
  if (!page.events.empty()) place_.events = page.events.back().number;
  if (!page.audit.empty()) place_.audit = page.audit.back().number;
  return true;
}

void SharedHistory::SaveIfDue() {
  if (place_.page - saved_page_ >= kSaveEvery) Leave();
}

}  // namespace fabricd::store::etcd
