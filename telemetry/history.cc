// SPDX-License-Identifier: Apache-2.0
#include "telemetry/history.h"

#include <algorithm>
#include <cmath>

namespace fabricd::telemetry {
namespace {

constexpr double kRateUnit = 1024;  // Bytes per second.
constexpr double kWaitUnit = 1.0 / 65536;
constexpr int kMantissaBits = 11;
constexpr int kExponents = 31;  // The last exponent, with all bits set, stays free for kNone.

Millis ToMillis(Duration duration) {
  return static_cast<Millis>(
      std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

uint32_t Samples(Duration span, Duration step) {
  return std::max<uint32_t>(
      1, static_cast<uint32_t>((span.count() + step.count() - 1) / step.count()));
}

}  // namespace

uint16_t PackedValue::Pack(double value, double unit) {
  const double scaled = value / unit;
  // Below 2^11 units as an integer, then 2^e steps.
  if (!(scaled > 0)) return 0;
  if (scaled < (1 << kMantissaBits)) {
    return static_cast<uint16_t>(std::lround(scaled));
  }
  int exponent = 0;
  const double mantissa = std::frexp(scaled, &exponent);                      // [0.5, 1)
  const int shift = exponent - kMantissaBits;                                 // >= 1
  const auto rounded = std::lround(std::ldexp(mantissa, kMantissaBits + 1));  // 12 bits
  const int code = (shift << kMantissaBits) + static_cast<int>(rounded - (1 << kMantissaBits));
  return static_cast<uint16_t>(std::min(code, (kExponents << kMantissaBits) - 1));
}

double PackedValue::Unpack(uint16_t packed, double unit) {
  const int shift = packed >> kMantissaBits;
  const int low = packed & ((1 << kMantissaBits) - 1);
  if (shift == 0) return low * unit;
  return std::ldexp(low + (1 << kMantissaBits), shift - 1) * unit;
}

History::History(const HistoryOptions& options, size_t ports) {
  fine_ = {ToMillis(options.fine_step), Samples(options.fine_span, options.fine_step), 0};
  coarse_ = {ToMillis(options.coarse_step), Samples(options.coarse_span, options.coarse_step),
             size_t{fine_.samples} * 2};
  stride_ = coarse_.offset + size_t{coarse_.samples} * 2;
  Grow(ports);
}

size_t History::BytesPerPort(const HistoryOptions& options) {
  return sizeof(uint16_t) * 2 *
             (Samples(options.fine_span, options.fine_step) +
              Samples(options.coarse_span, options.coarse_step)) +
         2 * sizeof(Millis);
}

void History::Grow(size_t ports) {
  ports_ = ports;
  values_.resize(ports * stride_, PackedValue::kNone);
  values_.shrink_to_fit();
  newest_fine_.resize(ports);
  newest_coarse_.resize(ports);
}

void History::Forget(size_t port) {
  std::fill_n(values_.begin() + static_cast<ptrdiff_t>(port * stride_), stride_,
              PackedValue::kNone);
  newest_fine_[port] = newest_coarse_[port] = 0;
}

void History::Put(size_t port, const Ring& ring, Millis& newest, const Rates& reading,
                  const WaitShare& waited, bool merge) {
  const Millis step = reading.at / ring.step + 1;  // Counts from 1.
  uint16_t* rates = At(port, ring);
  uint16_t* waits = rates + ring.samples;
  double xmit = static_cast<double>(reading.xmit_bytes);
  double wait = static_cast<double>(waited.share);
  const bool knows_wait = waited.window != 0;
  if (newest != 0 && step > newest) {
    // A longer window says nothing of its single steps.
    constexpr Millis kMostFilled = 12;
    const Millis begin = reading.window <= kMostFilled * ring.step && reading.at > reading.window
                             ? reading.at - reading.window
                             : reading.at;
    const Millis skipped = std::min<Millis>(step - newest, ring.samples);
    for (Millis i = step - skipped + 1; i <= step; ++i) {
      const bool filled = i < step && (i - 1) * ring.step > begin;
      rates[i % ring.samples] = filled ? PackedValue::Pack(xmit, kRateUnit) : PackedValue::kNone;
      waits[i % ring.samples] =
          filled && knows_wait ? PackedValue::Pack(wait, kWaitUnit) : PackedValue::kNone;
    }
  }
  uint16_t& rate_place = rates[step % ring.samples];
  uint16_t& wait_place = waits[step % ring.samples];
  // Means of few readings each: the mean of mean and reading is near enough.
  if (merge && rate_place != PackedValue::kNone) {
    xmit = (PackedValue::Unpack(rate_place, kRateUnit) + xmit) / 2;
  }
  if (merge && wait_place != PackedValue::kNone && knows_wait) {
    wait = std::max(PackedValue::Unpack(wait_place, kWaitUnit), wait);
  }
  rate_place = PackedValue::Pack(xmit, kRateUnit);
  if (knows_wait) wait_place = PackedValue::Pack(wait, kWaitUnit);
  newest = step;
}

void History::Enter(size_t port, const Rates& rates, const WaitShare& wait) {
  if (rates.window == 0) return;
  Put(port, fine_, newest_fine_[port], rates, wait, false);
  Put(port, coarse_, newest_coarse_[port], rates, wait, true);
}

const History::Ring& History::RingOf(Duration span) const {
  return ToMillis(span) <= fine_.step * fine_.samples ? fine_ : coarse_;
}

std::vector<HistorySample> History::Read(size_t port, Millis now, Duration span) const {
  const Ring& ring = RingOf(span);
  const Millis newest = &ring == &fine_ ? newest_fine_[port] : newest_coarse_[port];
  const uint16_t* rates = At(port, ring);
  const uint16_t* waits = rates + ring.samples;
  const Millis last = now / ring.step + 1;
  const Millis wanted = std::min<Millis>({ToMillis(span) / ring.step, ring.samples, last});
  std::vector<HistorySample> samples;
  samples.reserve(wanted);
  for (Millis step = last - wanted + 1; step <= last; ++step) {
    HistorySample sample;
    sample.at = step * ring.step;
    const bool kept = step <= newest && newest - step < ring.samples;
    const uint16_t rate = kept ? rates[step % ring.samples] : PackedValue::kNone;
    const uint16_t wait = kept ? waits[step % ring.samples] : PackedValue::kNone;
    if (rate != PackedValue::kNone) {
      sample.known = true;
      sample.xmit_bytes = static_cast<float>(PackedValue::Unpack(rate, kRateUnit));
    }
    if (wait != PackedValue::kNone) {
      sample.knows_wait = true;
      sample.wait = static_cast<float>(PackedValue::Unpack(wait, kWaitUnit));
    }
    samples.push_back(sample);
  }
  if (!samples.empty() && !samples.back().known) samples.pop_back();
  return samples;
}

}  // namespace fabricd::telemetry
