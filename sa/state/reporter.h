// SPDX-License-Identifier: Apache-2.0
// Reporter: brings notices to subscribers as Reports (IBA vol 1 §13.4.11, §15.4.4) and waits for
// their answers. Pure.
//
// A Report is sent kAttempts times, kTimeout apart. A target that lets kMostUnanswered of them in a
// row go by without an answer is dead: its subscriptions go. To one target one Report is under way
// at a time, kInFlight to all; kMostWaiting notices wait for one target, and of more the oldest are
// lost and counted.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/time.h"
#include "mad/transport.h"
#include "sa/state/client_state.h"
#include "sa/state/subscription_table.h"

namespace fabricd::sa {

class Reporter {
 public:
  static constexpr int kAttempts = 3, kMostUnanswered = 3;
  static constexpr Duration kTimeout = std::chrono::seconds(1);
  static constexpr size_t kInFlight = 64, kMostWaiting = 4096;

  struct Statistics {
    uint64_t sent = 0;  // Attempts.
    uint64_t answered = 0;
    uint64_t given_up = 0;
    uint64_t lost = 0;  // Notices for which there was no room.
  };

  void Add(const ReportTarget& target, std::shared_ptr<const NoticeFact> fact);
  // An answer to a Report, or its time-out. False: to none that is under way.
  bool On(const mad::IncomingMad& mad);
  // What is to be sent now; `view` says where targets are. Targets that are not there are passed
  // over: their subscriptions are dropped with their ports.
  void Send(const SaView& view, std::vector<mad::OutgoingMad>& out);
  // Since the last call.
  std::vector<ReportTarget> TakeDead() { return std::exchange(dead_, {}); }
  void Forget(Gid port);
  const Statistics& statistics() const { return statistics_; }

 private:
  using Key = std::pair<Gid, uint32_t>;  // GID, QPN
  struct Queue {
    ReportTarget target;
    std::deque<std::shared_ptr<const NoticeFact>> waiting;  // The first may be under way.
    uint32_t transaction = 0;                               // Of what is under way; 0: nothing.
    int attempts = 0;                                       // Of the first.
    int unanswered = 0;                                     // Reports given up in a row.
  };
  void Finish(Queue& queue, bool answered);

  std::map<Key, Queue> queues_;        // None is empty but those with unanswered ones.
  std::map<uint32_t, Key> under_way_;  // By the low half of the TransactionID.
  std::deque<Key> ready_;              // With something to send; in turns. May name those gone.
  std::vector<ReportTarget> dead_;
  uint32_t last_transaction_ = 0;
  Statistics statistics_;
};

}  // namespace fabricd::sa
