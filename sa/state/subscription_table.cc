// SPDX-License-Identifier: Apache-2.0
#include "sa/state/subscription_table.h"

#include <algorithm>

#include "common/status.h"
#include "sa/wire/row_codec.h"

namespace fabricd::sa {
namespace {

constexpr size_t kRecordBytes = wire::InformInfoRecord::kBytes;
constexpr size_t kRowBytes = kRecordBytes + 4;  // SL, P_Key index, trusted.
// Where the subscriber has a GRH: GID, its index, hop limit, traffic class, flow label.
constexpr size_t kRouteAt = kRowBytes, kGlobalRowBytes = kRowBytes + 16 + 3 + 8;

constexpr uint16_t kAny = 0xFFFF;  // LIDs, trap numbers and types.
constexpr uint32_t kAnyProducer = 0xFFFFFF;
constexpr uint16_t kFirstSecurityTrap = 256, kLastSecurityTrap = 259;

RowKey KeyOf(const Subscription& subscription) {
  return {SubscriptionTable::kTable,
          fmt::format("{} {:05}", TextOf(subscription.target.gid), subscription.number)};
}

std::string RowOf(const Subscription& subscription) {
  std::string bytes = BytesOf(
      wire::InformInfoRecord{subscription.target.gid, subscription.number, subscription.info});
  bytes.push_back(static_cast<char>(subscription.target.sl.value()));
  bytes.push_back(static_cast<char>(subscription.target.pkey_index >> 8));
  bytes.push_back(static_cast<char>(subscription.target.pkey_index & 0xFF));
  bytes.push_back(static_cast<char>(subscription.trusted));
  if (!subscription.target.global) return bytes;
  const mad::GlobalRoute& route = *subscription.target.global;
  AppendNumber(route.gid.prefix, bytes);
  AppendNumber(route.gid.low, bytes);
  for (uint8_t byte : {route.gid_index, route.hop_limit, route.traffic_class})
    bytes.push_back(static_cast<char>(byte));
  AppendNumber(route.flow_label, bytes);
  return bytes;
}

// REQUIRES: kGlobalRowBytes.
mad::GlobalRoute RouteOf(const std::string& row) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(row[kRouteAt + 16 + i]); };
  return {{NumberAt(row, kRouteAt), NumberAt(row, kRouteAt + 8)},
          byte(0),
          byte(1),
          byte(2),
          static_cast<uint32_t>(NumberAt(row, kRouteAt + 19))};
}

bool IsSecurity(uint16_t trap) { return trap >= kFirstSecurityTrap && trap <= kLastSecurityTrap; }

// What two subscriptions to the same notices have in common.
bool IsSame(const wire::InformInfo& a, const wire::InformInfo& b) {
  const auto what = [](wire::InformInfo info) {
    info.subscribe = 0;
    info.qpn = 0;
    info.resp_time_value = 0;
    return info;
  };
  return what(a) == what(b);
}

bool Wants(const Subscription& subscription, const NoticeFact& fact) {
  const wire::InformInfo& info = subscription.info;
  const wire::Notice& notice = fact.notice;
  if ((info.is_generic != 0) != notice.generic) return false;
  if (info.type != kAny && info.type != notice.type) return false;
  if (info.trap_number != kAny && info.trap_number != notice.trap) return false;
  if (info.producer_type != kAnyProducer && info.producer_type != notice.producer) return false;
  if (notice.generic && IsSecurity(notice.trap) && !subscription.trusted) return false;
  if (info.gid) return info.gid == fact.issuer;
  if (info.lid_range_begin.value() == kAny) return true;
  // An end that is not given makes a range of one.
  const Lid end = info.lid_range_end ? info.lid_range_end : info.lid_range_begin;
  return notice.issuer_lid >= info.lid_range_begin && notice.issuer_lid <= end;
}

bool MayBeTold(const SaView& view, const Subscription& subscription, const NoticeFact& fact) {
  const uint32_t number = view.ends().FindGuid(subscription.target.gid.guid());
  if (number == EndPorts::kNone) return false;
  if (subscription.trusted) return true;
  const EndPort& own = view.ends()[number];
  if (fact.p_key) return view.p_keys().Held(own.p_keys, fact.p_key);
  const uint32_t subject = view.ends().FindGuid(fact.subject);
  // Of a port that is gone the partitions are not known any more; its GID is no secret.
  return subject == EndPorts::kNone || Asker{number}.MaySee(view, view.ends()[subject]);
}

}  // namespace

absl::Status SubscriptionTable::Load(const RowKey& key, const std::string& value) {
  Subscription loaded;
  const bool is_row = value.size() == kRowBytes || value.size() == kGlobalRowBytes;
  if (is_row) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(value[kRecordBytes + i]); };
    const auto record = RecordOf<wire::InformInfoRecord>(value);
    loaded.target = {record.subscriber_gid, record.info.qpn, ServiceLevel(byte(0)),
                     static_cast<uint16_t>(byte(1) << 8 | byte(2))};
    if (value.size() == kGlobalRowBytes) loaded.target.global = RouteOf(value);
    loaded.trusted = byte(3) != 0;
    loaded.number = record.number;
    loaded.info = record.info;
  }
  if (!is_row || KeyOf(loaded) != key)
    return MakeStatus(absl::StatusCode::kDataLoss, "subscription {}: no row of fabricd's", key.key);
  subscriptions_[{loaded.target.gid, loaded.number}] = loaded;
  snapshot_ = nullptr;
  return absl::OkStatus();
}

