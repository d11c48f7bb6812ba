// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/progress_reporter.h"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "common/process_clock.h"
#include "daemon/core/core_host.h"
#include "daemon/record/logging.h"

namespace fabricd::daemon {
namespace {

constexpr auto kLineInterval = std::chrono::milliseconds(200);

std::string TextOf(const sweep::Progress& progress) {
  return fmt::format("{} {} {}", sweep::PhaseName(progress.phase), progress.step, progress.done);
}

}  // namespace

telemetry::CoreLoad LoadOf(sweep::Phase phase, size_t smps, bool sa_is_busy) {
  telemetry::CoreLoad load;
  load.smps = smps > 0;
  load.writing = phase == sweep::Phase::kAssigningLids || phase == sweep::Phase::kProgramming;
  // Jobs wait for a reroute, from the survey to the last write. No job waits for a periodic sweep.
  const bool reroutes = phase == sweep::Phase::kSurveying || phase == sweep::Phase::kRouting ||
                        phase == sweep::Phase::kBringingUp || load.writing;
  load.busy = reroutes || smps > CoreHost::kManyInFlight || sa_is_busy;
  return load;
}

ProgressReporter::ProgressReporter(Links links, bool once) : links_(std::move(links)) {
  if (once) once_.emplace();
}

void ProgressReporter::Report(const sweep::Core& core) {
  ReportLoad(core);
  const sweep::Progress progress = core.progress();
  const auto now = std::chrono::steady_clock::now();
  links_.publisher.service_manager().Tick(progress.done + core.sweeps_done(), now);
  if (now < next_line_) return;
  next_line_ = now + kLineInterval;
  if (progress.phase == sweep::Phase::kIdle || progress.phase == sweep::Phase::kStandby) {
    ShowProgress("");
    return;
  }
  std::string text = TextOf(progress);
  if (progress.total > 0) text += fmt::format("/{}", progress.total);
  ShowProgress(text + fmt::format(", {} SMPs sent", core.statistics().total_sent()));
}

void ProgressReporter::ReportLoad(const sweep::Core& core) {
  const telemetry::CoreLoad load =
      LoadOf(core.progress().phase, core.smps_in_flight(), links_.sa_is_busy());
  if (load == load_) return;
  load_ = load;
  links_.on_load(load);
}

std::optional<int> ProgressReporter::FindEnd(const sweep::Core& core) {
  if (!once_) return std::nullopt;
  const std::shared_ptr<const sweep::FabricView> view = links_.publisher.view();
  OnceWatch::Facts facts;
  facts.standby = view->sm.state == wire::SmState::kStandby;
  if (!MayManage(view->sm.mode))
    facts.why_not =
        fmt::format("the fabric was read; {} mode brings nothing up", SmModeName(view->sm.mode));
  else if (view->sm.is_held && view->takeover != nullptr)
    facts.why_not = fmt::format("the takeover report {} was not accepted", view->takeover->id);
  facts.idle = view->phase == sweep::Phase::kIdle || view->phase == sweep::Phase::kStandby;
  facts.subnet_up = view->subnet_up;
  facts.sweeps_done = view->sweeps_done;
  facts.progress = TextOf(core.progress());
  const std::optional<OnceWatch::End> end = once_->Judge(std::move(facts), ProcessClock::Now());
  if (!end) return std::nullopt;
  if (!end->why.empty()) spdlog::warn("ended: {}", end->why);
  return end->exit_code;
}

}  // namespace fabricd::daemon
