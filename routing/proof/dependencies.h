// SPDX-License-Identifier: Apache-2.0
// Dependencies: which channels wait for which, as the judges of a plan find them, and the cycles of
// that. Not thread-safe; parts made by several threads are merged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "routing/proof/wiring.h"

namespace fabricd::routing {

// A packet that came into switch s by port `in` wants port `out` next. A channel is named by its
// receiving end: s * ports + in - 1.
class Dependencies {
 public:
  explicit Dependencies(const Wiring& wiring)
      : ports_(wiring.last_port()),
        words_((ports_ + 63) / 64),
        bits_(size_t{wiring.size()} * ports_ * words_, 0) {}

  // Port 64 of a radix-64 switch must not share a bit with port 0, hence port - 1. Port 0 and ports
  // that lead nowhere are no channels.
  void Add(uint32_t channel, uint8_t out) {
    const unsigned bit = out - 1u;
    if (bit >= ports_) return;
    if (words_ == 1)
      bits_[channel] |= uint64_t{1} << bit;
    else
      bits_[size_t{channel} * words_ + bit / 64] |= uint64_t{1} << (bit % 64);
  }
  void Merge(const Dependencies& other) {
    for (size_t i = 0; i < bits_.size(); ++i) bits_[i] |= other.bits_[i];
  }
  size_t channels() const { return words_ ? bits_.size() / words_ : 0; }
  uint32_t SwitchOf(size_t channel) const { return static_cast<uint32_t>(channel / ports_); }
  uint8_t PortOf(size_t channel) const { return static_cast<uint8_t>(channel % ports_ + 1); }
  // Calls visit(channel) for each channel that `channel` waits for.
  template <typename Visit>
  void ForEachNext(const Wiring& wiring, size_t channel, Visit&& visit) const {
    for (size_t word = 0; word < words_; ++word)
      for (uint64_t left = bits_[channel * words_ + word]; left; left &= left - 1) {
        const auto out = static_cast<uint8_t>(word * 64 + __builtin_ctzll(left) + 1);
        const Far& far = wiring.far(SwitchOf(channel), out);
        if (far.IsSwitch()) visit(size_t{far.channel});
      }
  }

 private:
  size_t ports_, words_;
  std::vector<uint64_t> bits_;  // [channel * words]
};

// The channels of one cycle in waiting order; empty when there is none.
std::vector<size_t> FindCycle(const Wiring& wiring, const Dependencies& dependencies);

std::string CycleText(const Wiring& wiring, const Dependencies& dependencies,
                      const std::vector<size_t>& cycle);

}  // namespace fabricd::routing