SubscriptionTable::Subscriptions::iterator SubscriptionTable::Erase(Subscriptions::iterator found,
                                                                    RowChanges& rows) {
  rows[KeyOf(found->second)] = std::nullopt;
  snapshot_ = nullptr;
  return subscriptions_.erase(found);
}

template <typename Predicate>
void SubscriptionTable::EraseOf(Gid port, RowChanges& rows, Predicate predicate) {
  auto at = subscriptions_.lower_bound({port, 0});
  while (at != subscriptions_.end() && at->first.first == port)
    at = predicate(at->second) ? Erase(at, rows) : std::next(at);
}

uint16_t SubscriptionTable::Set(const SaView& view, const Asker& asker, const ReportTarget& from,
                                wire::InformInfo& info, RowChanges& rows) {
  if (info.is_generic > 1 || info.subscribe > 1) return wire::kSaStatusRequestInvalid;
  if (info.gid && view.ends().FindGuid(info.gid.guid()) == EndPorts::kNone)
    return wire::kSaStatusRequestInvalidGid;
  const bool is_range = !info.gid && info.lid_range_begin.value() != kAny;
  if (is_range && info.lid_range_end && info.lid_range_end < info.lid_range_begin)
    return wire::kSaStatusRequestInvalid;
  if (info.is_generic != 0 && IsSecurity(info.trap_number) && !asker.trusted)
    return wire::kSaStatusRequestInvalid;
  const Place place = Find(from, info);
  const bool exists = place.found != subscriptions_.end();
  const bool subscribe = info.subscribe != 0;
  info.qpn = from.qpn;
  if (!subscribe) {
    if (!exists) return wire::kSaStatusRequestInvalid;
    Erase(place.found, rows);
    return wire::kStatusOk;
  }
  if (exists) {
    Subscription there = place.found->second;
    // It may be reached otherwise now.
    if (std::exchange(there.target, from) != from) Keep(there, rows);
    return wire::kStatusOk;
  }
  if (place.is_full) return wire::kSaStatusNoResources;
  Keep({from, place.free, info, asker.trusted}, rows);
  return wire::kStatusOk;
}

SubscriptionTable::Place SubscriptionTable::Find(const ReportTarget& from,
                                                 const wire::InformInfo& info) {
  Place place{subscriptions_.end(), 0, false};
  size_t count = 0;
  for (auto at = subscriptions_.lower_bound({from.gid, 0});
       at != subscriptions_.end() && at->first.first == from.gid; ++at, ++count) {
    if (at->second.target.qpn == from.qpn && IsSame(at->second.info, info)) place.found = at;
    if (at->first.second == place.free) ++place.free;
  }
  place.is_full = count >= kMostOfPort || subscriptions_.size() >= kMost;
  return place;
}

void SubscriptionTable::Keep(const Subscription& subscription, RowChanges& rows) {
  rows[KeyOf(subscription)] = RowOf(subscription);
  subscriptions_[{subscription.target.gid, subscription.number}] = subscription;
  snapshot_ = nullptr;
}

bool SubscriptionTable::Import(Subscription subscription, RowChanges& rows) {
  const Place place = Find(subscription.target, subscription.info);
  if (place.found != subscriptions_.end() || place.is_full) return false;
  subscription.number = place.free;
  Keep(subscription, rows);
  return true;
}

void SubscriptionTable::DropPort(Gid port, RowChanges& rows) {
  EraseOf(port, rows, [](const Subscription&) { return true; });
}

void SubscriptionTable::DropTarget(const ReportTarget& target, RowChanges& rows) {
  EraseOf(target.gid, rows,
          [&](const Subscription& subscription) { return subscription.target.qpn == target.qpn; });
}

std::vector<ReportTarget> TargetsOf(const SaView& view,
                                    const ClientState::Subscriptions& subscriptions,
                                    const NoticeFact& fact) {
  std::vector<ReportTarget> targets;
  for (const Subscription& subscription : subscriptions) {
    if (!Wants(subscription, fact) || !MayBeTold(view, subscription, fact)) continue;
    const auto is_same = [&](const ReportTarget& target) {
      return target.gid == subscription.target.gid && target.qpn == subscription.target.qpn;
    };
    // Those of one port lie together.
    if (std::none_of(targets.rbegin(),
                     targets.rbegin() + static_cast<ptrdiff_t>(std::min(
                                            targets.size(), SubscriptionTable::kMostOfPort)),
                     is_same))
      targets.push_back(subscription.target);
  }
  return targets;
}

std::vector<Gid> SubscriptionTable::Ports() const {
  std::vector<Gid> ports;
  for (const auto& [key, subscription] : subscriptions_)
    if (ports.empty() || ports.back() != key.first) ports.push_back(key.first);
  return ports;
}

std::shared_ptr<const ClientState::Subscriptions> SubscriptionTable::Snapshot() {
  if (snapshot_ != nullptr) return snapshot_;
  auto made = std::make_shared<ClientState::Subscriptions>();
  made->reserve(subscriptions_.size());
  for (const auto& [key, subscription] : subscriptions_) made->push_back(subscription);
  snapshot_ = std::move(made);
  return snapshot_;
}

}  // namespace fabricd::sa
