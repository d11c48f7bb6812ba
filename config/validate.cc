// SPDX-License-Identifier: Apache-2.0
#include "config/validate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "config/exclusion.h"
#include "config/host_port.h"
#include "config/mode.h"
#include "config/principal.h"
#include "routing/plan/engine_names.h"

namespace fabricd::config {
namespace {

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

class Validator {
 public:
  Validator(const Config& config, FaultList& faults) : config_(config), faults_(faults) {}

  void Run() {
    Fabric();
    Store();
    Addresses();
    Keys();
    Windows();
    Routing();
    Damping();
    Conditions();
    Telemetry();
    Security();
    Pattern("topology.rail_pattern", config_.topology.rail_pattern);
    Pattern("topology.host_pattern", config_.topology.host_pattern);
  }

 private:
  // Only when none of the keys that the judgement rests on was refused already.
  void Require(bool holds, std::initializer_list<const char*> keys, std::string message) {
    if (holds) return;
    for (const char* key : keys) {
      if (faults_.IsFaulty(key)) return;
    }
    faults_.Add(*keys.begin(), std::move(message));
  }

  void Fabric() {
    const std::string& fabric = config_.fabric;
    const bool known = fabric == "umad" || (StartsWith(fabric, "umad:") && fabric.size() > 5) ||
                       (StartsWith(fabric, "sim:") && fabric.size() > 4);
    Require(
        known, {"fabric"},
        fmt::format("expected umad[:DEVICE[:PORT]], sim:FILE or sim:GENERATOR, got '{}'", fabric));
    const std::string mode_fault = ModeFault(config_.mode);
    Require(mode_fault.empty(), {"mode"}, mode_fault);
    Require(StartsWith(config_.state_dir, "/"), {"state_dir"},
            fmt::format("expected an absolute path, got '{}'", config_.state_dir));
  }

  void Store() {
    const Etcd& etcd = config_.etcd;
    const bool used = config_.store == "etcd";
    Require(used || config_.store == "sqlite", {"store"},
            fmt::format("expected sqlite or etcd, got '{}'", config_.store));
    Require(!used || !etcd.endpoints.empty(), {"etcd.endpoints", "store"},
            "is needed with `store: etcd`");
    for (size_t i = 0; i < etcd.endpoints.size(); ++i)
      if (!ParseHostPort(etcd.endpoints[i]))
        faults_.Add(fmt::format("etcd.endpoints[{}]", i),
                    fmt::format("expected HOST:PORT, got '{}'", etcd.endpoints[i]));
    Require(etcd.prefix.size() > 1 && etcd.prefix.back() == '/' &&
                etcd.prefix.find(' ') == std::string::npos,
            {"etcd.prefix"},
            fmt::format("expected a text without blanks that ends with a slash, got '{}'",
                        etcd.prefix));
    for (const auto& [path, file] : {std::pair("etcd.tls_ca", &etcd.tls_ca),
                                     {"etcd.tls_cert", &etcd.tls_cert},
                                     {"etcd.tls_key", &etcd.tls_key},
                                     {"etcd.password_file", &etcd.password_file}})
      Require(file->empty() || StartsWith(*file, "/"), {path},
              fmt::format("expected an absolute path, got '{}'", *file));
    Require(etcd.tls_cert.empty() == etcd.tls_key.empty(), {"etcd.tls_key", "etcd.tls_cert"},
            "is needed with etcd.tls_cert, and only then");
    Require(etcd.tls_cert.empty() || !etcd.tls_ca.empty(), {"etcd.tls_ca", "etcd.tls_cert"},
            "is needed with etcd.tls_cert");
    Require(etcd.user.empty() == etcd.password_file.empty(), {"etcd.password_file", "etcd.user"},
            "is needed with etcd.user, and only then");
    Require(etcd.advertise.empty() || StartsWith(etcd.advertise, "unix:/") ||
                ParseHostPort(etcd.advertise),
            {"etcd.advertise"},
            fmt::format("expected HOST:PORT or unix:/PATH, got '{}'", etcd.advertise));
    Require(etcd.lease % std::chrono::seconds(1) == Duration::zero(), {"etcd.lease"},
            "expected whole seconds");
  }

