// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/shared_history.h"

#include <algorithm>
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
constexpr char kThisNodeOnly[] = "-";  // In place of an instance: it is not appended.
constexpr uint64_t kParts = 65'536;    // Of a block.
constexpr int kAttempts = 3;
constexpr int kReads = 4;            // In one turn: the lease has to be kept alive meanwhile.
constexpr size_t kRecords = 48;      // Of each kind in one transaction.
constexpr uint64_t kPagesRead = 64;  // By one call.
constexpr uint64_t kSaveEvery = 64;  // Pages.

std::string RandomName() { return fmt::format("{:08x}", std::random_device()()); }

EventRecord LostEvents(uint64_t number, int64_t time_ms) {
  EventRecord record;
  record.number = number;
  record.time_ms = time_ms;
  record.instance = kThisNodeOnly;
  record.event.type = "EventsLost";
  record.event.severity = fabric::Severity::kWarning;
  record.event.subject = "history";
  record.event.message =
      "other nodes have recorded events before this one that are no longer in etcd";
  return record;
}

}  // namespace

SharedHistory::SharedHistory(Client& client, Store& local, Mutex& local_mutex,
                             const std::string& prefix, std::string instance, uint64_t most_pages)
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
  MutexLock lock(local_mutex_);
  const auto text = local_.GetMeta(kPlaceKey);
  if (!text.ok()) return text.status();
  std::istringstream words(text->value_or(""));
  Place place;
  words >> place.log >> place.incarnation >> place.page >> place.events >> place.audit >>
      place.begin;
  if (words) place_ = place;
  saved_page_ = place_.page;
  takes_part_ = !place_.log.empty();
  kept_ = Kept{};
  const auto events = local_.ListEvents({.own = true, .limit = 1, .latest = true});
  if (!events.ok()) return events.status();
  if (!events->empty()) kept_->events = events->back().number;
  const auto audit = local_.ListAudit({.own = true, .limit = 1});
  if (!audit.ok()) return audit.status();
  if (!audit->empty()) kept_->audit = audit->back().number;
  return absl::OkStatus();
}

absl::StatusOr<bool> SharedHistory::IsLost(const AuditRecord& record) {
  if (!kept_ || record.origin <= kept_->audit) return false;
  MutexLock lock(local_mutex_);
  const auto own = local_.ListAudit({.own = true, .after = record.origin - 1, .limit = 1});
  if (!own.ok()) return own.status();
  return own->empty() || own->front().number != record.origin;
}

absl::Status SharedHistory::Join() {
  const absl::Status found = FindOrMakeHead();
  if (!found.ok()) return place_.log.empty() ? found : absl::OkStatus();
  FABRICD_RETURN_IF_ERROR(UseHistory());
  (void)ReadPages();  // What is left is for Follow().
  return absl::OkStatus();
}

absl::Status SharedHistory::FindOrMakeHead() {
  auto found = client_.Range({head_key_});
  if (!found.ok()) return found.status();
  KeyValue kv = found->kvs.empty() ? KeyValue() : std::move(found->kvs[0]);
  auto head = ParseHead(kv.value);
  if (!head) {
    // There is none, or its value cannot be read.
    Transaction make;
    make.comparisons = {{head_key_, Comparison::Field::kModRevision, kv.mod_revision}};
    head = Head{place_.log.empty() ? RandomName() : place_.log, RandomName()};
    make.changes = {{head_key_, TextOf(*head)}};
    make.reads = {{head_key_}};
    const auto made = client_.Commit(make);
    if (!made.ok()) return made.status();
    kv.mod_revision = made->revision;
    if (!made->succeeded) {  // Another node was faster.
      if (made->kvs.empty()) return Unavailable("{} is not there", head_key_);
      kv = made->kvs[0];
      head = ParseHead(kv.value);
      if (!head) return Unavailable("{} has no value of ours", head_key_);
    }
  }
  head_ = *head;
  head_revision_ = kv.mod_revision;
  return absl::OkStatus();
}

// Records from before this node took part are not shared.
absl::Status SharedHistory::UseHistory() {
  if (IsOfPlace(head_)) return absl::OkStatus();
  if (place_.log != head_.log) {
    const auto last = LastNumber();
    if (!last.ok()) return last.status();
    MutexLock lock(local_mutex_);
    const auto audit = local_.ListAudit({.limit = 1});
    if (!audit.ok()) return audit.status();
    place_.events = *last;
    place_.audit = audit->empty() ? 0 : audit->back().number;
    FABRICD_RETURN_IF_ERROR(local_.PutMeta(kEventLogKey, head_.log));
  }
  place_.log = head_.log;
  place_.incarnation = head_.incarnation;
  place_.page = head_.first;
  takes_part_ = true;
  Leave();
  return absl::OkStatus();
}

void SharedHistory::Leave() {
  if (place_.log.empty()) return;
  MutexLock lock(local_mutex_);
  const absl::Status saved = local_.PutMeta(
      kPlaceKey, fmt::format("{} {} {} {} {} {}", place_.log, place_.incarnation, place_.page,
                             place_.events, place_.audit, place_.begin));
  // What is not saved is read again, and found to be there.
  if (saved.ok()) saved_page_ = place_.page;
}

// ---- numbers

EventNumbering SharedHistory::numbering() const {
  if (!takes_part_) return {};
  return {.floor = kFloor, .begin = begin_};
}

