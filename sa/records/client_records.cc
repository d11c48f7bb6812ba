// SPDX-License-Identifier: Apache-2.0
#include "sa/records/client_records.h"

#include <algorithm>

#include "common/p_key.h"
#include "fabric/rate.h"
#include "mad/wire/sa_components.h"
#include "mad/wire/sa_path_records.h"
#include "sa/paths/path_query.h"
#include "sa/state/group_table.h"

namespace fabricd::sa {
namespace {

using wire::SaAttribute;
using wire::Selector;

constexpr uint8_t kLinkLocalScope = 2;

struct Query {
  const SaView& view;
  const Asker& asker;
  uint64_t mask;
  wire::RecordMatcher matcher;
  RecordTable& table;

  template <typename Record>
  void Offer(const Record& record) {
    std::array<uint8_t, Record::kBytes> bytes;
    record.Encode(bytes);
    if (!matcher.Matches(bytes)) return;
    if (uint8_t* at = table.Add(bytes.size())) std::copy(bytes.begin(), bytes.end(), at);
  }
  const EndPort* FindEnd(Gid gid) const {
    const uint32_t number =
        gid.prefix == view.sm().gid_prefix ? asker.FindPort(view, gid.guid()) : EndPorts::kNone;
    return number == EndPorts::kNone ? nullptr : &view.ends()[number];
  }
  bool MaySee(Gid gid) const {
    const EndPort* end = FindEnd(gid);
    return asker.trusted || (end != nullptr && asker.MaySee(view, *end));
  }
  bool IsIn(PKey partition) const {
    return asker.trusted || view.p_keys().Held(view.ends()[asker.end].p_keys, partition);
  }
};

bool MaySee(const Query& query, const Service& service) {
  if (query.asker.trusted) return true;
  const EndPorts& ends = query.view.ends();
  const uint32_t number = query.asker.FindPort(query.view, service.record.service_gid.guid());
  return number != EndPorts::kNone &&
         query.view.p_keys().MayTalk(ends[query.asker.end].p_keys, ends[number].p_keys,
                                     service.record.p_key);
}

void CollectServices(Query& query, const ClientState& state, WallMs now) {
  for (const auto& service : *state.services) {
    if (service->expires <= now || !MaySee(query, *service)) continue;
    wire::ServiceRecord record = service->record;
    if (service->expires != kForEver)
      record.lease = static_cast<uint32_t>((service->expires - now + 999) / 1000);
    if (!query.asker.trusted) record.key = {};
    query.Offer(record);
  }
}

void CollectSubscriptions(Query& query, const ClientState& state) {
  for (const Subscription& subscription : *state.subscriptions) {
    if (!query.MaySee(subscription.target.gid)) continue;
    wire::InformInfoRecord record{subscription.target.gid, subscription.number, subscription.info};
    if (!query.asker.trusted) record.info.qpn = 0;
    query.Offer(record);
  }
}

bool Suits(uint64_t mask, const wire::McMemberRecord& wanted, const wire::McMemberRecord& has) {
  using enum McComponent;
  const auto both = [&](McComponent a, McComponent b) { return Has(mask, a) && Has(mask, b); };
  const auto rank = fabric::RankOfRate;
  return (!both(kMtuSelector, kMtu) || Meets(wanted.mtu_selector, wanted.mtu, has.mtu)) &&
         (!both(kRateSelector, kRate) ||
          Meets(wanted.rate_selector, rank(wanted.rate), rank(has.rate))) &&
         (!both(kLifeTimeSelector, kLifeTime) ||
          Meets(wanted.life_time_selector, wanted.packet_life_time, has.packet_life_time));
}

// With bounds a value is not compared as it is, and states of joining are sets.
void IgnoreBounds(const wire::RecordLayout& layout, Query& query) {
  using enum McComponent;
  for (const McComponent component : {kMtuSelector, kMtu, kRateSelector, kRate, kLifeTimeSelector,
                                      kLifeTime, kJoinState, kPortGid})
    query.matcher.Ignore(layout.components[static_cast<size_t>(component)]);
}

void CollectGroups(Query& query, const ClientState& state, const wire::RecordLayout& layout,
                   const wire::McMemberRecord& wanted) {
  IgnoreBounds(layout, query);
  const bool of_port = Has(query.mask, McComponent::kPortGid);
  const bool by_state = Has(query.mask, McComponent::kJoinState);
  const bool own = of_port && query.FindEnd(wanted.port_gid) == &query.view.ends()[query.asker.end];
  for (const auto& group : *state.groups) {
    if (!query.IsIn(group->record.p_key) || !Suits(query.mask, wanted, group->record)) continue;
    const auto fits = [&](const Member& member) {
      return !by_state || (member.join_state & wanted.join_state) != 0;
    };
    if (!of_port && !query.asker.trusted) {
      query.Offer(group->record);
      continue;
    }
    if (of_port && !query.asker.trusted) {
      const Member* member = own ? group->Find(wanted.port_gid) : nullptr;
      if (member != nullptr && fits(*member)) query.Offer(group->record);
      continue;
    }
    const auto offer = [&](const Member& member) {
      wire::McMemberRecord record = group->record;
      record.port_gid = member.gid;
      record.join_state = member.join_state;
      record.proxy_join = member.requester != member.gid;
      if (fits(member)) query.Offer(record);
    };
    if (of_port) {
      if (const Member* member = group->Find(wanted.port_gid)) offer(*member);
    } else {
      std::for_each(group->members.begin(), group->members.end(), offer);
    }
  }
}

}  // namespace

bool IsClientAttribute(SaAttribute attribute) {
  return attribute == SaAttribute::kServiceRecord || attribute == SaAttribute::kMcMemberRecord ||
         attribute == SaAttribute::kInformInfoRecord;
}

uint16_t CollectClientRecords(const SaView& view, const ClientState& state, WallMs now,
                              const Asker& asker, const wire::SaHeader& header,
                              std::span<const uint8_t> bytes, RecordTable& table) {
  const wire::RecordLayout& layout = *wire::LayoutOf(header.attribute());
  Query query{view, asker, header.component_mask,
              wire::RecordMatcher(layout, header.component_mask, bytes), table};
  switch (header.attribute()) {
    case SaAttribute::kServiceRecord: CollectServices(query, state, now); break;
    case SaAttribute::kInformInfoRecord: CollectSubscriptions(query, state); break;
    default:
      CollectGroups(query, state, layout,
                    wire::McMemberRecord::Decode(bytes.first<wire::McMemberRecord::kBytes>()));
  }
  return table.is_full() ? wire::kSaStatusNoResources : wire::kStatusOk;
}

uint16_t CollectGroupPath(const SaView& view, const ClientState& state, const Asker& asker,
                          const wire::PathRecord& wanted, uint64_t mask, RecordTable& table) {
  const Group* group = state.FindGroup(wanted.dgid);
  if (group == nullptr) return wire::kStatusOk;
  uint32_t source = asker.end;
  if (Has(mask, PathComponent::kSgid)) source = asker.FindPort(view, wanted.sgid.guid());
  if (Has(mask, PathComponent::kSlid)) source = view.ends().FindLid(wanted.slid);
  if (source == EndPorts::kNone) return wire::kSaStatusRequestInvalidGid;
  const EndPort& end = view.ends()[source];
  if (!asker.MaySee(view, end)) return wire::kStatusOk;
  const auto query = PathQuery::Make(wanted, mask);
  if (!query) return wire::kSaStatusRequestInvalid;
  const wire::McMemberRecord& record = group->record;
  const bool is_other_key =
      query->p_key() && PartitionOf(query->p_key()) != PartitionOf(record.p_key);
  const bool is_other_lid = Has(mask, PathComponent::kDlid) && wanted.dlid != record.mlid;
  const bool is_other_level = Has(mask, PathComponent::kSl) && wanted.sl != record.sl;
  if (is_other_key || is_other_lid || is_other_level ||
      !view.p_keys().Held(end.p_keys, record.p_key))
    return wire::kStatusOk;
  Carriage carriage{record.mtu, fabric::RankOfRate(record.rate)};
  uint8_t life_time = record.packet_life_time;
  // A group's packets are of its own MTU and rate: neither may be lowered for one sender.
  const Carriage whole = carriage;
  if (end.link.mtu < whole.mtu || end.link.rate < whole.rate || !query->Fit(carriage, life_time) ||
      carriage != whole)
    return wire::kStatusOk;
  wire::PathRecord path = query->prototype();
  path.dgid = record.mgid;
  path.sgid = {view.sm().gid_prefix,
               Has(mask, PathComponent::kSgid) ? wanted.sgid.low : end.guid.value()};
  path.dlid = record.mlid;
  path.slid = Has(mask, PathComponent::kSlid) ? wanted.slid : Lid(end.base_lid);
  path.flow_label = record.flow_label;
  path.hop_limit = record.hop_limit;
  // A group that says no HopLimit is to leave the subnet all the same, if its scope does.
  if (path.hop_limit == 0 && (record.mgid.prefix >> 48 & 0xF) > kLinkLocalScope)
    path.hop_limit = kMostHops;
  path.traffic_class = record.traffic_class;
  path.p_key = record.p_key;
  path.sl = record.sl;
  path.mtu_selector = path.rate_selector = path.life_time_selector = Selector::kExactly;
  path.mtu = record.mtu;
  path.rate = record.rate;
  path.packet_life_time = record.packet_life_time;
  constexpr size_t kBytes = wire::PathRecord::kBytes;
  if (uint8_t* at = table.Add(kBytes)) path.Encode(std::span<uint8_t, kBytes>(at, kBytes));
  return wire::kStatusOk;
}

std::vector<Gid> ProvidersOf(const SaView& view, const ClientState& state, WallMs now,
                             const Asker& asker, uint64_t service_id) {
  std::vector<Gid> gids;
  const auto first = std::lower_bound(
      state.services->begin(), state.services->end(), service_id,
      [](const auto& service, uint64_t id) { return service->record.service_id < id; });
  for (auto at = first; at != state.services->end() && (*at)->record.service_id == service_id;
       ++at) {
    const Service& service = **at;
    const uint32_t number = asker.FindPort(view, service.record.service_gid.guid());
    if (service.expires <= now || number == EndPorts::kNone) continue;
    if (asker.MaySee(view, view.ends()[number]) &&
        (gids.empty() || gids.back() != service.record.service_gid))
      gids.push_back(service.record.service_gid);
  }
  return gids;
}

}  // namespace fabricd::sa
