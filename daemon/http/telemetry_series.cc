// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/telemetry_series.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace fabricd::http {
namespace {

using query::Measure;
using query::PortMeasures;
using telemetry::Counter;
using telemetry::CounterSet;
using telemetry::Freshness;
using Type = SeriesText::Type;

// Those with a name of infiniband_exporter's, or one like them.
constexpr size_t kShownCounters = telemetry::kFirstRegister;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr uint64_t kBytesPerUnit = 4;

struct GaugeFamily {
  const char* suffix;
  const char* help;
  Measure PortMeasures::*measure;
  bool bound = false;  // Of those without errors, whose value is an upper bound.
};
constexpr GaugeFamily kGauges[] = {
    {"transmit_wait_ratio", "Part of the time in which the port had data and no credits.",
     &PortMeasures::wait},
    {"utilisation_ratio", "Of the busier direction: part of the data rate that is used.",
     &PortMeasures::utilisation},
    {"symbol_ber", "Bit error ratio behind FEC and retransmission, where errors were seen.",
     &PortMeasures::symbol_ber},
    {"symbol_ber_upper_bound", "Upper bound of it at 95 %, where no error was seen.",
     &PortMeasures::symbol_ber, true},
    {"effective_ber", "Bit error ratio behind FEC, where errors were seen.",
     &PortMeasures::effective_ber},
    {"effective_ber_upper_bound", "Upper bound of it at 95 %, where no error was seen.",
     &PortMeasures::effective_ber, true},
    {"raw_ber", "Bit error ratio before FEC, where errors were seen.", &PortMeasures::raw_ber},
    {"raw_ber_upper_bound", "Upper bound of it at 95 %, where no error was seen.",
     &PortMeasures::raw_ber, true},
    {"module_temperature_celsius", "Temperature of the cable module.", &PortMeasures::temperature},
};
constexpr size_t kGaugeFamilies = std::size(kGauges);

// What one port has series of. Made in one pass over the records, which are far apart in memory;
// the families are written from an array of these.
struct PortSample {
  const PortRow* row = nullptr;
  CounterSet counters, saturated;
  std::array<uint64_t, kShownCounters> totals{};
  std::optional<uint64_t> resets;
  double age = kNone;
  std::array<double, kGaugeFamilies> gauges{};
};

// Those that metrics_counters: main leaves out.
bool IsMinor(Counter counter) {
  const bool split = counter >= Counter::kUnicastXmitPkts && counter < Counter::kSymbolErrors;
  return split || Index(counter) >= telemetry::kFirstDetail;
}

bool IsData(Counter counter) {
  return counter == Counter::kXmitData || counter == Counter::kRcvData;
}

void TakeCounters(const telemetry::PortRecord& record, CounterSet wanted, PortSample& sample) {
  for (size_t i = 0; i < kShownCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    if (!wanted.Has(counter) || !record.measured.Has(counter) || record.invalid.Has(counter)) {
      continue;
    }
    sample.counters.Add(counter);
    sample.totals[i] = record.Total(counter);
    if (record.saturated.Has(counter)) sample.saturated.Add(counter);
  }
  sample.resets = record.resets;
}

void TakeGauges(const telemetry::TelemetryView& view, const telemetry::PortRecord& record,
                PortSample& sample) {
  const PortMeasures measures = query::MeasuresOf(view, record);
  for (size_t i = 0; i < kGaugeFamilies; ++i) {
    const Measure& measure = measures.*kGauges[i].measure;
    if (measure.value && measure.bound == kGauges[i].bound) sample.gauges[i] = *measure.value;
  }
}

std::vector<PortSample> Gather(const query::Telemetry& telemetry, const std::vector<PortRow>& rows,
                               CounterSet wanted) {
  std::vector<PortSample> samples;
  samples.reserve(rows.size());
  for (const PortRow& row : rows) {
    const telemetry::PortRecord* record = telemetry.Find(row.ref());
    if (record == nullptr) continue;
    const Freshness freshness = telemetry.view.FreshnessOf(*record);
    if (freshness == Freshness::kNever) continue;
    PortSample& sample = samples.emplace_back();
    sample.row = &row;
    sample.gauges.fill(kNone);
    if (freshness != Freshness::kUnknown) TakeCounters(*record, wanted, sample);
    if (!telemetry.IsRead(row.ref())) continue;
    sample.age = query::AgeOf(telemetry.view, TrafficReadAt(*record)) / 1000.0;
    if (freshness == Freshness::kFresh) TakeGauges(telemetry.view, *record, sample);
  }
  return samples;
}

void WriteCounters(const char* kind, const std::vector<PortSample>& samples, CounterSet wanted,
                   SeriesText& out) {
  for (size_t i = 0; i < kShownCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    if (!wanted.Has(counter)) continue;
    const telemetry::CounterInfo& info = InfoOf(counter);
    const uint64_t unit = IsData(counter) ? kBytesPerUnit : 1;
    out.Begin(fmt::format("infiniband_{}_port_{}", kind, info.metric),
              fmt::format("{}{}: increases that fabricd has seen.", info.name,
                          IsData(counter) ? " in bytes" : ""),
              Type::kCounter);
    for (const PortSample& sample : samples) {
      if (sample.counters.Has(counter)) out.Add(sample.row->labels(), unit * sample.totals[i]);
    }
  }
  out.Begin(fmt::format("infiniband_{}_port_counters_reset_total", kind),
            "How often the port's counters began again: somebody cleared them, or a restart.",
            Type::kCounter);
  for (const PortSample& sample : samples) {
    if (sample.resets) out.Add(sample.row->labels(), *sample.resets);
  }
  out.Begin(fmt::format("infiniband_{}_port_counter_saturated", kind),
            "1 where a counter is at its maximum: its increases are lower bounds.");
  for (const PortSample& sample : samples) {
    if (sample.saturated.IsEmpty()) continue;
    telemetry::ForEachCounter([&](Counter counter) {
      if (!sample.saturated.Has(counter)) return;
      out.Add(fmt::format("{},counter=\"{}\"", sample.row->labels(), InfoOf(counter).key),
              uint64_t{1});
    });
  }
}

void WriteGauges(const char* kind, const std::vector<PortSample>& samples, SeriesText& out) {
  for (size_t i = 0; i < kGaugeFamilies; ++i) {
    out.Begin(fmt::format("infiniband_{}_port_{}", kind, kGauges[i].suffix), kGauges[i].help);
    for (const PortSample& sample : samples) {
      if (!std::isnan(sample.gauges[i])) out.Add(sample.row->labels(), sample.gauges[i]);
    }
  }
  out.Begin(fmt::format("infiniband_{}_port_sample_age_seconds", kind),
            "Since the counters of an ACTIVE port were read.");
  for (const PortSample& sample : samples) {
    if (!std::isnan(sample.age)) out.Add(sample.row->labels(), sample.age);
  }
}

}  // namespace

void WriteTelemetry(const query::Telemetry& telemetry, const PortRows& rows,
                    const config::Telemetry& wanted, SeriesText& out) {
  if (wanted.metrics == "none") return;
  CounterSet counters;
  for (size_t i = 0; i < kShownCounters; ++i) {
    const auto counter = static_cast<Counter>(i);
    if (wanted.metrics_counters == "all" || !IsMinor(counter)) counters.Add(counter);
  }
  for (const PortRows::Kind& kind : rows.kinds) {
    if (wanted.metrics == "switches" && kind.word != std::string_view("switch")) continue;
    const std::vector<PortSample> samples = Gather(telemetry, kind.rows, counters);
    WriteCounters(kind.word, samples, counters, out);
    WriteGauges(kind.word, samples, out);
  }
}

}  // namespace fabricd::http