absl::Status SharedHistory::TakeNumbers() {
  if (place_.log.empty()) return absl::OkStatus();
  const auto last = LastNumber();
  if (!last.ok()) return last.status();
  // A power failure may have taken the events that the start before has shown.
  const uint64_t above = std::max(*last, place_.begin);
  if (Reserve(above)) return absl::OkStatus();
  SetBegin(OwnPart(above));
  Leave();  // It is recorded nowhere else.
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> SharedHistory::LastNumber() {
  MutexLock lock(local_mutex_);
  const auto events = local_.ListEvents({.limit = 1, .latest = true});
  if (!events.ok()) return events.status();
  return events->empty() ? 0 : events->back().number;
}

// Of the next block. Part 0 is of who has the whole block.
uint64_t SharedHistory::OwnPart(uint64_t above) const {
  StableHash hash;
  hash.Add(instance_);
  const uint64_t block = std::max({above, head_.numbers, kFloor}) / kBlock + 1;
  return block * kBlock + (1 + hash.value() % (kParts - 1)) * (kBlock / kParts);
}

// Two blocks on: a node without etcd may have used the next one.
bool SharedHistory::Reserve(uint64_t above) {
  for (int attempt = 0; attempt < kAttempts && head_revision_ > 0; ++attempt) {
    Head head = head_;
    head.numbers = (std::max({above, head.numbers, kFloor}) / kBlock + 2) * kBlock;
    if (IsBroken(Breakage::kNumbersGivenTwice)) head.numbers = kFloor + kBlock;
    Transaction take;
    take.comparisons = {{head_key_, Comparison::Field::kModRevision, head_revision_}};
    take.changes = {{head_key_, TextOf(head)}};
    take.reads = {{head_key_}};
    const auto taken = client_.Commit(take);
    if (!taken.ok()) return false;
    if (taken->succeeded) {
      head_ = head;
      head_revision_ = taken->revision;
      has_reserved_ = true;
      SetBegin(head.numbers);
      return true;
    }
    // Another node has appended, or this attempt was made twice.
    const auto other = taken->kvs.empty() ? std::nullopt : ParseHead(taken->kvs[0].value);
    if (!other || !IsOfPlace(*other)) return false;
    head_ = *other;
    head_revision_ = taken->kvs[0].mod_revision;
  }
  return false;
}

void SharedHistory::SetBegin(uint64_t begin) {
  begin_ = begin;
  place_.begin = begin;
}

// ---- taking

void SharedHistory::Follow(const KeyValue& head) {
  is_answered_ = true;
  if (place_.log.empty() || head.mod_revision == 0) return;
  if (head.mod_revision != head_revision_) {
    const auto parsed = ParseHead(head.value);
    // Of a new etcd: Join() is for that.
    if (!parsed || !IsOfPlace(*parsed)) return;
    head_ = *parsed;
    head_revision_ = head.mod_revision;
  }
  // What fails is tried again by the next call.
  is_answered_ = ReadPages().ok();
  if (!is_answered_ || begin_ == 0 || (has_reserved_ && highest_taken_ < begin_)) return;
  (void)Reserve(std::max<uint64_t>(highest_taken_, begin_));
}

// Up to head_, and at most kReads times kPagesRead.
absl::Status SharedHistory::ReadPages() {
  if (place_.page > head_.next) {
    // This etcd was restored from an older state. What it lacks of this node is appended again.
    place_.page = head_.first;
    place_.events = kFloor;
    place_.audit = 0;
    is_unsent_ = true;
  }
  if (place_.page < head_.first) {
    has_gap_ = true;
    place_.page = head_.first;
  }
  for (int reads = 0; place_.page < head_.next && reads < kReads; ++reads) {
    const uint64_t end = std::min(place_.page + kPagesRead, head_.next);
    const auto read = client_.Range({KeyOf(place_.page), KeyOf(end)});
    if (!read.ok()) return read.status();
    has_gap_ |= read->kvs.size() < end - place_.page;
    std::vector<EventRecord> events;
    std::vector<AuditRecord> audit;
    for (const KeyValue& kv : read->kvs) FABRICD_RETURN_IF_ERROR(TakePage(kv.value, events, audit));
    if (IsBroken(Breakage::kHistoryNotTaken)) events.clear();
    if (!events.empty() || !audit.empty()) {
      MutexLock lock(local_mutex_);
      FABRICD_RETURN_IF_ERROR(local_.MergeHistory(events, audit));
      ++taken_;
    }
    place_.page = end;
  }
  if (place_.page == head_.next) kept_.reset();
  SaveIfDue();
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
    for (const EventRecord& record : page->events) {
      place_.events = std::max(place_.events, record.number);
      if (kept_ && record.number > kept_->events) events.push_back(record);
    }
    for (const AuditRecord& record : page->audit) {
      place_.audit = std::max(place_.audit, record.origin);
      const auto is_lost = IsLost(record);
      if (!is_lost.ok()) return is_lost.status();
      if (*is_lost) audit.push_back(record);
    }
    return absl::OkStatus();
  }
  if (has_gap_ && !page->events.empty()) {
    const EventRecord& next = page->events.front();
    events.push_back(LostEvents(next.number - 1, next.time_ms));
    has_gap_ = false;
  }
  for (const EventRecord& record : page->events)
    highest_taken_ = std::max(highest_taken_, record.number);
  std::move(page->events.begin(), page->events.end(), std::back_inserter(events));
  std::move(page->audit.begin(), page->audit.end(), std::back_inserter(audit));
  return absl::OkStatus();
}

// ---- appending

void SharedHistory::Send(const std::function<bool()>& goes_on) {
  if (!is_answered_ || head_revision_ <= 0 || !IsOfPlace(head_) || place_.page != head_.next)
    return;
  if (!is_unsent_.exchange(false)) return;
  for (int i = 0; i < kAppends && is_answered_ && goes_on(); ++i) {
    const auto page = Unsent();
    if (!page.ok()) break;
    if (page->events.empty() && page->audit.empty()) return SaveIfDue();
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
