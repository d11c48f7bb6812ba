// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/counter_page.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "common/process_clock.h"
#include "daemon/http/answer_wait.h"
#include "daemon/http/page_text.h"

namespace fabricd::http {
namespace {

using telemetry::HistoryAnswer;
using telemetry::Millis;

constexpr int kLiveIntervals = 10;

int Thousandths(const query::Measure& measure) {
  return measure.value ? static_cast<int>(std::lround(std::clamp(*measure.value, 0.0, 1.0) * 1000))
                       : -1;
}

int BerCode(const query::Measure& ber) {
  if (!ber.value) return -1;
  if (ber.bound || *ber.value <= 0) return 0;
  return static_cast<int>(std::lround(std::clamp(-std::log10(*ber.value), 0.1, 30.0) * 10));
}

std::string HeatText(const query::Telemetry& telemetry, bool is_live) {
  std::string links;
  telemetry.model.ForEachLink([&](const query::LinkEnds& link) {
    const PortHeat a = is_live ? HeatOf(telemetry, link.a) : PortHeat();
    const PortHeat b = is_live ? HeatOf(telemetry, link.b) : PortHeat();
    // Either end counts both directions.
    fmt::format_to(std::back_inserter(links), "{}[{},{},{},{},{}]", links.empty() ? "" : ",",
                   std::max(a.use, b.use), a.wait, b.wait, a.ber, b.ber);
  });
  return links;
}

// Samples of a port, those next to each other put together where there are too many.
class Points {
 public:
  Points(const HistoryAnswer& sent, const HistoryAnswer& received) : now_(sent.now) {
    for (const telemetry::HistorySample& sample : received.samples)
      if (sample.known) received_[sample.at] = sample.xmit_bytes;
    const size_t most = CounterPage::kMostPoints;
    const size_t each = std::max<size_t>(1, (sent.samples.size() + most - 1) / most);
    for (size_t i = 0; i < sent.samples.size(); i += each)
      Add(&sent.samples[i], std::min(each, sent.samples.size() - i));
    step_ = static_cast<double>(sent.step) * static_cast<double>(each) / 1000;
  }
  const std::string& json() const { return json_; }
  double step() const { return step_; }

 private:
  struct Mean {
    double sum = 0;
    int count = 0;
    void Add(double value) {
      sum += value;
      ++count;
    }
    std::string Text() const { return count == 0 ? "null" : fmt::format("{:.0f}", sum / count); }
  };

  void Add(const telemetry::HistorySample* samples, size_t count) {
    Mean sent, received;
    std::optional<double> wait;
    for (size_t i = 0; i < count; ++i) {
      const telemetry::HistorySample& sample = samples[i];
      if (sample.known) sent.Add(static_cast<double>(sample.xmit_bytes));
      if (const auto found = received_.find(sample.at); found != received_.end())
        received.Add(static_cast<double>(found->second));
      if (sample.knows_wait) wait = std::max(wait.value_or(0), static_cast<double>(sample.wait));
    }
    const Millis at = std::min(samples[count - 1].at, now_);
    fmt::format_to(std::back_inserter(json_), "{}[{},{},{},{}]", json_.empty() ? "" : ",",
                   (now_ - at) / 1000, sent.Text(), received.Text(),
                   wait ? fmt::format("{:.4f}", *wait) : "null");
  }

  Millis now_;
  double step_ = 0;
  std::map<Millis, float> received_;
  std::string json_;
};

}  // namespace

PortHeat HeatOf(const query::Telemetry& telemetry, PortRef port) {
  const telemetry::PortRecord* record = telemetry.Find(port);
  if (record == nullptr || !telemetry.IsRead(port)) return {};
  const query::PortMeasures measures = query::MeasuresOf(telemetry.view, *record);
  return {Thousandths(measures.utilisation), Thousandths(measures.wait),
          BerCode(measures.symbol_ber)};
}

// A collector that hangs, or that reads no more, publishes readings that stay as fresh as they
// were.
bool CounterPage::IsLive(const telemetry::TelemetryView& view) const {
  const Duration age = ProcessClock::Now() - view.started - std::chrono::milliseconds(view.at);
  return view.state == telemetry::State::kPolling && view.interval != 0 &&
         age <= kLiveIntervals * std::chrono::milliseconds(view.interval);
}

Reply CounterPage::Heat(const Query& query) {
  const auto model = models_.Current();
  const auto view = backend_.telemetry();
  const bool is_live = IsLive(*view);
  const std::string version =
      fmt::format("{}.{}.{}", model->view->generation.value(), view->number, is_live ? 1 : 0);
  if (ArgumentOf(query, "have") == version) return Json("{\"version\":\"" + version + "\"}");
  MutexLock lock(mutex_);  // One computation, whoever asks.
  if (!heat_ || version_ != version) {
    heat_ = std::make_shared<const std::string>(
        fmt::format("{{\"version\":\"{}\",\"generation\":{},\"state\":\"{}\",\"live\":{},"
                    "\"links\":[{}]}}",
                    version, model->view->generation.value(), StateName(view->state), is_live,
                    HeatText({*model, *view}, is_live)));
    version_ = version;
  }
  return {200, "application/json", heat_};
}

Reply CounterPage::History(const Query& query) {
  const auto model = models_.Current();
  const auto port = PortOf(query, model->snapshot());
  if (!port) return Text("no such port\n", 404);
  const Duration span =
      ArgumentOf(query, "span") == "24h" ? std::chrono::hours(24) : std::chrono::hours(1);
  const auto read = [&](PortRef of) {
    return WaitForAnswer<std::optional<HistoryAnswer>>(
               [&](auto done) { backend_.ReadHistory(of, span, std::move(done)); })
        .value_or(std::nullopt);
  };
  const auto sent = read(*port);
  if (!sent || !sent->known) return Text("no history of this port now\n", 503);
  const PortRef peer = model->snapshot().port(*port)->peer;
  std::optional<HistoryAnswer> received;
  if (!peer.IsNone() && peer.port.value() != 0) received = read(peer);
  const auto view = backend_.telemetry();
  const query::Telemetry telemetry{*model, *view};
  const telemetry::PortRecord* record = telemetry.Find(*port);
  const Points points(*sent, received.value_or(HistoryAnswer()));
  return Json(fmt::format("{{\"step\":{},\"link\":{},\"points\":[{}]}}", points.step(),
                          record == nullptr ? 0 : record->facts.bytes_per_second, points.json()));
}

}  // namespace fabricd::http
