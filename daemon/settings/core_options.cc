// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/core_options.h"

#include <chrono>
#include <sstream>
#include <utility>

#include "common/number_text.h"
#include "common/status.h"
#include "config/exclusion.h"
#include "daemon/base/side_file.h"
#include "store/guid2lid.h"

namespace fabricd::daemon {
namespace {

// The first word of each line, where a # begins what is no word.
absl::Status ReadRootsFile(const std::string& path, std::vector<Guid>& roots) {
  const auto text = ReadFileOf("routing.roots_file", path);
  if (!text.ok()) return text.status();
  std::istringstream lines(*text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream fields(line.substr(0, line.find('#')));
    std::string word;
    if (!(fields >> word)) continue;
    const uint64_t guid = ParseHex<uint64_t>(word).value_or(0);
    if (guid == 0)
      return InvalidArgument("routing.roots_file: {}:{}: \"{}\" is no GUID", path, number, word);
    roots.emplace_back(guid);
  }
  return absl::OkStatus();
}

policy::ConditionMode ModeOf(const std::string& text) {
  if (text == "observe") return policy::ConditionMode::kObserve;
  return text == "enforce" ? policy::ConditionMode::kEnforce : policy::ConditionMode::kRecommend;
}

policy::PolicyOptions ToPolicyOptions(const config::Config& config) {
  policy::PolicyOptions options;
  options.damping = {config.damping.enabled,       config.damping.penalty,
                     config.damping.suppress,      config.damping.reuse,
                     config.damping.half_life,     config.damping.max_suppress,
                     config.damping.max_suppressed};
  options.holds = {config.holds.max, config.holds.budget, config.holds.budget_per_mille};
  const std::string& enforce = config.partitions.enforce;
  options.partitions = {enforce == "both" || enforce == "in", enforce == "both" || enforce == "out",
                        config.partitions.keep_foreign_keys, config.partitions.isolated_in_default};
  const config::Conditions& rules = config.conditions;
  policy::ConditionOptions& conditions = options.conditions;
  conditions.link_flapping = ModeOf(rules.link_flapping);
  conditions.noisy_traps = {ModeOf(rules.noisy_traps), rules.noisy_traps_count,
                            rules.noisy_traps_window};
  conditions.trap_storm = {ModeOf(rules.noisy_traps), rules.trap_storm_count,
                           rules.trap_storm_window};
  conditions.unresponsive = {ModeOf(rules.unresponsive), rules.unresponsive_count,
                             rules.unresponsive_window};
  conditions.set_errors = {ModeOf(rules.set_errors), rules.set_errors_count,
                           rules.set_errors_window};
  conditions.breaker_percent = rules.breaker_percent;
  conditions.breaker_window = rules.breaker_window;
  conditions.releases_per_week = rules.releases_per_week;
  for (const std::string& text : rules.exclude)
    if (const auto exclusion = config::ParseExclusion(text))
      conditions.exclude.push_back({exclusion->node, exclusion->until_ms});
  return options;
}

}  // namespace

absl::StatusOr<absl::flat_hash_map<Guid, MKey>> ReadMKeys(const config::Sm& sm) {
  absl::flat_hash_map<Guid, MKey> keys;
  if (sm.guid2mkey_file.empty()) return keys;
  const auto text = ReadFileOf("sm.guid2mkey_file", sm.guid2mkey_file);
  if (!text.ok()) return text.status();
  const store::Guid2MKey parsed = store::ParseGuid2MKey(*text);
  WarnSkipped(sm.guid2mkey_file, parsed);
  for (const store::PortMKey& key : parsed.keys) keys[key.port_guid] = key.m_key;
  return keys;
}

absl::StatusOr<std::string> ReadMKeySecret(const config::Sm& sm) {
  constexpr size_t kFewest = 16, kMost = 4096;
  constexpr char kBlank[] = " \t\r\n";
  if (sm.m_key_secret_file.empty()) return std::string();
  auto text = ReadFileOf("sm.m_key_secret_file", sm.m_key_secret_file, kMost);
  if (!text.ok()) return text.status();
  text->erase(std::min(text->find_last_not_of(kBlank) + 1, text->size()));
  text->erase(0, std::min(text->find_first_not_of(kBlank), text->size()));
  if (text->size() < kFewest)
    return InvalidArgument("sm.m_key_secret_file: {}: a secret has at least {} bytes",
                           sm.m_key_secret_file, kFewest);
  return text;
}

absl::StatusOr<std::vector<Guid>> ReadRoots(const config::Routing& routing) {
  std::vector<Guid> roots;
  for (const std::string& word : routing.roots) {
    const uint64_t guid = ParseHex<uint64_t>(word).value_or(0);
    if (guid == 0) return InvalidArgument("routing.roots: \"{}\" is no GUID", word);
    roots.emplace_back(guid);
  }
  if (!routing.roots_file.empty())
    FABRICD_RETURN_IF_ERROR(ReadRootsFile(routing.roots_file, roots));
  return roots;
}

absl::StatusOr<sweep::CoreOptions> ToCoreOptions(const config::Config& config) {
  auto m_keys = ReadMKeys(config.sm);
  if (!m_keys.ok()) return m_keys.status();
  auto roots = ReadRoots(config.routing);
  if (!roots.ok()) return roots.status();
  auto patterns =
      fabric::HostPatterns::Compile(config.topology.host_pattern, config.topology.rail_pattern);
  if (!patterns.ok()) return patterns.status();
  sweep::CoreOptions options;
  options.smp.window_initial = config.smp.window_initial;
  options.smp.window_max = config.smp.window;
  options.smp.window_floor = std::min(options.smp.window_floor, config.smp.window);
  options.smp.window_patient = config.smp.window_patient;
  options.smp.device_limit = config.smp.window_per_device;
  options.smp.subtree_limit = config.smp.window_per_first_hop;
  options.smp.first_timeout = config.smp.timeout;
  options.smp.retries = config.smp.retries;
  options.smp.queue_delay = std::chrono::microseconds(500);
  options.sm.priority = config.sm.priority;
  options.sm.sm_key = config.sm.sm_key;
  options.sm.polling_timeout = config.sm.polling_timeout;
  options.sm.polling_retries = config.sm.polling_retries;
  options.sm.gid_prefix = config.sm.subnet_prefix;
  options.sm.m_key = config.sm.m_key;
  options.sm.m_key_lease_period = static_cast<uint16_t>(
      std::chrono::duration_cast<std::chrono::seconds>(config.sm.m_key_lease_period).count());
  options.sm.m_key_protect_bits = config.sm.m_key_protect;
  options.sm.m_key_by_guid = *std::move(m_keys);
  options.link = {config.link.max_operational_vls, config.link.subnet_timeout,
                  config.link.packet_life_time,    config.link.hoq_life,
                  config.link.leaf_hoq_life,       config.link.vl_stall,
                  config.link.local_phy_errors,    config.link.overrun_errors};
  options.sweep.light_interval = config.sweep.light_interval;
  options.sweep.heavy_interval = config.sweep.heavy_interval;
  options.sweep.on_trap = config.sweep.on_trap;
  options.sweep.accept_foreign_ar = config.sweep.accept_foreign_ar;
  options.audit = {config.sweep.audit != "off", config.sweep.audit == "repair",
                   config.sweep.audit_rate};
  options.sweep.unresponsive_grace = config.sweep.unresponsive_grace;
  options.sweep.keep_unresponsive = config.sweep.keep_unresponsive;
  options.lmc = config.lid.lmc;
  options.lmc_enhanced_port0 = config.lid.lmc_enhanced_port0;
  options.routing.chain = config.routing.chain;
  options.routing.host_patterns = *std::move(patterns);
  options.routing.roots = *std::move(roots);
  options.routing.lanes_max = static_cast<uint8_t>(config.routing.lanes_max);
  options.routing.engine_budget = uint64_t{config.routing.engine_budget} * 1'000'000;
  options.routing.balance = config.routing.balance == "shift" ? routing::BalancePolicy::kShift
                                                              : routing::BalancePolicy::kAllToAll;
  options.sweep.settle_after = config.routing.settle_after;
  options.routing.threads = static_cast<int>(config.routing.threads);
  options.policy = ToPolicyOptions(config);
  options.takeover.unresponsive_percent = config.takeover.unresponsive_percent;
  options.takeover.return_within = config.takeover.return_within;
  return options;
}

}  // namespace fabricd::daemon
