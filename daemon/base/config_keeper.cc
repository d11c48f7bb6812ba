// SPDX-License-Identifier: Apache-2.0
#include "daemon/base/config_keeper.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "common/mutex.h"
#include "common/status.h"
#include "config/settings.h"

namespace fabricd::daemon {
namespace {

// Of a message that lists many: an event is one sentence.
constexpr size_t kNamesTold = 8;

std::string Names(const std::vector<config::Change>& changes) {
  std::string names;
  for (size_t i = 0; i < std::min(changes.size(), kNamesTold); ++i)
    names += (i == 0 ? "" : ", ") + changes[i].path;
  if (changes.size() > kNamesTold)
    names += fmt::format(" and {} more", changes.size() - kNamesTold);
  return names;
}

bool NeedsSweep(const std::vector<config::Change>& changes, const config::Config& wanted) {
  // What these files say may have changed although their names have not.
  if (!wanted.routing.roots_file.empty() || !wanted.sm.guid2mkey_file.empty()) return true;
  return std::any_of(changes.begin(), changes.end(), [](const config::Change& change) {
    return change.reload == config::ReloadClass::kResweep;
  });
}

}  // namespace

ConfigKeeper::ConfigKeeper(Kept kept, std::string file, Hooks hooks)
    : started_(kept.in_force),
      file_(std::move(file)),
      hooks_(std::move(hooks)),
      last_refused_(kept.last_refused) {
  in_force_.Set(std::make_shared<const config::Config>(std::move(kept.in_force)));
  accepted_.Set(std::make_shared<const config::Config>(std::move(kept.accepted)));
}

ConfigKeeper::Kept ConfigKeeper::kept() const {
  Kept kept(*in_force_.Get());
  kept.accepted = *accepted_.Get();
  kept.last_refused = last_refused_;
  return kept;
}

absl::StatusOr<ReloadReport> ConfigKeeper::Reload(How how, const std::string& by,
                                                  std::vector<config::Fault>* faults) {
  MutexLock lock(mutex_);
  if (!hooks_.load) return FailedPrecondition("this fabricd was started without a configuration");
  const auto wanted = hooks_.load(faults);
  if (!wanted.ok()) {
    if (how != How::kDryRun) TellRefused(wanted.status(), by);
    return wanted.status();
  }
  ReloadReport report;
  report.changes = config::Diff(*accepted_.Get(), *wanted);
  const config::Config reachable = config::WithoutRestarts(*wanted, started_);
  report.waiting = config::Diff(reachable, *wanted);
  report.swept = how == How::kSweepAlways || NeedsSweep(report.changes, reachable);
  const Apply apply = how == How::kDryRun ? Apply::kJudge
                      : report.swept      ? Apply::kSweep
                                          : Apply::kQuiet;
  if (const absl::Status status = hooks_.apply(reachable, apply); !status.ok()) {
    if (how != How::kDryRun) TellRefused(status, by);
    return status;
  }
  if (how == How::kDryRun) return report;
  in_force_.Set(std::make_shared<const config::Config>(reachable));
  accepted_.Set(std::make_shared<const config::Config>(*wanted));
  last_refused_ = false;
  Tell(report, by);
  return report;
}

void ConfigKeeper::Tell(const ReloadReport& report, const std::string& by) {
  for (const config::Change& change : report.changes)
    spdlog::info("{}: {} -> {} ({})", change.path, change.from, change.to,
                 config::ReloadClassName(change.reload));
  fabric::FabricEvent event;
  event.type = "ConfigReloaded";
  event.subject = "configuration";
  event.message = report.changes.empty()
                      ? "the configuration was read again: nothing has changed"
                      : fmt::format("the configuration was read again: {}", Names(report.changes));
  if (!report.waiting.empty())
    event.message += fmt::format("; these wait for a restart: {}", Names(report.waiting));
  event.facts = {{"by", by},
                 {"changes", fmt::format("{}", report.changes.size())},
                 {"waiting", fmt::format("{}", report.waiting.size())}};
  spdlog::info("{}, for {}", event.message, by);
  hooks_.tell(std::move(event));
}

void ConfigKeeper::TellRefused(const absl::Status& status, const std::string& by) {
  last_refused_ = true;
  spdlog::error("reload refused: {}", Message(status));
  fabric::FabricEvent event;
  event.type = "ConfigRefused";
  event.severity = fabric::Severity::kWarning;
  event.subject = "configuration";
  event.message = "the configuration of before stays: " + Message(status);
  event.facts = {{"by", by}};
  hooks_.tell(std::move(event));
}

}  // namespace fabricd::daemon
