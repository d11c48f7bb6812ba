// SPDX-License-Identifier: Apache-2.0
// The fields of the core's inputs, for archive.h. A field that is added to one of these types must
// be added here too, and Header::schema must grow (format.h).
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "fabric/alias_guids.h"
#include "fabric/lid_record.h"
#include "fabric/multicast_groups.h"
#include "policy/partition_state.h"
#include "recorder/archive.h"
#include "sweep/interface/events.h"
#include "sweep/takeover/takeover_record.h"

namespace fabricd::recorder {

// ---- options

template <typename A>
void Visit(A& a, mad::EngineOptions& o) {
  a(o.first_transaction_id, o.window_initial, o.window_max, o.window_floor, o.window_growth,
    o.window_patient, o.device_limit, o.subtree_limit, o.first_timeout, o.timeout_factor,
    o.timeout_cap, o.retries, o.alternative_after, o.safety_margin, o.first_contact, o.window_first,
    o.device_trial, o.queue_delay);
}
template <typename A>
void Visit(A& a, sweep::SmOptions& o) {
  a(o.mode, o.priority, o.sm_key, o.polling_timeout, o.polling_retries, o.shares_state,
    o.unresponsive_master, o.doubts_polls, o.sharing_ports, o.last_master, o.gid_prefix, o.m_key,
    o.m_key_lease_period, o.m_key_protect_bits, o.m_key_by_guid, o.m_key_secret,
    o.former_m_key_secrets, o.former_m_keys, o.neighbors);
}
template <typename A>
void Visit(A& a, sweep::LinkOptions& o) {
  a(o.max_operational_vls, o.subnet_timeout, o.packet_life_time, o.hoq_life, o.leaf_hoq_life,
    o.vl_stall_count, o.local_phy_errors, o.overrun_errors);
}
template <typename A>
void Visit(A& a, sweep::AuditOptions& o) {
  a(o.enabled, o.repairs, o.rate);
}
template <typename A>
void Visit(A& a, sweep::SweepOptions& o) {
  a(o.light_interval, o.heavy_interval, o.accept_foreign_ar, o.on_trap, o.report_window,
    o.survey_patience, o.settle_after, o.hop_patience, o.retry_min, o.retry_max,
    o.unresponsive_grace, o.keep_unresponsive);
}
template <typename A>
void Visit(A& a, fabric::HostPatterns& patterns) {
  std::string host = patterns.host_text(), rail = patterns.rail_text();
  a(host, rail);
  if constexpr (A::kReads) {
    auto compiled = fabric::HostPatterns::Compile(host, rail);
    if (compiled.ok())
      patterns = *std::move(compiled);
    else
      a.Fail();
  }
}
template <typename A>
void Visit(A& a, routing::RoutingOptions& o) {
  a(o.chain, o.roots, o.lanes_max, o.engine_budget, o.balance, o.host_patterns, o.threads);
}
template <typename A>
void Visit(A& a, policy::DampingOptions& o) {
  a(o.enabled, o.penalty, o.suppress, o.reuse, o.half_life, o.max_suppress, o.max_suppressed);
}
template <typename A>
void Visit(A& a, policy::HoldOptions& o) {
  a(o.max_holds, o.budget, o.budget_per_mille);
}
template <typename A>
void Visit(A& a, policy::RateRule& o) {
  a(o.mode, o.threshold, o.window);
}
template <typename A>
void Visit(A& a, policy::ConditionOptions::Exclusion& o) {
  a(o.node, o.until_ms);
}
template <typename A>
void Visit(A& a, policy::ConditionOptions& o) {
  a(o.link_flapping, o.noisy_traps, o.trap_storm, o.unresponsive, o.set_errors, o.breaker_percent,
    o.breaker_window, o.releases_per_week, o.exclude);
}
template <typename A>
void Visit(A& a, policy::PartitionOptions& o) {
  a(o.enforce_inbound, o.enforce_outbound, o.keep_foreign, o.isolated_in_default);
}
template <typename A>
void Visit(A& a, policy::PolicyOptions& o) {
  a(o.damping, o.holds, o.conditions, o.partitions);
}
template <typename A>
void Visit(A& a, sweep::TakeoverOptions& o) {
  a(o.unresponsive_percent, o.accept, o.return_within);
}
template <typename A>
void Visit(A& a, sweep::CoreOptions& o) {
  a(o.smp, o.sm, o.link, o.sweep, o.audit, o.lmc, o.lmc_enhanced_port0, o.routing, o.policy,
    o.takeover);
}

// ---- holds

template <typename A>
void Visit(A& a, policy::HeldPort& port) {
  a(port.node, port.port);
}
template <typename A>
void Visit(A& a, policy::HoldTarget& target) {
  a(target.kind, target.name, target.nodes, target.ports, target.facing, target.behind);
}
template <typename A>
void Visit(A& a, policy::Hold& hold) {
  a(hold.id, hold.kind, hold.mode, hold.target, hold.owner, hold.reason, hold.created, hold.expires,
    hold.request_id, hold.acknowledged, hold.forced, hold.lifted, hold.ended, hold.fingerprint,
    hold.delete_request_id);
}
template <typename A>
void Visit(A& a, policy::StoredHolds& stored) {
  a(stored.holds, stored.highest_id);
}

template <typename A>
void Visit(A& a, policy::ActionRecord::SuppressedLink& link) {
  a(link.a, link.b, link.penalty, link.at, link.flaps);
}
template <typename A>
void Visit(A& a, policy::ActionRecord::Release& release) {
  a(release.port, release.at);
}
template <typename A>
void Visit(A& a, policy::ActionRecord& record) {
  a(record.suppressed, record.releases, record.breaker_tripped);
}

// ---- partitions, groups, aliases, LIDs

template <typename A>
void Visit(A& a, Gid& gid) {
  a(gid.prefix, gid.low);
}
template <typename A>
void Visit(A& a, policy::Member& member) {
  a(member.guid, member.ports, member.membership);
}
template <typename A>
void Visit(A& a, policy::GroupTraits& traits) {
  a(traits.mtu, traits.rate, traits.sl, traits.scopes, traits.q_key, traits.traffic_class,
    traits.flow_label);
}
template <typename A>
void Visit(A& a, policy::PartitionGroup& group) {
  a(group.mgid, group.traits);
}
template <typename A>
void Visit(A& a, policy::Partition& partition) {
  a(partition.number, partition.name, partition.index0, partition.ipoib, partition.groups,
    partition.members);
}
template <typename A>
void Visit(A& a, policy::Partitions& partitions) {
  a(partitions.list);
}
template <typename A>
void Visit(A& a, policy::PartitionRequest& request) {
  a(request.verb, request.all, request.partition, request.fields, request.file_digest,
    request.request_id, request.fingerprint, request.unread, request.revision);
}
// As its stored rows.
template <typename A>
void Visit(A& a, policy::PartitionState& state) {
  std::vector<std::string> rows;  // Table, key and value of each row.
  if constexpr (!A::kReads)
    for (const auto& [key, value] : policy::PartitionRows({}, state))
      if (value) rows.insert(rows.end(), {key.table, key.key, *value});
  a(rows);
  if constexpr (A::kReads) {
    StoredRows stored;
    for (size_t i = 0; i + 2 < rows.size(); i += 3) stored[{rows[i], rows[i + 1]}] = rows[i + 2];
    auto loaded = policy::LoadPartitions(stored);
    if (loaded.ok() && rows.size() % 3 == 0)
      state = *std::move(loaded);
    else
      a.Fail();
  }
}
template <typename A>
void Visit(A& a, fabric::MulticastMember& member) {
  a(member.port_guid, member.receives);
}
template <typename A>
void Visit(A& a, fabric::MulticastGroup& group) {
  a(group.mlid, group.mtu, group.rate, group.sl, group.p_key, group.members);
}
template <typename A>
void Visit(A& a, fabric::MulticastGroups& groups) {
  a(groups.groups);
}
template <typename A>
void Visit(A& a, wire::GuidInfo& info) {
  a(info.guids);
}
template <typename A>
void Visit(A& a, fabric::AliasBlock& block) {
  a(block.port, block.block, block.said, block.info);
}
template <typename A>
void Visit(A& a, fabric::AliasGuids& aliases) {
  std::vector<fabric::AliasBlock> blocks = aliases.blocks();
  a(blocks);
  if constexpr (A::kReads) {
    const auto is_out_of_order = [](const fabric::AliasBlock& x, const fabric::AliasBlock& y) {
      return std::tie(x.port, x.block) >= std::tie(y.port, y.block);
    };
    if (std::adjacent_find(blocks.begin(), blocks.end(), is_out_of_order) != blocks.end())
      a.Fail();
    else
      aliases = fabric::AliasGuids(std::move(blocks));
  }
}
template <typename A>
void Visit(A& a, fabric::LidRecord& record) {
  a(record.port_guid, record.base_lid, record.lmc, record.last_seen);
}

// ---- events without a message of their own

template <typename A>
void Visit(A& a, sweep::StartEvent& event) {
  a(event.epoch);
}
template <typename A>
void Visit(A& a, sweep::WallClockSet& event) {
  a(event.epoch);
}
template <typename A>
void Visit(A&, sweep::TimerEvent&) {}
template <typename A>
void Visit(A& a, mad::LocalPortEvent& event) {
  a(event.kind);
}
template <typename A>
void Visit(A& a, sweep::SweepCommand& event) {
  a(event.command, event.heavy);
}
template <typename A>
void Visit(A& a, sweep::OptionsChanged& event) {
  a(event.options);
}
template <typename A>
void Visit(A& a, sweep::CreateHold& event) {
  a(event.command, event.hold, event.ttl, event.unresolved, event.validate_only, event.renews);
}
template <typename A>
void Visit(A& a, policy::HoldBook::DeleteRequest& request) {
  a(request.id, request.owner, request.any_owner, request.request_id);
}
template <typename A>
void Visit(A& a, sweep::DeleteHold& event) {
  a(event.command, event.request);
}
template <typename A>
void Visit(A& a, sweep::AckHold& event) {
  a(event.command, event.id, event.asker, event.any_owner);
}
template <typename A>
void Visit(A& a, sweep::ClearDamping& event) {
  a(event.command, event.end.node, event.end.port, event.validate_only);
}
template <typename A>
void Visit(A& a, sweep::ChangePartitions& event) {
  a(event.command, event.request, event.validate_only, event.of_this_host, event.by);
}
template <typename A, typename T>
void VisitShared(A& a, std::shared_ptr<const T>& shared) {
  T value = shared == nullptr ? T() : *shared;
  a(value);
  if constexpr (A::kReads) shared = std::make_shared<const T>(std::move(value));
}
template <typename A>
void Visit(A& a, sweep::GroupsChanged& event) {
  VisitShared(a, event.groups);
}
template <typename A>
void Visit(A& a, sweep::AliasesChanged& event) {
  VisitShared(a, event.aliases);
}
template <typename A>
void Visit(A& a, sweep::StoredStateChanged& event) {
  a(event.holds);
  VisitShared(a, event.partitions);
}
template <typename A>
void Visit(A& a, sweep::SharingPorts& event) {
  a(event.ports);
}
template <typename A>
void Visit(A&, sweep::StoreTakesWrites&) {}
template <typename A>
void Visit(A& a, sweep::ReadLanes& event) {
  a(event.nodes);
}
template <typename A>
void Visit(A& a, sweep::SetPriority& event) {
  a(event.command, event.priority, event.validate_only);
}
template <typename A>
void Visit(A& a, sweep::StepDown& event) {
  a(event.command, event.validate_only, event.request_id);
}
template <typename A>
void Visit(A& a, sweep::AcceptTakeover& event) {
  a(event.command, event.id);
}
template <typename A>
void Visit(A& a, routing::Row& row) {
  std::string entries;
  if constexpr (!A::kReads) {
    entries.reserve(row.size());
    for (size_t page = 0; page < row.pages(); ++page)
      entries.append(reinterpret_cast<const char*>(row.page(page)), row.PageSize(page));
  }
  a(entries);
  if constexpr (A::kReads)
    row =
        routing::Row::Of(reinterpret_cast<const uint8_t*>(entries.data()), entries.size(), nullptr);
}
template <typename A>
void Visit(A& a, sweep::SwitchTables& tables) {
  a(tables.rows, tables.unread, tables.computed);
}
template <typename A>
void Visit(A& a, sweep::TakeoverRecord& record) {
  a(record.sm_ports, record.prefixes, record.lmcs, record.protect_bits, record.accepted,
    record.outvoted, record.routing);
}

template <typename T>
std::string Archive(T value) {
  ArchiveWriter writer;
  writer(value);
  return writer.Take();
}
// nullopt: `bytes` are not the output of Archive() for a T.
template <typename T>
std::optional<T> Unarchive(std::string_view bytes) {
  T value{};
  ArchiveReader reader(bytes);
  reader(value);
  if (!reader.ok()) return std::nullopt;
  return value;
}

}  // namespace fabricd::recorder
