// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/view_publisher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "daemon/core/dumps.h"
#include "daemon/record/logging.h"
#include "daemon/record/view_events.h"

namespace fabricd::daemon {
namespace {

constexpr auto kBeat = std::chrono::seconds(10);

bool IsStandby(const sweep::FabricView& view) { return view.sm.state == wire::SmState::kStandby; }

bool IsIdle(const sweep::FabricView& view) {
  return view.phase == sweep::Phase::kIdle || view.phase == sweep::Phase::kStandby;
}

}  // namespace

bool IsServing(const sweep::FabricView& view) { return IsStandby(view) || view.sweeps_done > 0; }

ViewPublisher::ViewPublisher(CommandPort& commands, EventLog& events, OnView on_view,
                             std::string dump_dir)
    : commands_(commands),
      events_(events),
      on_view_(std::move(on_view)),
      dumps_(std::move(dump_dir), [this] { return DumpView(*view()); }) {
  view_.Set(sweep::EmptyView());  // A client may call before the core has published anything.
}

void ViewPublisher::Beat() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_beat_) return;
  next_beat_ = now + kBeat;
  events_.Beat();
}

void ViewPublisher::OnLog(sweep::LogRecord record) { Write(record); }

void ViewPublisher::OnPublished(std::shared_ptr<const sweep::FabricView> view,
                                std::vector<fabric::FabricEvent> events, Instant now) {
  if (view) {
    auto of_view = EventsBetween(*view_.Get(), *view);
    std::move(of_view.begin(), of_view.end(), std::back_inserter(events));
    view_.Set(view);
    on_view_(view);
    ReportState(*view);
  }
  if (!events.empty()) events_.Append(std::move(events), now);
}

void ViewPublisher::ReportState(const sweep::FabricView& view) {
  const bool idle = IsIdle(view);
  if (IsStandby(view) || (view.sweeps_done > 0 && idle)) service_manager_.Ready();
  service_manager_.Status(fmt::format("{} {}, {} nodes, {}", wire::SmStateName(view.sm.state),
                                      sweep::PhaseName(view.phase), view.snapshot->node_count(),
                                      view.subnet_up ? "subnet up" : "subnet not up"));
  if (view.sweeps_done == sweeps_seen_ || !idle) return;
  sweeps_seen_ = view.sweeps_done;
  if (view.plan) dumps_.Post();
}

void ViewPublisher::OnFinished(sweep::FinishedCommand finished) { commands_.Finish(finished); }

void ViewPublisher::OnAnswer(sweep::Answer answer) {
  commands_.inbox().PushAnswer(std::move(answer));
}

}  // namespace fabricd::daemon