  void Addresses() {
    Require(!config_.listen.empty(), {"listen"}, "expected at least one address");
    std::set<std::string> seen;
    for (size_t i = 0; i < config_.listen.size(); ++i) {
      const std::string& address = config_.listen[i];
      const std::string path = fmt::format("listen[{}]", i);
      const bool is_unix = StartsWith(address, "unix:/") && address.size() > 6;
      if (!is_unix && !ParseHostPort(address)) {
        faults_.Add(path, fmt::format("expected unix:/PATH or HOST:PORT, got '{}'", address));
      } else if (!seen.insert(address).second) {
        faults_.Add(path, fmt::format("'{}' is listed twice", address));
      }
    }
    Require(config_.http_listen.empty() || ParseHostPort(config_.http_listen).has_value(),
            {"http_listen"}, fmt::format("expected HOST:PORT, got '{}'", config_.http_listen));
  }

  void Keys() {
    const Sm& sm = config_.sm;
    // Without a key the protect bits and the lease mean nothing (IBA vol 1 §14.2.4).
    const bool keyed = sm.m_key || !sm.m_key_secret_file.empty();
    Require(sm.m_key_protect == 0 || keyed, {"sm.m_key_protect", "sm.m_key"},
            "needs a sm.m_key other than 0, or a sm.m_key_secret_file");
    Require(sm.m_key_lease_period == Duration::zero() || keyed,
            {"sm.m_key_lease_period", "sm.m_key"},
            "needs a sm.m_key other than 0, or a sm.m_key_secret_file");
    Require(sm.m_key_lease_period % std::chrono::seconds(1) == Duration::zero(),
            {"sm.m_key_lease_period"}, "expected whole seconds");
  }

  void Windows() {
    const Smp& smp = config_.smp;
    Require(smp.window_initial <= smp.window, {"smp.window_initial", "smp.window"},
            fmt::format("{} is more than smp.window, {}", smp.window_initial, smp.window));
    // OperationalVLs codes (IBA vol 1 §14.2.5.6).
    constexpr std::array<uint32_t, 6> kLanes = {0, 1, 2, 4, 8, 15};
    const uint8_t code = std::min<uint8_t>(config_.link.max_operational_vls, 5);
    Require(config_.routing.lanes_max <= kLanes[code],
            {"routing.lanes_max", "link.max_operational_vls"},
            fmt::format("{} lanes do not fit link.max_operational_vls {}, which is {} lanes",
                        config_.routing.lanes_max, code, kLanes[code]));
  }

  void Routing() {
    Require(!config_.routing.chain.empty(), {"routing.chain"}, "expected at least one engine");
    std::set<std::string> seen;
    for (size_t i = 0; i < config_.routing.chain.size(); ++i) {
      const std::string& engine = config_.routing.chain[i];
      const std::string path = fmt::format("routing.chain[{}]", i);
      const auto& known = routing::kEngineNames;
      if (std::find(known.begin(), known.end(), engine) == known.end()) {
        faults_.Add(
            path, fmt::format("unknown engine '{}'; there are {}", engine, fmt::join(known, ", ")));
      } else if (!seen.insert(engine).second) {
        faults_.Add(path, fmt::format("'{}' is listed twice", engine));
      }
    }
    Require(config_.routing.balance == "all-to-all" || config_.routing.balance == "shift",
            {"routing.balance"}, "expected all-to-all or shift");
    Require(config_.routing.roots.empty() || config_.routing.roots_file.empty(),
            {"routing.roots_file", "routing.roots"}, "cannot be used together with routing.roots");
  }

  void Damping() {
    const config::Damping& damping = config_.damping;
    Require(
        damping.reuse < damping.suppress, {"damping.reuse", "damping.suppress"},
        fmt::format("{} is not less than damping.suppress, {}", damping.reuse, damping.suppress));
    // The cap on penalties: what decays to reuse within max_suppress.
    const double half_lives = std::chrono::duration<double>(damping.max_suppress) /
                              std::chrono::duration<double>(damping.half_life);
    Require(damping.reuse * std::exp2(half_lives) >= damping.suppress,
            {"damping.max_suppress", "damping.half_life", "damping.reuse", "damping.suppress"},
            "is so short that no penalty reaches damping.suppress");
  }

