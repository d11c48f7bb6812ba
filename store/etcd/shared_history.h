// SPDX-License-Identifier: Apache-2.0
// SharedHistory: events and audit records of all nodes that share the state. Each node appends to
// pages in etcd what it has recorded itself, and takes what others have recorded into its local
// store, from which it is listed and watched. Recording waits for neither.
//
//   PREFIX control/history  which pages there are: "LOG INCARNATION FIRST NEXT NUMBERS"
//   PREFIX history/NUMBER   a page (history_page.h); NUMBER has 16 hexadecimal digits
//
// LOG names the numbers of events in versions that clients resume from; INCARNATION the pages, so
// that a new etcd is not taken for the old one. Each node that records events takes a block of
// numbers above NUMBERS, so that the events of a later master are above those that a former one has
// shown. Without etcd a node takes a part of the next block that is its own by its name, and a
// block once etcd answers; and another block where it sees that another node has used higher
// numbers.
//
// A page is appended by a transaction that compares control/history, so that all nodes see the same
// order. The local store is the queue: a named value in it says up to where its own records are
// appended, and which pages are taken. What it has lost of its own with the machine, whose last
// records were not on disk, it takes back from the pages once etcd answers.
//
// Bounds: the last kMostPages pages of about kPageBytes stay in etcd. A node that was away for
// longer has a gap, which is an event EventsLost. Each turn reads and appends a bounded number of
// pages. What the local store forgets before it is appended is not shared.
//
// A history that cannot be read or written stops nothing else: it is tried again, or this node
// keeps its own until the store is opened again.
//
// On the thread of the store that owns this, unless stated otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <absl/status/status.h>

#include "common/mutex.h"
#include "store/etcd/client.h"
#include "store/etcd/history_page.h"
#include "store/store.h"

namespace fabricd::store::etcd {

class SharedHistory {
 public:
  static constexpr uint64_t kMostPages = 4096;
  static constexpr size_t kPageBytes = size_t{16} << 10;
  // Numbers of one start; those of one start without etcd are 1 / 65,536 of it.
  static constexpr uint64_t kBlock = uint64_t{1} << 36;
  // Numbers of a shared history are above it; what nodes have recorded before is below.
  static constexpr uint64_t kFloor = kBlock;

  // All outlive this. `local_mutex`: held for each use of `local`.
  SharedHistory(Client& client, Store& local, Mutex& local_mutex, const std::string& prefix,
                std::string instance, uint64_t most_pages = kMostPages);

  // These three before the store is used, in this order. Errors are those of the local store. What
  // this node knows of the history.
  absl::Status Resume();
  // Takes part, and takes what others have recorded. Where etcd does not answer, a node that has
  // taken part before goes on from there with the next Follow(); for one that has not it is an
  // error of etcd, and it keeps its own history.
  absl::Status Join();
  // This node is to record events: takes numbers for them.
  absl::Status TakeNumbers();
  // Writes down how far it has come, so that less is read again.
  void Leave();

  // This node has recorded something. Any thread.
  void OnRecorded() { is_unsent_ = true; }
  // Takes what is new. `head`: control/history as etcd has it; mod_revision 0: it has none.
  void Follow(const KeyValue& head);
  // Appends what this node has recorded, one transaction after the other while goes_on(). What is
  // left or fails is tried again after the next Follow().
  void Send(const std::function<bool()>& goes_on);

  // How this node numbers its events. `begin` grows where another node has used higher numbers. Any
  // thread, after TakeNumbers().
  EventNumbering numbering() const;
  // How often records of other nodes were taken. Any thread.
  uint64_t taken() const { return taken_; }

 private:
  static constexpr int kAppends = 16;  // In one turn.
  struct Head {
    std::string log, incarnation;
    uint64_t first = 1, next = 1;
    uint64_t numbers = 0;
  };
  // How far this node has come. Empty `log`: it has never taken part.
  struct Place {
    std::string log, incarnation;
    uint64_t page = 1;               // The next one to take.
    uint64_t events = 0, audit = 0;  // Numbers of the last own records that are appended.
    uint64_t begin = 0;              // EventNumbering::begin, of the last start that recorded.
  };
  static std::string TextOf(const Head& head);
  static std::optional<Head> ParseHead(const std::string& text);
  std::string KeyOf(uint64_t page) const;

  absl::Status FindOrMakeHead();
  absl::Status UseHistory();
  absl::StatusOr<uint64_t> LastNumber();
  absl::Status ReadPages();
  absl::Status TakePage(const std::string& bytes, std::vector<EventRecord>& events,
                        std::vector<AuditRecord>& audit);
  absl::StatusOr<HistoryPage> Unsent();
  absl::StatusOr<bool> Append(const HistoryPage& page);
  bool Reserve(uint64_t above);
  uint64_t OwnPart(uint64_t above) const;
  bool IsOfPlace(const Head& head) const {
    return head.log == place_.log && head.incarnation == place_.incarnation;
  }
  void SetBegin(uint64_t begin);
  void SaveIfDue();

  Client& client_;
  Store& local_;
  Mutex& local_mutex_;
  const std::string head_key_, page_prefix_, instance_;
  const uint64_t most_pages_;

  // Numbers of the last own records that the local store had kept when it was opened; until all
  // pages have been read.
  struct Kept {
    uint64_t events = 0, audit = 0;
  };
  // An own record that the local store does not have any more.
  absl::StatusOr<bool> IsLost(const AuditRecord& record);

  Place place_;
  std::optional<Kept> kept_;
  uint64_t saved_page_ = 0;     // Of place_, in the local store.
  bool has_gap_ = false;        // Before the next page that is taken.
  bool is_answered_ = true;     // Send() may be tried.
  bool has_reserved_ = false;   // begin_ is a block of its own.
  uint64_t highest_taken_ = 0;  // Number of an event of another node.
  Head head_;                   // As last seen,
  int64_t head_revision_ = 0;   // and its mod_revision; 0: never.
  std::atomic<bool> is_unsent_ = true;
  std::atomic<bool> takes_part_ = false;
  std::atomic<uint64_t> begin_ = 0;  // 0: this node records no events.
  std::atomic<uint64_t> taken_ = 0;
};

}  // namespace fabricd::store::etcd
