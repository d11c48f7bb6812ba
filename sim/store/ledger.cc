// SPDX-License-Identifier: Apache-2.0
#include "sim/store/ledger.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "store/etcd/batch_text.h"
#include "store/etcd/shared_rows.h"
#include "store/hold_text.h"

namespace fabricd::sim {
namespace {

using store::FlatChanges;
using store::FlatRows;
using store::etcd::Change;
using store::etcd::KeyValue;
using store::etcd::Transaction;
using store::etcd::TransactionResult;

constexpr size_t kMostDifferences = 3;

// "0x0010 0 7" → "0x0010"
std::string LidOf(const std::string& text) { return text.substr(0, text.find(' ')); }

bool IsOfHistory(const Transaction& transaction, const std::string& prefix) {
  return std::all_of(transaction.changes.begin(), transaction.changes.end(),
                     [&](const Change& change) {
                       return change.key == prefix + "control/history" ||
                              change.key.starts_with(prefix + "history/");
                     });
}

// Of a hold, without what changes as it goes on: its times when a clock is set, its end.
std::string RequestOf(const std::string& text) {
  policy::Hold hold;
  if (!store::ParseHold(text, hold)) return text;
  hold.created = 0;
  hold.expires = hold.acknowledged = hold.ended = std::nullopt;
  hold.lifted = false;
  hold.delete_request_id.clear();
  return store::HoldText(hold);
}

}  // namespace

void Ledger::Say(const char* checker, const std::string& what) {
  if (failures_.size() < 20) failures_.push_back(fmt::format("{}: {}", checker, what));
}

FlatRows Ledger::Existing() const {
  const std::string data = prefix_ + "data/", batch = prefix_ + "control/batch/";
  FlatRows rows;
  const auto all = model_.Range({prefix_, store::etcd::EndOfPrefix(prefix_)});
  FlatChanges parts;
  for (const KeyValue& kv : all->kvs) {
    if (kv.key.starts_with(data)) rows[kv.key.substr(data.size())] = kv.value;
    if (kv.key.starts_with(batch)) (void)store::etcd::DecodeChanges(kv.value, parts);
  }
  if (HasBatch()) store::Apply(parts, rows);
  return rows;
}

bool Ledger::HasBatch() const { return model_.Find(prefix_ + "control/commit") != nullptr; }

uint64_t Ledger::Begin(uint64_t process, FlatChanges changes) {
  open_[++writes_] = {process, std::move(changes)};
  return writes_;
}

void Ledger::Withdraw(uint64_t write) { open_.erase(write); }

void Ledger::Fail(uint64_t write) {
  Write& failed = open_.at(write);
  failed.is_answered = true;
  if (failed.is_superseded) open_.erase(write);
}

bool Ledger::IsChangedLater(uint64_t number, const std::string& key) const {
  return std::any_of(open_.upper_bound(number), open_.end(), [&](const auto& later) {
    return !later.second.is_superseded && later.second.changes.contains(key);
  });
}

bool Ledger::Exists(uint64_t number, const Write& write, const FlatRows& rows) {
  size_t there = 0, missing = 0;
  for (const auto& [key, value] : write.changes) {
    if (IsChangedLater(number, key)) continue;
    const auto before = certain_.find(key);
    const auto now = rows.find(key);
    const bool had = before != certain_.end(), has = now != rows.end();
    if (value.has_value() ? had && before->second == *value : !had) continue;  // No change.
    const bool is_there = value.has_value() ? has && now->second == *value : !has;
    ++(is_there ? there : missing);
  }
  if (there != 0 && missing != 0)
    Say("whole", fmt::format("of a write of {} rows by process {} {} exist and {} do not",
                             write.changes.size(), write.process, there, missing));
  return there != 0;
}

// Requests that were sent before cannot be carried out any more.
void Ledger::Take(uint64_t process) {
  const FlatRows rows = Existing();
  FlatRows expected = certain_;
  std::vector<uint64_t> over;
  for (auto& [number, write] : open_) {
    if (write.is_superseded) continue;
    const bool exists = Exists(number, write, rows);
    if (exists) store::Apply(write.changes, expected);
    // Its own it may still undo.
    if (write.process == process) continue;
    if (exists) {
      store::Apply(write.changes, certain_);
      Give(write);
    }
    write.is_superseded = true;
    write.exists = exists;
    if (write.is_answered) over.push_back(number);
  }
  for (const uint64_t number : over) open_.erase(number);
  Compare("acknowledged", expected, rows, fmt::format("when process {} takes the epoch", process));
  owner_ = process;
  at_take_ = rows;
  ++takes_;
}

void Ledger::OnCommit(uint64_t process, const Transaction& transaction,
                      const TransactionResult& result) {
  if (!result.succeeded || transaction.changes.empty()) return;
  const std::string epoch = prefix_ + "control/epoch";
  for (const Change& change : transaction.changes)
    if (change.key == epoch && !change.is_delete) return Take(process);
  if (IsOfHistory(transaction, prefix_)) return;  // Each node's own records.
  if (process == owner_ && model_.Find(epoch) != nullptr) return;
  Say("fencing",
      fmt::format("process {} changes {} at revision {} after process {} has taken the epoch",
                  process, transaction.changes[0].key, result.revision, owner_));
}

void Ledger::Compare(const char* checker, const FlatRows& expected, const FlatRows& found,
                     const std::string& where) {
  size_t said = 0;
  for (const auto& [key, value] : store::Difference(expected, found)) {
    if (++said > kMostDifferences) return;
    const auto wanted = expected.find(key);
    Say(checker, fmt::format("{} is '{}' instead of '{}' {}", key, value.value_or("").substr(0, 40),
                             wanted == expected.end() ? "" : wanted->second.substr(0, 40), where));
  }
  if (said != 0) certain_ = found;
}

void Ledger::Open(uint64_t process, const FlatRows& view) {
  if (process == owner_)
    Compare("opened", at_take_, view, fmt::format("in the store that process {} opens", process));
}

void Ledger::Acknowledge(uint64_t write, const FlatRows& view) {
  const Write done = std::move(open_.extract(write).mapped());
  ++acknowledged_;
  if (done.is_superseded) {
    if (!done.exists)
      Say("acknowledged", fmt::format("a write of {} by process {}, which is not what process {} "
                                      "has found when it took the epoch",
                                      done.changes.begin()->first, done.process, owner_));
    return;
  }
  if (done.process != owner_)
    Say("fencing", fmt::format("process {} acknowledges a write after process {} has the epoch",
                               done.process, owner_));
  // What it has failed to write before is undone by now.
  std::erase_if(open_, [&](const auto& each) { return each.second.process == done.process; });
  store::Apply(done.changes, certain_);
  Give(done);
  Compare("memory", certain_, view, fmt::format("in the memory of process {}", done.process));
}

void Ledger::Give(const Write& write) {
  for (const auto& [key, value] : write.changes) {
    if (key.starts_with("lid/"))
      std::erase_if(given_, [&](const auto& each) { return each.second == key; });
    if (!key.starts_with("hold/") || !value) continue;
    const auto [known, is_new] = ids_.emplace(key, RequestOf(*value));
    if (!is_new && known->second != RequestOf(*value))
      Say("hold ids", fmt::format("{} is given again", key));
  }
  for (const auto& [key, value] : write.changes) {
    if (!key.starts_with("lid/") || !value) continue;
    const auto [known, is_new] = given_.emplace(LidOf(*value), key);
    if (!is_new)
      Say("LIDs", fmt::format("LID {} of {} is given to {}", LidOf(*value), known->second, key));
  }
}

}  // namespace fabricd::sim
