// SPDX-License-Identifier: Apache-2.0
#include "sa/state/sa_state.h"

#include <algorithm>
#include <iterator>

#include "common/p_key.h"
#include "sa/state/group_rows.h"
#include "sa/state/group_trees.h"
#include "sa/wire/gsi.h"
#include "sa/wire/reply.h"
#include "sa/wire/row_codec.h"

namespace fabricd::sa {
namespace {

using wire::Method;
using wire::SaAttribute;

// Notices that the SM itself makes (IBA vol 1 §13.4.8.2, §14.2.5.1).
constexpr uint16_t kTrapGidIn = 64, kTrapGidOut = 65, kTrapGroupMade = 66, kTrapGroupGone = 67;
constexpr uint8_t kInformational = 3;
constexpr uint32_t kClassManager = 4;
constexpr size_t kGidInDetails = 6;

mad::OutgoingMad AnswerTo(mad::Address from, std::vector<uint8_t> payload) {
  mad::OutgoingMad out;
  out.agent = mad::Agent::kSubnAdm;
  out.to = from;
  out.to.qkey = kGsiQKey;
  out.payload = std::move(payload);
  return out;
}

}  // namespace

absl::StatusOr<std::unique_ptr<SaState>> SaState::Make(const StoredRows& rows, WallMs epoch) {
  std::unique_ptr<SaState> made(new SaState(epoch));
  const absl::Status loaded = made->Load(rows);
  if (!loaded.ok()) return loaded;
  made->told_aliases_ = made->aliases_.Snapshot();
  return made;
}

bool SaState::IsClientRow(const RowKey& key) {
  return key.table == ServiceTable::kTable || key.table == AliasTable::kTable ||
         key.table == SubscriptionTable::kTable || key.table == kGroupTable ||
         key.table == kMemberTable;
}

absl::Status SaState::Load(const StoredRows& rows) {
  // In the order of table names, so that a group comes before its members.
  for (const auto& [key, value] : rows) {
    if (!IsClientRow(key)) continue;
    absl::Status status;
    if (key.table == ServiceTable::kTable)
      status = services_.Load(key, value);
    else if (key.table == AliasTable::kTable)
      status = aliases_.Load(key, value);
    else if (key.table == SubscriptionTable::kTable)
      status = subscriptions_.Load(key, value);
    else
      status = groups_.Load(key, value);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

WallMs SaState::WallAt(Instant now) const {
  return epoch_ +
         std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
}

Gid SaState::OwnGid() const {
  const auto& managers = view_->sm().managers;
  return managers.empty() ? Gid() : GidOf(managers.front().info.guid);
}

void SaState::Step(StateEvent event, Instant now) {
  std::visit([&](auto&& what) { On(std::forward<decltype(what)>(what), now); }, std::move(event));
}

std::shared_ptr<const fabric::MulticastGroups> SaState::Trees() {
  return std::make_shared<const fabric::MulticastGroups>(
      TreesOf(*groups_.Snapshot(), *aliases_.Snapshot()));
}

// ---- requests

void SaState::On(ClientRequest request, Instant now) {
  const auto header =
      wire::SaHeader::Decode(std::span<const uint8_t>(request.payload).first<wire::kMadBytes>());
  // By the aliases that were published.
  const Asker requester{
      view_ == nullptr ? EndPorts::kNone : view_->ends().FindLid(request.from.lid),
      static_cast<bool>(header.sm_key),
      published_ == nullptr ? nullptr : published_->aliases.get()};
  if (requester.end == EndPorts::kNone || next_.replies.size() >= kMostHeld) {
    ++unanswered_;
    return;
  }
  asked_[view_->ends()[requester.end].guid] = now;
  std::vector<uint8_t> reply(wire::kSaDataAt);
  const uint16_t status = Change(header, requester, request, now, reply);
  if (status != wire::kStatusOk) {
    if (Refuse(request.payload, status, reply))
      effects_.send.push_back(AnswerTo(request.from, std::move(reply)));
    return;
  }
  FinishReply(header, status, reply);
  next_.replies.push_back({request.from, std::move(reply)});
}

template <typename Record, typename Edit>
uint16_t SaState::Apply(std::span<const uint8_t> data, std::vector<uint8_t>& reply, Edit edit) {
  Record record = Record::Decode(data.first<Record::kBytes>());
  const uint16_t status = edit(record);
  if (status == wire::kStatusOk) RecordTable(reply).Append(record);
  return status;
}

uint16_t SaState::Change(const wire::SaHeader& header, const Asker& requester,
                         const ClientRequest& request, Instant now, std::vector<uint8_t>& reply) {
  const auto data = std::span<const uint8_t>(request.payload).subspan(wire::kSaDataAt);
  const bool is_set = header.mad.method == Method::kSet;
  const uint64_t mask = header.component_mask;
  std::vector<GroupChange> changes;
  uint16_t status = wire::kStatusUnsupportedMethodAttribute;
  switch (header.attribute()) {
    case SaAttribute::kServiceRecord:
      return Apply<wire::ServiceRecord>(data, reply, [&](wire::ServiceRecord& record) {
        const auto change = is_set ? &ServiceTable::Set : &ServiceTable::Delete;
        return (services_.*change)(*view_, requester, mask, WallAt(now), record, next_.rows);
      });
    case SaAttribute::kMcMemberRecord:
      status = Apply<wire::McMemberRecord>(data, reply, [&](wire::McMemberRecord& record) {
        const auto change = is_set ? &GroupTable::Join : &GroupTable::Leave;
        return (groups_.*change)(*view_, requester, mask, record, next_.rows, changes);
      });
      AddNotices(std::move(changes));
      return status;
    case SaAttribute::kGuidInfoRecord: {
      std::vector<AliasChange> aliases;
      const auto in_use = [this](Guid alias) { return groups_.IsMember(GidOf(alias)); };
      status = Apply<wire::GuidInfoRecord>(data, reply, [&](wire::GuidInfoRecord& record) {
        const auto change = is_set ? &AliasTable::Set : &AliasTable::Delete;
        return (aliases_.*change)(*view_, requester, mask, in_use, record, next_.rows, aliases);
      });
      AddNotices(aliases);
      return status;
    }
    case SaAttribute::kInformInfo:
      return Apply<wire::InformInfo>(data, reply, [&](wire::InformInfo& info) {
        const ReportTarget target{GidOf(view_->ends()[requester.end].guid), request.from.qpn,
                                  request.from.sl, request.from.pkey_index, request.from.global};
        return subscriptions_.Set(*view_, requester, target, info, next_.rows);
      });
    default: return status;
  }
}

// ---- durability

void SaState::BeginWrite(Instant now) {
  if (under_way_.id != 0 || (retry_at_ != kNever && now < retry_at_)) return;
  retry_at_ = kNever;
  auto state = std::make_shared<ClientState>();
  state->services = services_.Snapshot();
  state->groups = groups_.Snapshot();
  state->subscriptions = subscriptions_.Snapshot();
  state->aliases = aliases_.Snapshot();
  next_.state = std::move(state);
  under_way_ = std::exchange(next_, {});
  under_way_.id = ++last_write_;
  if (under_way_.rows.empty())
    On(RowsWritten{under_way_.id, absl::OkStatus()}, now);
  else
    effects_.write = WriteRows{under_way_.id, under_way_.rows};
}

void SaState::On(const RowsWritten& written, Instant now) {
  if (written.id != under_way_.id) return;
  Batch batch = std::exchange(under_way_, {});
  if (!written.status.ok()) {
    effects_.warnings.push_back(
        fmt::format("client state cannot be written: {}", std::string(written.status.message())));
    // What has changed since is newer.
    next_.rows.merge(batch.rows);
    next_.notices.insert(next_.notices.begin(), batch.notices.begin(), batch.notices.end());
    std::move(next_.replies.begin(), next_.replies.end(), std::back_inserter(batch.replies));
    next_.replies = std::move(batch.replies);
    retry_at_ = now + kRetryWrite;
    return;
  }
  if (published_ == nullptr || published_->services != batch.state->services ||
      published_->groups != batch.state->groups ||
      published_->subscriptions != batch.state->subscriptions ||
      published_->aliases != batch.state->aliases) {
    published_ = batch.state;
    effects_.publish = published_;
  }
  if (told_groups_ != published_->groups) {
    told_groups_ = published_->groups;
    effects_.groups = std::make_shared<const fabric::MulticastGroups>(
        TreesOf(*told_groups_, *published_->aliases));
  }
  if (told_aliases_ != published_->aliases) effects_.aliases = told_aliases_ = published_->aliases;
  for (Held& held : batch.replies)
    effects_.send.push_back(AnswerTo(held.to, std::move(held.reply)));
  for (const NoticeFact& fact : batch.notices) Report(fact);
}

// ---- the fabric

void SaState::On(FabricChanged changed, Instant now) {
  view_ = std::move(changed.view);
  const auto& foreign = view_->input().foreign_mlids;
  groups_.Avoid(foreign == nullptr ? std::vector<Lid>() : *foreign);
  KeepStandingGroups();
  if (!changed.settled) return;
  const auto before = std::exchange(settled_, view_);
  absl::erase_if(asked_, [&](const auto& each) { return each.second <= changed.published; });
  if (before != nullptr) {
    for (uint32_t number = 0; number < view_->ends().size(); ++number)
      if (const Guid guid = view_->ends()[number].guid;
          before->ends().FindGuid(guid) == EndPorts::kNone)
        ReportPort(guid, kTrapGidIn);
    for (uint32_t number = 0; number < before->ends().size(); ++number)
      if (const Guid guid = before->ends()[number].guid;
          view_->ends().FindGuid(guid) == EndPorts::kNone)
        ReportPort(guid, kTrapGidOut);
  }
  std::vector<Gid> ports = groups_.Ports();
  const std::vector<Gid> subscribers = subscriptions_.Ports();
  ports.insert(ports.end(), subscribers.begin(), subscribers.end());
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  for (const Gid port : ports) LookAt(port, before.get(), now);
}

// A port that has something here: is it still there?
void SaState::LookAt(Gid port, const SaView* before, Instant now) {
  const Asker nobody{EndPorts::kNone, true, told_aliases_.get()};
  if (nobody.FindPort(*view_, port.guid()) != EndPorts::kNone) {
    absent_.erase(port.guid());
    return;
  }
  if (absent_.contains(port.guid())) return;
  const uint32_t number =
      before == nullptr ? EndPorts::kNone : nobody.FindPort(*before, port.guid());
  if (number != EndPorts::kNone) {
    const EndPort& end = before->ends()[number];
    const bool is_alone = end.peer.IsNone() || view_->snapshot().node(end.peer.node) != nullptr;
    if (is_alone && !asked_.contains(end.guid)) {
      DropPort(port);
      return;
    }
  }
  absent_[port.guid()] = now + kAbsence;
}

void SaState::DropPort(Gid port) {
  std::vector<GroupChange> changes;
  groups_.DropPort(port, next_.rows, changes);
  subscriptions_.DropPort(port, next_.rows);
  reporter_.Forget(port);
  absent_.erase(port.guid());
  AddNotices(std::move(changes));
}

void SaState::KeepStandingGroups() {
  std::vector<wire::McMemberRecord> records = view_->input().standing_groups;
  for (wire::McMemberRecord& record : records) {
    record.mtu_selector = record.rate_selector = record.life_time_selector =
        wire::Selector::kExactly;
    record.packet_life_time = view_->sm().packet_life_time;
  }
  std::vector<GroupChange> changes;
  groups_.SetPermanent(records, next_.rows, changes);
  AddNotices(std::move(changes));
}

// ---- notices

NoticeFact SaState::NoticeOf(uint16_t trap, Gid about) const {
  NoticeFact fact;
  fact.notice.type = kInformational;
  fact.notice.producer = kClassManager;
  fact.notice.trap = trap;
  fact.issuer = OwnGid();
  const uint32_t own = view_->ends().FindGuid(fact.issuer.guid());
  if (own != EndPorts::kNone) fact.notice.issuer_lid = Lid(view_->ends()[own].base_lid);
  StoreGid(about, fact.notice.details.data() + kGidInDetails);
  return fact;
}

void SaState::ReportPort(Guid port, uint16_t trap) {
  NoticeFact fact = NoticeOf(trap, GidOf(port));
  fact.subject = port;
  Report(fact);
}

void SaState::AddNotices(std::vector<GroupChange> changes) {
  for (const GroupChange& each : changes) {
    NoticeFact fact = NoticeOf(each.created ? kTrapGroupMade : kTrapGroupGone, each.mgid);
    fact.p_key = each.p_key;
    next_.notices.push_back(fact);
  }
}

void SaState::AddNotices(const std::vector<AliasChange>& changes) {
  for (const AliasChange& each : changes) {
    NoticeFact fact = NoticeOf(each.in_service ? kTrapGidIn : kTrapGidOut, GidOf(each.alias));
    fact.subject = each.port;
    next_.notices.push_back(fact);
  }
}

// Only to whom it was answered that he is subscribed, or is being answered.
void SaState::Report(const NoticeFact& fact) {
  if (published_ == nullptr) return;
  const auto shared = std::make_shared<const NoticeFact>(fact);
  for (const ReportTarget& target : TargetsOf(*view_, *published_->subscriptions, fact))
    reporter_.Add(target, shared);
}

void SaState::On(const TrapCame& trap, Instant) {
  if (view_ == nullptr) return;
  const uint32_t number = view_->ends().FindLid(trap.from);
  if (number == EndPorts::kNone) return;
  // Sent again because the SM's answer to it was lost or is late.
  if (std::exchange(last_trap_[trap.from], trap.transaction_id) == trap.transaction_id) return;
  NoticeFact fact;
  fact.notice = trap.notice;
  fact.subject = view_->ends()[number].guid;
  fact.issuer = GidOf(fact.subject);
  Report(fact);
}

void SaState::On(const mad::IncomingMad& mad, Instant) {
  if (!reporter_.On(mad)) return;
  for (const ReportTarget& target : reporter_.TakeDead()) {
    effects_.warnings.push_back(
        fmt::format("{:#x} QP {} answers no Report: its subscriptions are dropped", target.gid.low,
                    target.qpn));
    subscriptions_.DropTarget(target, next_.rows);
    reporter_.Forget(target.gid);
  }
}

// ---- another node's

void SaState::On(const StateReplaced& replaced, Instant) {
  follows_ = true;
  auto made = Make(replaced.rows, epoch_);
  if (!made.ok()) {
    effects_.warnings.push_back(fmt::format("what the master has stored cannot be read: {}",
                                            std::string(made.status().message())));
    return;
  }
  services_ = std::move((*made)->services_);
  groups_ = std::move((*made)->groups_);
  aliases_ = std::move((*made)->aliases_);
  subscriptions_ = std::move((*made)->subscriptions_);
  next_ = {};
  under_way_ = {};
  retry_at_ = kNever;
  published_ = nullptr;  // It is durable already.
}

// ---- time

void SaState::On(TimePassed, Instant now) {
  if (follows_) return;
  services_.Expire(WallAt(now), next_.rows);
  if (view_ == nullptr) return;
  std::vector<Guid> gone;
  for (const auto& [guid, until] : absent_)
    if (until <= now) gone.push_back(guid);
  std::sort(gone.begin(), gone.end());
  for (const Guid guid : gone) DropPort(GidOf(guid));
}

Instant SaState::NextDeadline() const {
  if (follows_) return kNever;
  Instant next = retry_at_;
  for (const auto& [guid, until] : absent_) next = std::min(next, until);
  if (services_.next_expiry() != kForEver)
    next = std::min(next, Instant(std::chrono::milliseconds(services_.next_expiry() - epoch_)));
  return next;
}

StateEffects SaState::TakeEffects(Instant now) {
  if (!next_.rows.empty() || !next_.replies.empty() || !next_.notices.empty() ||
      published_ == nullptr)
    BeginWrite(now);
  if (view_ != nullptr) reporter_.Send(*view_, effects_.send);
  return std::exchange(effects_, {});
}

}  // namespace fabricd::sa
