// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/view_publisher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "daemon/core/dumps.h"
#include "daemon/record/logging.h"
#include "daemon/record/view_news.h"

namespace fabricd::daemon {
namespace {

constexpr auto kBeat = std::chrono::seconds(10);

// Where another SM is master, fabricd knows the fabric all the same.
telemetry::State CollectorStateOf(const sweep::FabricView& view) {
  if (view.sm.state == wire::SmState::kStandby) return telemetry::State::kStandby;
  return view.snapshot->node_count() == 0 ? telemetry::State::kWaiting : telemetry::State::kPolling;
}

}  // namespace

// A client may come before the core has anything to show.
ViewPublisher::ViewPublisher(Readers readers, std::string dump_dir)
    : readers_(std::move(readers)),
      dumps_(std::move(dump_dir), [this] { return DumpView(*view()); }) {
  view_.Set(sweep::EmptyView());
}

void ViewPublisher::Beat() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_beat_) return;
  next_beat_ = now + kBeat;
  readers_.events.Beat();
}

void ViewPublisher::OnLog(sweep::LogRecord record) { Write(record); }

void ViewPublisher::OnPublished(std::shared_ptr<const sweep::FabricView> view,
                                std::vector<fabric::FabricEvent> events, Instant now) {
  if (view) {
    auto of_view = NewsOf(*view_.Get(), *view);
    std::move(of_view.begin(), of_view.end(), std::back_inserter(events));
    Publish(std::move(view));
  }
  if (!events.empty()) readers_.events.Append(std::move(events), now);
}

void ViewPublisher::Publish(std::shared_ptr<const sweep::FabricView> view) {
  view_.Set(view);
  readers_.sa.OnView(view);
  readers_.telemetry.OnFabric({view->snapshot, CollectorStateOf(*view)});
  ReportState(*view);
}

void ViewPublisher::ReportState(const sweep::FabricView& view) {
  const bool standby = view.sm.state == wire::SmState::kStandby;
  const bool idle = view.phase == sweep::Phase::kIdle || view.phase == sweep::Phase::kStandby;
  const bool ready = standby || (view.sweeps_done > 0 && idle);
  readers_.on_api(ready || view.sweeps_done > 0);
  if (ready) service_manager_.Ready();
  service_manager_.Status(fmt::format("{} {}, {} nodes, {}", wire::SmStateName(view.sm.state),
                                      sweep::PhaseName(view.phase), view.snapshot->node_count(),
                                      view.subnet_up ? "subnet up" : "subnet not up"));
  if (view.sweeps_done == sweeps_seen_ || !idle) return;
  sweeps_seen_ = view.sweeps_done;
  if (view.plan) dumps_.Post();
}

void ViewPublisher::OnFinished(sweep::FinishedCommand finished) {
  readers_.commands.Finish(finished);
}

void ViewPublisher::OnAnswer(sweep::Answer answer) {
  readers_.commands.inbox().PushAnswer(std::move(answer));
}

}  // namespace fabricd::daemon
