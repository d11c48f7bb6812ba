// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/streams/rate_stream.h"

#include <utility>
#include <vector>

#include <grpcpp/alarm.h>

#include "daemon/base/wall_clock.h"
#include "daemon/rpc/convert/convert_telemetry.h"
#include "daemon/rpc/convert/port_selector.h"
#include "query/measures.h"

namespace fabricd::rpc {
namespace {

namespace pb = ::fabric::v1;

constexpr std::chrono::seconds kLook{1};
// Ports of one message, some 600 bytes each.
constexpr int kPortsOfPiece = 200;

using telemetry::TelemetryView;

telemetry::Millis NewestReading(const telemetry::PortRecord& record) {
  telemetry::Millis newest = 0;
  for (const telemetry::Millis at : record.read_at) newest = std::max(newest, at);
  return newest;
}

// Holds one view while its client takes it, and nothing besides.
class RateStream final : public RateStreamBase {
 public:
  RateStream(daemon::Models& models, daemon::Backend& backend,
             std::shared_ptr<const query::ReadModel> model, PortSelector selector,
             telemetry::CounterSet counters, std::chrono::milliseconds longest)
      : models_(models),
        backend_(backend),
        model_(std::move(model)),
        selector_(std::move(selector)),
        counters_(counters),
        longest_(longest) {}

  // Weak: an alarm keeps its callback for as long as it lives.
  static void Arm(const std::shared_ptr<RateStream>& stream) {
    stream->alarm_.Set(GrpcDeadline(kLook), [held = std::weak_ptr(stream)](bool expired) {
      const auto self = held.lock();
      if (!expired || !self) return;
      self->OnChange(false);
      Arm(self);
    });
  }

 private:
  absl::StatusOr<bool> Next(bool, pb::WatchRatesResponse* out) override {
    if (view_ == nullptr && !TakeNewer()) return false;
    if (SteadyNowMs() - taken_ms_ > longest_.count()) {
      return MakeError(absl::StatusCode::kResourceExhausted, "SLOW_WATCHER",
                       "this watcher takes longer for the rates than they are good for");
    }
    const query::Telemetry telemetry{*model_, *view_};
    const TelemetryTimes times(*view_);
    while (node_ < model_->names->nodes.size() && out->ports_size() < kPortsOfPiece)
      AddNode(telemetry, times, model_->names->nodes[node_++], out);
    *out->mutable_time() = times.At(view_->at);
    if (node_ == model_->names->nodes.size()) {
      out->set_complete(true);
      seen_ = view_->at;
      view_ = nullptr;
    }
    return true;
  }

  // False: there is none.
  bool TakeNewer() {
    auto view = backend_.telemetry();
    if (view->number == number_ && sent_) return false;
    sent_ = true;
    number_ = view->number;
    view_ = std::move(view);
    model_ = models_.Current();
    node_ = 0;
    taken_ms_ = SteadyNowMs();
    return true;
  }

  void AddNode(const query::Telemetry& telemetry, const TelemetryTimes& times, NodeIndex index,
               pb::WatchRatesResponse* out) {
    if (!selector_.PassesSome(index)) return;
    const fabric::Node& node = *model_->snapshot().node(index);
    for (size_t i = 1; i < node.ports.size(); ++i) {
      const PortRef port{index, PortNum(static_cast<uint8_t>(i))};
      if (!selector_.Passes(port)) continue;
      const telemetry::PortRecord* record = telemetry.Find(port);
      // What was read since the last view; of the first all that is read at all.
      const bool is_new = record == nullptr ? seen_ == 0 && telemetry.IsRead(port)
                                            : NewestReading(*record) > seen_ || seen_ == 0;
      if (is_new) ToProto(telemetry, times, port, counters_, out->add_ports());
    }
  }

  daemon::Models& models_;
  daemon::Backend& backend_;
  std::shared_ptr<const query::ReadModel> model_;
  const PortSelector selector_;
  const telemetry::CounterSet counters_;
  const std::chrono::milliseconds longest_;
  std::shared_ptr<const TelemetryView> view_;  // Null: all of the last is sent.
  uint64_t number_ = 0;
  bool sent_ = false;
  size_t node_ = 0;
  int64_t taken_ms_ = 0;
  telemetry::Millis seen_ = 0;
  grpc::Alarm alarm_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<RateStreamBase>> MakeRateStream(
    daemon::Models& models, daemon::Backend& backend, const pb::WatchRatesRequest& request,
    std::chrono::milliseconds longest_view) {
  auto model = models.Ready();
  if (!model.ok()) return model.status();
  auto selector = PortSelector::Read(**model, request.names());
  if (!selector.ok()) return selector.status();
  const auto counters = ReadCounters(request.counters(), {});
  if (!counters.ok()) return counters.status();
  auto stream = std::make_shared<RateStream>(models, backend, *std::move(model),
                                             *std::move(selector), *counters, longest_view);
  RateStream::Arm(stream);
  return stream;
}

}  // namespace fabricd::rpc