  void Conditions() {
    const config::Conditions& rules = config_.conditions;
    const std::string& audit = config_.sweep.audit;
    Require(audit == "repair" || audit == "report" || audit == "off", {"sweep.audit"},
            fmt::format("expected repair, report or off, got '{}'", audit));
    const std::string& enforce = config_.partitions.enforce;
    Require(enforce == "both" || enforce == "in" || enforce == "out" || enforce == "off",
            {"partitions.enforce"},
            fmt::format("expected both, in, out or off, got '{}'", enforce));
    const std::string& file = config_.partitions.file;
    Require(file.empty() || StartsWith(file, "/"), {"partitions.file"},
            fmt::format("expected an absolute path, got '{}'", file));
    for (const auto& [path, mode] : {std::pair("conditions.link_flapping", &rules.link_flapping),
                                     {"conditions.noisy_traps", &rules.noisy_traps},
                                     {"conditions.unresponsive", &rules.unresponsive},
                                     {"conditions.set_errors", &rules.set_errors}})
      Require(*mode == "observe" || *mode == "recommend" || *mode == "enforce", {path},
              fmt::format("expected observe, recommend or enforce, got '{}'", *mode));
    for (size_t i = 0; i < rules.exclude.size(); ++i)
      if (!ParseExclusion(rules.exclude[i]))
        faults_.Add(fmt::format("conditions.exclude[{}]", i),
                    fmt::format("expected a GUID, perhaps with \"until\" and a date, got '{}'",
                                rules.exclude[i]));
  }

  void Telemetry() {
    const std::string& metrics = config_.telemetry.metrics;
    Require(metrics == "all" || metrics == "switches" || metrics == "none", {"telemetry.metrics"},
            fmt::format("expected all, switches or none, got '{}'", metrics));
    const Verdicts& verdicts = config_.verdicts;
    Require(verdicts.action == "recommend" || verdicts.action == "cordon" ||
                verdicts.action == "isolate",
            {"verdicts.action"},
            fmt::format("expected recommend, cordon or isolate, got '{}'", verdicts.action));
    Require(verdicts.clean_time <= verdicts.max_clean_time,
            {"verdicts.max_clean_time", "verdicts.clean_time"},
            "relapses double clean_time up to max_clean_time, which is below it");
    const std::string& counters = config_.telemetry.metrics_counters;
    Require(counters == "all" || counters == "main", {"telemetry.metrics_counters"},
            fmt::format("expected all or main, got '{}'", counters));
  }

  void Security() {
    const config::Security& security = config_.security;
    const bool tcp =
        std::any_of(config_.listen.begin(), config_.listen.end(),
                    [](const std::string& address) { return ParseHostPort(address).has_value(); });
    for (const auto& [path, file] : {std::pair("security.tls_cert", &security.tls_cert),
                                     {"security.tls_key", &security.tls_key},
                                     {"security.tls_ca", &security.tls_ca}}) {
      Require(file->empty() || StartsWith(*file, "/"), {path},
              fmt::format("expected an absolute path, got '{}'", *file));
      Require(!tcp || !file->empty(), {path, "listen"},
              "is needed to listen on HOST:PORT: TCP is served with certificates of both sides");
    }
    for (const auto& [path, list] : {std::pair("security.viewers", &security.viewers),
                                     {"security.schedulers", &security.schedulers},
                                     {"security.operators", &security.operators},
                                     {"security.admins", &security.admins}})
      for (size_t i = 0; i < list->size(); ++i)
        if (!ParsePrincipal((*list)[i]))
          faults_.Add(fmt::format("{}[{}]", path, i),
                      fmt::format("expected user:NAME, group:NAME, spiffe://DOMAIN/PATH, dns:NAME "
                                  "or cn:NAME, got '{}'",
                                  (*list)[i]));
  }

  void Pattern(const char* path, const std::string& pattern) {
    if (pattern.empty()) return;
    try {  // The library reports by exceptions; they end here (DESIGN §6).
      const std::regex compiled(pattern);
      Require(compiled.mark_count() == 1, {path},
              fmt::format("expected one group in parentheses, got {}", compiled.mark_count()));
    } catch (const std::regex_error& error) {
      faults_.Add(path, fmt::format("no regular expression: {}", error.what()));
    }
  }

  const Config& config_;
  FaultList& faults_;
};

}  // namespace

void Validate(const Config& config, FaultList& faults) { Validator(config, faults).Run(); }

}  // namespace fabricd::config
