// SPDX-License-Identifier: Apache-2.0
// The settings of fabricd as plain values: what the daemon works with once a file was accepted.
// Immutable after loading, so any thread may read it. The schema is fabric.config.v1.FabricdConfig;
// a member has its key's name, and its initial value is the default (fabricd.example.yaml shows all
// of them with units, and a test holds the two together).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/time.h"
#include "routing/plan/engine_names.h"

namespace fabricd::config {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Of `store: etcd`.
struct Etcd {
  std::vector<std::string> endpoints;
  std::string prefix = "/fabricd/";
  std::string tls_ca, tls_cert, tls_key;  // Empty: no TLS.
  std::string user, password_file;
  std::string advertise;  // Where clients reach our API; empty: not known to other nodes.
  // Whole seconds.
  Duration lease = std::chrono::seconds(5);
  Duration timeout = std::chrono::seconds(3);
  friend bool operator==(const Etcd&, const Etcd&) = default;
};

struct Log {
  LogLevel level = LogLevel::kInfo;
  friend bool operator==(const Log&, const Log&) = default;
};

struct Sm {
  // 0 never outranks an SM whose operator chose a number.
  uint8_t priority = 0;
  SmKey sm_key{1};
  SmKey sa_key;  // 0: sm_key.
  Duration polling_timeout = std::chrono::milliseconds(500);
  uint32_t polling_retries = 1;
  uint64_t subnet_prefix = 0xFE80000000000000;
  MKey m_key;
  // Whole seconds, up to 65535.
  Duration m_key_lease_period{};
  uint8_t m_key_protect = 0;
  std::string guid2mkey_file;
  std::string prefix_routes_file;
  std::string sa_db_file;
  std::string m_key_secret_file;
  std::string neighbors_file;
  friend bool operator==(const Sm&, const Sm&) = default;
};

struct LidRules {
  uint8_t lmc = 0;
  bool lmc_enhanced_port0 = false;
  std::string guid2lid_file;
  friend bool operator==(const LidRules&, const LidRules&) = default;
};

struct Smp {
  uint32_t window = 128;
  uint32_t window_initial = 16;
  uint32_t window_patient = 8;
  uint32_t window_per_device = 4;
  uint32_t window_per_first_hop = 32;
  Duration timeout = std::chrono::milliseconds(200);
  uint32_t retries = 3;
  friend bool operator==(const Smp&, const Smp&) = default;
};

struct Sweep {
  Duration light_interval = std::chrono::seconds(10);
  Duration heavy_interval = std::chrono::minutes(10);  // 0: off.
  bool on_trap = true;
  bool accept_foreign_ar = false;
  std::string audit = "repair";  // "report" or "off".
  uint32_t audit_rate = 1000;
  Duration unresponsive_grace = std::chrono::seconds(90);  // 0: off.
  bool keep_unresponsive = false;
  friend bool operator==(const Sweep&, const Sweep&) = default;
};

// Codes as PortInfo and SwitchInfo carry them.
struct Link {
  uint8_t max_operational_vls = 5;
  uint8_t subnet_timeout = 18;
  uint8_t hoq_life = 18;
  uint8_t leaf_hoq_life = 16;
  uint8_t vl_stall = 7;
  uint8_t local_phy_errors = 8;
  uint8_t overrun_errors = 8;
  uint8_t packet_life_time = 18;
  friend bool operator==(const Link&, const Link&) = default;
};

struct Takeover {
  uint8_t unresponsive_percent = 25;
  Duration return_within = std::chrono::hours(1);
  friend bool operator==(const Takeover&, const Takeover&) = default;
};

struct Routing {
  std::vector<std::string> chain = routing::DefaultChain();
  std::vector<std::string> roots;
  std::string roots_file;
  uint32_t lanes_max = 1;
  uint32_t engine_budget = 2000;  // Million steps; 0: no bound.
  std::string balance = "all-to-all";
  Duration settle_after = std::chrono::seconds(10);
  uint32_t threads = 0;  // 0: one per processor.
  friend bool operator==(const Routing&, const Routing&) = default;
};

struct Topology {
  std::string node_name_map;
  // Empty patterns: the rules built into fabric/ (a trailing number, the text before the device).
  std::string rail_pattern;
  std::string host_pattern;
  friend bool operator==(const Topology&, const Topology&) = default;
};

struct Damping {
  bool enabled = true;
  uint32_t penalty = 1000;
  uint32_t suppress = 3000;
  uint32_t reuse = 750;
  Duration half_life = std::chrono::minutes(5);
  Duration max_suppress = std::chrono::minutes(30);
  uint32_t max_suppressed = 128;
  friend bool operator==(const Damping&, const Damping&) = default;
};

struct Holds {
  uint32_t max = 10000;
  uint32_t budget = 10;
  uint32_t budget_per_mille = 5;
  friend bool operator==(const Holds&, const Holds&) = default;
};

// Modes: "observe", "recommend" or "enforce".
struct Conditions {
  std::string link_flapping = "recommend";
  std::string noisy_traps = "recommend";
  uint32_t noisy_traps_count = 60;
  Duration noisy_traps_window = std::chrono::seconds(90);
  uint32_t trap_storm_count = 1000;
  Duration trap_storm_window = std::chrono::seconds(10);
  std::string unresponsive = "recommend";
  uint32_t unresponsive_count = 5;
  Duration unresponsive_window = std::chrono::minutes(10);
  std::string set_errors = "recommend";
  uint32_t set_errors_count = 5;
  Duration set_errors_window = std::chrono::minutes(10);
  uint32_t breaker_percent = 5;
  Duration breaker_window = std::chrono::minutes(10);
  uint32_t releases_per_week = 2;
  std::vector<std::string> exclude;
  friend bool operator==(const Conditions&, const Conditions&) = default;
};

struct PartitionRules {
  std::string file;  // Empty: none.
  std::string enforce = "both";
  bool keep_foreign_keys = true;
  bool isolated_in_default = true;
  friend bool operator==(const PartitionRules&, const PartitionRules&) = default;
};

struct Events {
  uint32_t keep = 100'000;
  Duration max_age = std::chrono::hours(24 * 30);
  friend bool operator==(const Events&, const Events&) = default;
};

// Principals: user:NAME, group:NAME, spiffe://ID, dns:NAME, cn:NAME.
struct Security {
  std::string tls_cert, tls_key, tls_ca;  // Empty: no TCP listener.
  std::vector<std::string> viewers;
  std::vector<std::string> schedulers;
  std::vector<std::string> operators = {"group:fabric"};
  std::vector<std::string> admins = {"user:root"};
  uint32_t max_calls = 2048;
  uint32_t calls_per_second = 20'000;
  friend bool operator==(const Security&, const Security&) = default;
};

struct Audit {
  uint32_t keep = 100'000;
  Duration max_age = std::chrono::hours(24 * 365);
  friend bool operator==(const Audit&, const Audit&) = default;
};

// The flight recorder.
struct Recorder {
  bool enabled = true;
  uint32_t max_mib = 256;  // Of all recordings together.
  friend bool operator==(const Recorder&, const Recorder&) = default;
};

struct Telemetry {
  bool enabled = true;
  Duration interval{};  // 0: by the size of the fabric.
  Duration classic_interval = std::chrono::seconds(60);
  Duration ber_interval = std::chrono::minutes(5);
  Duration module_interval = std::chrono::minutes(30);
  bool vendor = true;
  bool as_standby = false;
  uint32_t max_outstanding = 256;
  Duration history = std::chrono::hours(1);
  Duration long_history = std::chrono::hours(24);
  std::string metrics = "all";
  std::string metrics_counters = "all";
  friend bool operator==(const Telemetry&, const Telemetry&) = default;
};

struct Verdicts {
  bool enabled = true;
  Duration interval = std::chrono::seconds(60);
  std::string action = "recommend";
  bool isolate_hosts = false;
  uint32_t min_confidence_percent = 70;
  uint32_t budget = 10, budget_per_mille = 5;
  uint32_t breaker_percent = 5;
  Duration breaker_window = std::chrono::minutes(10);
  Duration hold_ttl = std::chrono::hours(24);
  Duration clean_time = std::chrono::minutes(125);
  Duration max_clean_time = std::chrono::hours(24);
  uint32_t releases_per_week = 2;
  std::vector<std::string> limits;  // Checked where they are used.
  friend bool operator==(const Verdicts&, const Verdicts&) = default;
};

struct Config {
  std::string fabric = "umad";
  std::string mode;  // A word of common/sm_mode.h; empty: mode.h chooses.
  std::string state_dir = "/var/lib/fabricd";
  std::string store = "sqlite";  // Or "etcd".
  Etcd etcd;
  std::vector<std::string> listen = {"unix:/run/fabricd/fabricd.sock"};
  std::string http_listen;  // Empty: off.
  Log log;
  Sm sm;
  LidRules lid;
  Takeover takeover;
  Smp smp;
  Sweep sweep;
  Link link;
  Routing routing;
  Topology topology;
  Damping damping;
  Holds holds;
  PartitionRules partitions;
  Conditions conditions;
  Events events;
  Security security;
  Audit audit;
  Telemetry telemetry;
  Verdicts verdicts;
  Recorder recorder;
  friend bool operator==(const Config&, const Config&) = default;
};

// What the change of a key asks for.
enum class ReloadClass {
  kLive,     // Nothing else.
  kResweep,  // A heavy sweep.
  kRestart,  // That fabricd is started again.
};

struct Change {
  std::string path;  // "sm.priority"
  std::string from;
  std::string to;
  ReloadClass reload;
};

// The keys in which two configurations differ, in the order of the schema. A secret shows as "***"
// unless it is the default (settings.h).
std::vector<Change> Diff(const Config& from, const Config& to);

}  // namespace fabricd::config
