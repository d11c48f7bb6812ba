// SPDX-License-Identifier: Apache-2.0
// Ledger: the checker of what nodes have written to their shared store. It hears of each write when
// a node begins it and when that node is answered, and of each transaction when etcd carries it
// out; so it knows what must exist, what may exist, and who may write.
//
// A write that was not acknowledged (its answer was an error, or the process has died) may exist
// or not, whole. Which of the two is decided when the next owner takes the epoch: nothing that was
// sent before can be carried out afterwards. A store that goes on after an error has undone it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/store/etcd_model.h"
#include "store/contents.h"
#include "store/etcd/client.h"

namespace fabricd::sim {

class Ledger {
 public:
  // Both outlive this. `failures`: "checker: what".
  Ledger(const EtcdModel& model, std::string prefix, std::vector<std::string>& failures)
      : model_(model), prefix_(std::move(prefix)), failures_(failures) {}

  // A store, from when it is opened until it is closed, is a process here.
  uint64_t Begin(uint64_t process, store::FlatChanges changes);
  // `view`: what the store has in memory afterwards.
  void Acknowledge(uint64_t write, const store::FlatRows& view);
  // The answer was an error, or there is none.
  void Fail(uint64_t write);
  // It was refused before anything was sent.
  void Withdraw(uint64_t write);
  // What a store has in memory when it is open, as the owner.
  void Open(uint64_t process, const store::FlatRows& view);

  void OnCommit(uint64_t process, const store::etcd::Transaction& transaction,
                const store::etcd::TransactionResult& result);

  uint64_t acknowledged() const { return acknowledged_; }
  uint64_t takes() const { return takes_; }
  // The process that has taken the epoch last; 0: none has.
  uint64_t owner() const { return owner_; }
  // What must exist.
  const store::FlatRows& certain() const { return certain_; }
  // What exists by the keys of etcd: a batch that was committed is part of it.
  store::FlatRows Existing() const;
  // There is a batch that was committed and is not carried over.
  bool HasBatch() const;

 private:
  struct Write {
    uint64_t process = 0;
    store::FlatChanges changes;
    bool is_answered = false;  // With an error.
    bool is_superseded = false;
    bool exists = false;  // Where it is superseded.
  };
  void Take(uint64_t process);
  // Of an open write with a larger number.
  bool IsChangedLater(uint64_t number, const std::string& key) const;
  bool Exists(uint64_t number, const Write& write, const store::FlatRows& rows);
  void Compare(const char* checker, const store::FlatRows& expected, const store::FlatRows& found,
               const std::string& where);
  void Give(const Write& write);
  void Say(const char* checker, const std::string& what);

  const EtcdModel& model_;
  const std::string prefix_;
  std::vector<std::string>& failures_;
  store::FlatRows certain_;
  std::map<uint64_t, Write> open_;  // Those that may exist, or whose answer is outstanding.
  store::FlatRows at_take_;         // What existed when the owner took the epoch.
  std::map<std::string, std::string> given_;  // LID → key of the port that has it, acknowledged.
  // The request of each hold that was ever acknowledged, by its key.
  std::map<std::string, std::string> ids_;
  uint64_t owner_ = 0;
  uint64_t writes_ = 0, acknowledged_ = 0, takes_ = 0;
};

}  // namespace fabricd::sim
