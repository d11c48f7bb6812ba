// SPDX-License-Identifier: Apache-2.0
// sa/state: what clients made: groups, services, subscriptions, aliases.
//
// SaState: what clients leave with Subnet Administration, as a pure state machine: requests that
// change it, the fabric as it comes and goes, notices, answers to Reports and the time go in;
// responses, Reports, rows to be made durable and what is to be shown come out. No clock, no
// thread, no file.
//
// Nothing is answered, told or shown before it is durable: what a step changes is collected; one
// write is under way at a time, and what comes meanwhile goes with the next. A write that fails is
// tried again kRetryWrite later, and the responses wait for that. What cannot be answered gets no
// response: the kernel's ib_sa asks again where there is none, and gives up where there is BUSY.
//
// A port that leaves takes its memberships and subscriptions along. Its services stay for as long
// as they were leased. A port that vanishes together with the switch it hangs on may not have
// noticed anything itself, so nothing would make it join again: it keeps what it has for kAbsence.
// So does a port that has asked since the core published the view it is missing in: it was down, is
// back, and has joined again already.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/status/statusor.h>

#include "common/stored_row.h"
#include "common/time.h"
#include "fabric/multicast_groups.h"
#include "mad/transport.h"
#include "mad/wire/notice.h"
#include "sa/state/alias_table.h"
#include "sa/state/client_state.h"
#include "sa/state/group_table.h"
#include "sa/state/reporter.h"
#include "sa/state/service_table.h"
#include "sa/state/subscription_table.h"
#include "sa/view/view.h"

namespace fabricd::sa {

// ---- in

// A Set or Delete that Answer() calls a change.
struct ClientRequest {
  mad::Address from;
  std::vector<uint8_t> payload;
};
// What the fabric was when the core published it. `settled`: no sweep was under way, so what is
// missing in it was gone.
struct FabricChanged {
  std::shared_ptr<const SaView> view;
  bool settled = true;
  Instant published;
};
struct RowsWritten {
  uint64_t id = 0;
  absl::Status status;
};
// A trap that reached the SM.
struct TrapCame {
  Lid from;
  uint64_t transaction_id = 0;
  wire::Notice notice;
};
struct TimePassed {};
// What the owner of a shared state has made durable, where this node waits beside it. It is shown
// in place of everything before. From then on nothing changes by itself: the owner lets leases
// expire.
struct StateReplaced {
  StoredRows rows;
};
// mad::IncomingMad: an answer to a Report, or its time-out.
using StateEvent = std::variant<ClientRequest, FabricChanged, RowsWritten, TrapCame,
                                mad::IncomingMad, TimePassed, StateReplaced>;

// ---- out

// Answered by RowsWritten. All or none.
struct WriteRows {
  uint64_t id = 0;
  RowChanges changes;
};
struct StateEffects {
  std::vector<mad::OutgoingMad> send;
  std::optional<WriteRows> write;
  std::shared_ptr<const ClientState> publish;
  std::shared_ptr<const fabric::MulticastGroups> groups;
  std::shared_ptr<const fabric::AliasGuids> aliases;
  std::vector<std::string> warnings;
};

class SaState {
 public:
  static constexpr size_t kMostHeld = 16'384;  // Responses that wait for a write.
  static constexpr Duration kRetryWrite = std::chrono::seconds(1);
  static constexpr Duration kAbsence = std::chrono::minutes(5);

  // `rows`: all durable rows; those of other parts are ignored. kDataLoss: one cannot be read.
  // `epoch`: wall-clock time at Instant zero.
  static absl::StatusOr<std::unique_ptr<SaState>> Make(const StoredRows& rows, WallMs epoch);

  // Of what clients leave, and of no other part.
  static bool IsClientRow(const RowKey& key);

  void Step(StateEvent event, Instant now);
  StateEffects TakeEffects(Instant now);
  Instant NextDeadline() const;

  // What trees are to be made for, as of now.
  std::shared_ptr<const fabric::MulticastGroups> Trees();
  // What devices are to hold, as of now.
  std::shared_ptr<const fabric::AliasGuids> Aliases() { return aliases_.Snapshot(); }
  const Reporter::Statistics& reports() const { return reporter_.statistics(); }
  // Requests without a response: kMostHeld wait, or nobody knows who sent them.
  uint64_t unanswered() const { return unanswered_; }

 private:
  struct Held {
    mad::Address to;
    std::vector<uint8_t> reply;
  };
  // What one write makes true.
  struct Batch {
    uint64_t id = 0;  // 0: none is under way.
    RowChanges rows;
    std::vector<Held> replies;
    std::vector<NoticeFact> notices;
    std::shared_ptr<const ClientState> state;
  };

  explicit SaState(WallMs epoch) : epoch_(epoch) {}
  absl::Status Load(const StoredRows& rows);

  void On(ClientRequest request, Instant now);
  void On(FabricChanged changed, Instant now);
  void On(const RowsWritten& written, Instant now);
  void On(const TrapCame& trap, Instant now);
  void On(const mad::IncomingMad& mad, Instant now);
  void On(TimePassed, Instant now);
  void On(const StateReplaced& replaced, Instant now);

  uint16_t Change(const wire::SaHeader& header, const Asker& requester,
                  const ClientRequest& request, Instant now, std::vector<uint8_t>& reply);
  template <typename Record, typename Edit>
  uint16_t Apply(std::span<const uint8_t> data, std::vector<uint8_t>& reply, Edit edit);
  void KeepStandingGroups();
  void LookAt(Gid port, const SaView* before, Instant now);
  void DropPort(Gid port);
  void ReportPort(Guid port, uint16_t trap);
  void AddNotices(std::vector<GroupChange> changes);
  void AddNotices(const std::vector<AliasChange>& changes);
  NoticeFact NoticeOf(uint16_t trap, Gid about) const;
  void Report(const NoticeFact& fact);
  void BeginWrite(Instant now);
  WallMs WallAt(Instant now) const;
  Gid GidOf(Guid guid) const { return {view_->sm().gid_prefix, guid.value()}; }
  Gid OwnGid() const;

  const WallMs epoch_;
  std::shared_ptr<const SaView> view_;     // Null before the first.
  std::shared_ptr<const SaView> settled_;  // The last one in which what was missing was gone.
  ServiceTable services_;
  GroupTable groups_;
  AliasTable aliases_;
  SubscriptionTable subscriptions_;
  Reporter reporter_;

  Batch next_, under_way_;
  bool follows_ = false;       // StateReplaced has come.
  Instant retry_at_ = kNever;  // Of a write that failed.
  uint64_t last_write_ = 0, unanswered_ = 0;
  absl::flat_hash_map<Guid, Instant> absent_;  // Ports that keep what they have until then.
  absl::flat_hash_map<Guid, Instant> asked_;   // The last request of a port, since that view.
  absl::flat_hash_map<Lid, uint64_t>
      last_trap_;  // TransactionID: a trap is repeated until repressed.
  std::shared_ptr<const ClientState> published_;
  std::shared_ptr<const ClientState::Groups> told_groups_;
  std::shared_ptr<const fabric::AliasGuids> told_aliases_;
  StateEffects effects_;
};

}  // namespace fabricd::sa
