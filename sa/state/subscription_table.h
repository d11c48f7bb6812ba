// SPDX-License-Identifier: Apache-2.0
// SubscriptionTable: who wants to be told of which notices (InformInfo, IBA vol 1 §13.4.8.3,
// §13.4.11). Pure: what is to become durable goes out as row changes.
//
// Bounds, beyond which ERR_NO_RESOURCES is answered: kMostOfPort for one port, kMost in all.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <absl/status/status.h>

#include "common/stored_row.h"
#include "mad/wire/notice.h"
#include "sa/state/client_state.h"
#include "sa/view/asker.h"

namespace fabricd::sa {

// A notice on its way to subscribers.
struct NoticeFact {
  wire::Notice notice;
  Gid issuer;    // Of the port that sent it: ours for what the SM itself tells.
  Guid subject;  // The end port that it is about; who may see that is told. 0: see p_key.
  PKey p_key;    // Of the group that it is about; who is in that partition is told.
  friend bool operator==(const NoticeFact&, const NoticeFact&) = default;
};

// Where a notice goes: each target once.
std::vector<ReportTarget> TargetsOf(const SaView& view,
                                    const ClientState::Subscriptions& subscriptions,
                                    const NoticeFact& fact);

class SubscriptionTable {
 public:
  static constexpr char kTable[] = "subscription";

  static constexpr size_t kMostOfPort = 128, kMost = 262'144;

  // Rows as the other calls wrote them; kDataLoss: no row of ours.
  absl::Status Load(const RowKey& key, const std::string& value);

  // One of another SM, under a number of this table. False: it is there already, or they are too
  // many.
  bool Import(Subscription subscription, RowChanges& rows);

  // Subscribes or unsubscribes, as `info` says; a status of the SA, and where that is OK `info` is
  // the answer. `from`: whence the request came, and where Reports go.
  uint16_t Set(const SaView& view, const Asker& asker, const ReportTarget& from,
               wire::InformInfo& info, RowChanges& rows);
  // Those of a port that is gone, or of one target there that does not answer.
  void DropPort(Gid port, RowChanges& rows);
  void DropTarget(const ReportTarget& target, RowChanges& rows);

  size_t size() const { return subscriptions_.size(); }
  std::vector<Gid> Ports() const;
  std::shared_ptr<const ClientState::Subscriptions> Snapshot();

 private:
  using Key = std::pair<Gid, uint16_t>;
  using Subscriptions = std::map<Key, Subscription>;
  // The one that is the same, or end(), with a free number and the count of that port.
  struct Place {
    Subscriptions::iterator found;
    uint16_t free = 0;
    bool is_full = false;
  };
  Place Find(const ReportTarget& from, const wire::InformInfo& info);
  void Keep(const Subscription& subscription, RowChanges& rows);
  Subscriptions::iterator Erase(Subscriptions::iterator found, RowChanges& rows);
  template <typename Predicate>
  void EraseOf(Gid port, RowChanges& rows, Predicate predicate);

  Subscriptions subscriptions_;
  std::shared_ptr<const ClientState::Subscriptions> snapshot_;  // Null: to be made anew.
};

}  // namespace fabricd::sa
