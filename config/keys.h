// SPDX-License-Identifier: Apache-2.0
// Internal: the one table of all keys. Reading a file, comparing two configurations and printing
// one all walk it, so a new key is one line here, one member in config.h, one field in config.proto
// and one entry in fabricd.example.yaml; a test finds what was forgotten.
#pragma once

#include <chrono>
#include <cstdint>

#include "common/time.h"
#include "config/config.h"

namespace fabricd::config {

struct NumberRange {
  uint32_t min;
  uint32_t max;
};
// A duration of `zero_allowed` may also be 0 (off) although that is below min.
struct TimeRange {
  Duration min;
  Duration max;
  bool zero_allowed = false;
};

// Calls `visitor.METHOD(path, reload class, member[, range])` for each key, in the schema's order.
// Secret is a Hex whose value is nobody's business.
// `C` is Config or const Config.
template <typename Visitor, typename C>
void VisitServiceKeys(Visitor& visitor, C& c) {
  using enum ReloadClass;
  visitor.Text("fabric", kRestart, c.fabric);
  visitor.Text("mode", kRestart, c.mode);
  visitor.Text("state_dir", kRestart, c.state_dir);
  visitor.List("listen", kRestart, c.listen);
  visitor.Text("http_listen", kRestart, c.http_listen);
  visitor.Level("log.level", kLive, c.log.level);
}

template <typename Visitor, typename C>
void VisitStoreKeys(Visitor& visitor, C& c) {
  using enum ReloadClass;
  using std::chrono::milliseconds, std::chrono::seconds;
  visitor.Text("store", kRestart, c.store);
  visitor.List("etcd.endpoints", kRestart, c.etcd.endpoints);
  visitor.Text("etcd.prefix", kRestart, c.etcd.prefix);
  visitor.Text("etcd.tls_ca", kRestart, c.etcd.tls_ca);
  visitor.Text("etcd.tls_cert", kRestart, c.etcd.tls_cert);
  visitor.Text("etcd.tls_key", kRestart, c.etcd.tls_key);
  visitor.Text("etcd.user", kRestart, c.etcd.user);
  visitor.Text("etcd.password_file", kRestart, c.etcd.password_file);
  visitor.Text("etcd.advertise", kRestart, c.etcd.advertise);
  visitor.Time("etcd.lease", kRestart, c.etcd.lease, TimeRange{seconds(2), seconds(60)});
  visitor.Time("etcd.timeout", kRestart, c.etcd.timeout, TimeRange{milliseconds(500), seconds(30)});
}

template <typename Visitor, typename C>
void VisitSmKeys(Visitor& visitor, C& c) {
  using enum ReloadClass;
  using std::chrono::hours, std::chrono::milliseconds, std::chrono::seconds;
  visitor.Number("sm.priority", kResweep, c.sm.priority, NumberRange{0, 15});
  visitor.Secret("sm.sm_key", kRestart, c.sm.sm_key);
  visitor.Secret("sm.sa_key", kRestart, c.sm.sa_key);
  visitor.Time("sm.polling_timeout", kResweep, c.sm.polling_timeout,
               TimeRange{milliseconds(100), hours(1)});
  visitor.Number("sm.polling_retries", kResweep, c.sm.polling_retries, NumberRange{1, 100});
  visitor.Hex("sm.subnet_prefix", kRestart, c.sm.subnet_prefix);
  visitor.Secret("sm.m_key", kRestart, c.sm.m_key);
  visitor.Time("sm.m_key_lease_period", kResweep, c.sm.m_key_lease_period,
               TimeRange{seconds(0), seconds(65535)});
  visitor.Number("sm.m_key_protect", kResweep, c.sm.m_key_protect, NumberRange{0, 3});
  visitor.Text("sm.guid2mkey_file", kResweep, c.sm.guid2mkey_file);
  visitor.Text("sm.prefix_routes_file", kRestart, c.sm.prefix_routes_file);
  visitor.Text("sm.sa_db_file", kRestart, c.sm.sa_db_file);
  visitor.Text("sm.m_key_secret_file", kRestart, c.sm.m_key_secret_file);
  visitor.Text("sm.neighbors_file", kRestart, c.sm.neighbors_file);
  visitor.Number("lid.lmc", kRestart, c.lid.lmc, NumberRange{0, 7});
  visitor.Flag("lid.lmc_enhanced_port0", kRestart, c.lid.lmc_enhanced_port0);
  visitor.Text("lid.guid2lid_file", kRestart, c.lid.guid2lid_file);
  visitor.Number("takeover.unresponsive_percent", kResweep, c.takeover.unresponsive_percent,
                 NumberRange{0, 100});
  visitor.Time("takeover.return_within", kResweep, c.takeover.return_within,
               TimeRange{seconds(0), hours(24 * 7)});
}

template <typename Visitor, typename C>
void VisitWireKeys(Visitor& visitor, C& c) {
  using enum ReloadClass;
  using std::chrono::hours, std::chrono::milliseconds, std::chrono::seconds;
  visitor.Number("smp.window", kRestart, c.smp.window, NumberRange{1, 1024});
  visitor.Number("smp.window_initial", kRestart, c.smp.window_initial, NumberRange{1, 1024});
  visitor.Number("smp.window_patient", kRestart, c.smp.window_patient, NumberRange{1, 1024});
  visitor.Number("smp.window_per_device", kRestart, c.smp.window_per_device, NumberRange{1, 1024});
  visitor.Number("smp.window_per_first_hop", kRestart, c.smp.window_per_first_hop,
                 NumberRange{1, 1024});
  visitor.Time("smp.timeout", kRestart, c.smp.timeout, TimeRange{milliseconds(1), seconds(60)});
  visitor.Number("smp.retries", kRestart, c.smp.retries, NumberRange{0, 20});
  visitor.Time("sweep.light_interval", kResweep, c.sweep.light_interval,
               TimeRange{milliseconds(100), hours(24), true});
  visitor.Time("sweep.heavy_interval", kResweep, c.sweep.heavy_interval,
               TimeRange{seconds(1), hours(24 * 30), true});
  visitor.Flag("sweep.on_trap", kResweep, c.sweep.on_trap);
  visitor.Flag("sweep.accept_foreign_ar", kResweep, c.sweep.accept_foreign_ar);
  visitor.Text("sweep.audit", kResweep, c.sweep.audit);
  visitor.Number("sweep.audit_rate", kResweep, c.sweep.audit_rate, NumberRange{1, 100'000});
  visitor.Time("sweep.unresponsive_grace", kResweep, c.sweep.unresponsive_grace,
               TimeRange{seconds(1), hours(24), true});
  visitor.Flag("sweep.keep_unresponsive", kResweep, c.sweep.keep_unresponsive);
}

template <typename Visitor, typename C>
void VisitFabricKeys(Visitor& visitor, C& c) {
  using enum ReloadClass;
  visitor.Number("link.max_operational_vls", kResweep, c.link.max_operational_vls,
                 NumberRange{1, 5});
  visitor.Number("link.subnet_timeout", kResweep, c.link.subnet_timeout, NumberRange{0, 31});
  visitor.Number("link.hoq_life", kResweep, c.link.hoq_life, NumberRange{0, 31});
  visitor.Number("link.leaf_hoq_life", kResweep, c.link.leaf_hoq_life, NumberRange{0, 31});
  visitor.Number("link.vl_stall", kResweep, c.link.vl_stall, NumberRange{0, 7});
  visitor.Number("link.local_phy_errors", kResweep, c.link.local_phy_errors, NumberRange{0, 15});
  visitor.Number("link.overrun_errors", kResweep, c.link.overrun_errors, NumberRange{0, 15});
  visitor.Number("link.packet_life_time", kResweep, c.link.packet_life_time, NumberRange{0, 31});
  visitor.List("routing.chain", kResweep, c.routing.chain);
  visitor.List("routing.roots", kResweep, c.routing.roots);
  visitor.Text("routing.roots_file", kResweep, c.routing.roots_file);
  visitor.Number("routing.lanes_max", kResweep, c.routing.lanes_max, NumberRange{1, 15});
  visitor.Number("routing.engine_budget", kResweep, c.routing.engine_budget,
                 NumberRange{0, 1'000'000});
  visitor.Text("routing.balance", kResweep, c.routing.balance);
  visitor.Time("routing.settle_after", kResweep, c.routing.settle_after,
               TimeRange{std::chrono::seconds(0), std::chrono::hours(24)});
  visitor.Number("routing.threads", kRestart, c.routing.threads, NumberRange{0, 1024});
  visitor.Text("topology.node_name_map", kRestart, c.topology.node_name_map);
  visitor.Text("topology.rail_pattern", kRestart, c.topology.rail_pattern);
  visitor.Text("topology.host_pattern", kRestart, c.topology.host_pattern);
}

template <typename Visitor, typename C>
void VisitPolicyKeys(Visitor& visitor, C& c) {
  using enum ReloadClass;
  using std::chrono::hours, std::chrono::seconds;
  const TimeRange window{seconds(1), hours(24)};
  const NumberRange count{1, 1'000'000};
  visitor.Flag("damping.enabled", kResweep, c.damping.enabled);
  visitor.Number("damping.penalty", kResweep, c.damping.penalty, count);
  visitor.Number("damping.suppress", kResweep, c.damping.suppress, count);
  visitor.Number("damping.reuse", kResweep, c.damping.reuse, count);
  visitor.Time("damping.half_life", kResweep, c.damping.half_life, window);
  visitor.Time("damping.max_suppress", kResweep, c.damping.max_suppress, window);
  visitor.Number("damping.max_suppressed", kResweep, c.damping.max_suppressed,
                 NumberRange{0, 4096});
  visitor.Number("holds.max", kResweep, c.holds.max, NumberRange{1, 1'000'000});
  visitor.Number("holds.budget", kResweep, c.holds.budget, NumberRange{0, 1'000'000});
  visitor.Number("holds.budget_per_mille", kResweep, c.holds.budget_per_mille,
                 NumberRange{0, 1000});
  visitor.Text("partitions.file", kResweep, c.partitions.file);
  visitor.Text("partitions.enforce", kResweep, c.partitions.enforce);
  visitor.Flag("partitions.keep_foreign_keys", kResweep, c.partitions.keep_foreign_keys);
  visitor.Flag("partitions.isolated_in_default", kResweep, c.partitions.isolated_in_default);
  visitor.Text("conditions.link_flapping", kResweep, c.conditions.link_flapping);
  visitor.Text("conditions.noisy_traps", kResweep, c.conditions.noisy_traps);
  visitor.Number("conditions.noisy_traps_count", kResweep, c.conditions.noisy_traps_count, count);
  visitor.Time("conditions.noisy_traps_window", kResweep, c.conditions.noisy_traps_window, window);
  visitor.Number("conditions.trap_storm_count", kResweep, c.conditions.trap_storm_count, count);
  visitor.Time("conditions.trap_storm_window", kResweep, c.conditions.trap_storm_window, window);
  visitor.Text("conditions.unresponsive", kResweep, c.conditions.unresponsive);
  visitor.Number("conditions.unresponsive_count", kResweep, c.conditions.unresponsive_count, count);
  visitor.Time("conditions.unresponsive_window", kResweep, c.conditions.unresponsive_window,
               window);
  visitor.Text("conditions.set_errors", kResweep, c.conditions.set_errors);
  visitor.Number("conditions.set_errors_count", kResweep, c.conditions.set_errors_count, count);
  visitor.Time("conditions.set_errors_window", kResweep, c.conditions.set_errors_window, window);
  visitor.Number("conditions.breaker_percent", kResweep, c.conditions.breaker_percent,
                 NumberRange{0, 100});
  visitor.Time("conditions.breaker_window", kResweep, c.conditions.breaker_window, window);
  visitor.Number("conditions.releases_per_week", kResweep, c.conditions.releases_per_week,
                 NumberRange{0, 1000});
  visitor.List("conditions.exclude", kResweep, c.conditions.exclude);
  visitor.Number("events.keep", kRestart, c.events.keep, NumberRange{100, 10'000'000});
  visitor.Time("events.max_age", kRestart, c.events.max_age, TimeRange{hours(1), hours(24 * 3650)});
}

template <typename Visitor, typename C>
void VisitAccessKeys(Visitor& visitor, C& c) {
  using enum ReloadClass;
  using std::chrono::hours;
  // The files behind these are watched: a new certificate needs no reload.
  visitor.Text("security.tls_cert", kRestart, c.security.tls_cert);
  visitor.Text("security.tls_key", kRestart, c.security.tls_key);
  visitor.Text("security.tls_ca", kRestart, c.security.tls_ca);
  visitor.List("security.viewers", kLive, c.security.viewers);
  visitor.List("security.schedulers", kLive, c.security.schedulers);
  visitor.List("security.operators", kLive, c.security.operators);
  visitor.List("security.admins", kLive, c.security.admins);
  visitor.Number("security.max_calls", kLive, c.security.max_calls, NumberRange{1, 1'000'000});
  visitor.Number("security.calls_per_second", kLive, c.security.calls_per_second,
                 NumberRange{1, 1'000'000});
  visitor.Number("audit.keep", kRestart, c.audit.keep, NumberRange{100, 10'000'000});
  visitor.Time("audit.max_age", kRestart, c.audit.max_age, TimeRange{hours(1), hours(24 * 3650)});
}

template <typename Visitor, typename C>
void VisitTelemetryKeys(Visitor& visitor, C& c) {
  using enum ReloadClass;
  using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
  const TimeRange slow{seconds(10), hours(24)};
  visitor.Flag("telemetry.enabled", kRestart, c.telemetry.enabled);
  visitor.Time("telemetry.interval", kLive, c.telemetry.interval,
               TimeRange{seconds(1), hours(1), true});
  visitor.Time("telemetry.classic_interval", kLive, c.telemetry.classic_interval, slow);
  visitor.Time("telemetry.ber_interval", kLive, c.telemetry.ber_interval, slow);
  visitor.Time("telemetry.module_interval", kLive, c.telemetry.module_interval, slow);
  visitor.Flag("telemetry.vendor", kLive, c.telemetry.vendor);
  visitor.Flag("telemetry.as_standby", kLive, c.telemetry.as_standby);
  visitor.Number("telemetry.max_outstanding", kRestart, c.telemetry.max_outstanding,
                 NumberRange{4, 1024});
  visitor.Time("telemetry.history", kRestart, c.telemetry.history, TimeRange{minutes(5), hours(6)});
  visitor.Time("telemetry.long_history", kRestart, c.telemetry.long_history,
               TimeRange{hours(1), hours(24 * 7)});
  visitor.Text("telemetry.metrics", kLive, c.telemetry.metrics);
  visitor.Text("telemetry.metrics_counters", kLive, c.telemetry.metrics_counters);
}

template <typename Visitor, typename C>
void VisitVerdictKeys(Visitor& visitor, C& c) {
  using enum ReloadClass;
  using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
  visitor.Flag("verdicts.enabled", kLive, c.verdicts.enabled);
  visitor.Time("verdicts.interval", kLive, c.verdicts.interval, TimeRange{seconds(10), hours(1)});
  visitor.Text("verdicts.action", kLive, c.verdicts.action);
  visitor.Flag("verdicts.isolate_hosts", kLive, c.verdicts.isolate_hosts);
  visitor.Number("verdicts.min_confidence_percent", kLive, c.verdicts.min_confidence_percent,
                 NumberRange{1, 100});
  visitor.Number("verdicts.budget", kLive, c.verdicts.budget, NumberRange{0, 10'000});
  visitor.Number("verdicts.budget_per_mille", kLive, c.verdicts.budget_per_mille,
                 NumberRange{0, 1000});
  visitor.Number("verdicts.breaker_percent", kLive, c.verdicts.breaker_percent,
                 NumberRange{1, 100});
  visitor.Time("verdicts.breaker_window", kLive, c.verdicts.breaker_window,
               TimeRange{minutes(1), hours(24)});
  visitor.Time("verdicts.hold_ttl", kLive, c.verdicts.hold_ttl,
               TimeRange{minutes(10), hours(24 * 7)});
  visitor.Time("verdicts.clean_time", kLive, c.verdicts.clean_time,
               TimeRange{minutes(1), hours(24 * 7)});
  visitor.Time("verdicts.max_clean_time", kLive, c.verdicts.max_clean_time,
               TimeRange{minutes(1), hours(24 * 7)});
  visitor.Number("verdicts.releases_per_week", kLive, c.verdicts.releases_per_week,
                 NumberRange{0, 2});
  visitor.List("verdicts.limits", kLive, c.verdicts.limits);
  visitor.Flag("recorder.enabled", kRestart, c.recorder.enabled);
  visitor.Number("recorder.max_mib", kRestart, c.recorder.max_mib, NumberRange{16, 1'048'576});
}

template <typename Visitor, typename C>
void VisitKeys(Visitor& visitor, C& config) {
  VisitServiceKeys(visitor, config);
  VisitStoreKeys(visitor, config);
  VisitSmKeys(visitor, config);
  VisitWireKeys(visitor, config);
  VisitFabricKeys(visitor, config);
  VisitPolicyKeys(visitor, config);
  VisitAccessKeys(visitor, config);
  VisitTelemetryKeys(visitor, config);
  VisitVerdictKeys(visitor, config);
}

}  // namespace fabricd::config
