// SPDX-License-Identifier: Apache-2.0
// Links as telemetry describes them, for tests of verdicts.
#pragma once

#include <algorithm>

#include "policy/verdict/link_verdict.h"

namespace fabricd::policy::testing {

inline constexpr double kNdrBitsPerSecond = 400e9;

inline void Set(EndEvidence& end, Signal signal, Window window, WindowCount count) {
  auto& counts = end.signals[static_cast<size_t>(signal)];
  if (!counts) counts.emplace();
  (*counts)[static_cast<size_t>(window)] = count;
}
// In every window; by default spread over as many readings as a burst never has.
inline void SetAll(EndEvidence& end, Signal signal, uint64_t count, uint16_t readings = 3) {
  for (size_t i = 0; i < kWindows; ++i)
    Set(end, signal, static_cast<Window>(i),
        {count, static_cast<uint16_t>(std::min<uint64_t>(count, readings)), false});
}

inline EndEvidence MakeEnd(uint64_t node, uint8_t port, EndRole role) {
  EndEvidence end;
  end.node = Guid(node);
  end.port = PortNum(port);
  end.role = role;
  end.family = {0x2c9, static_cast<uint16_t>(role == EndRole::kHost ? 4129 : 54002), 0};
  end.is_fresh = true;
  end.age = std::chrono::seconds(20);
  for (size_t i = 0; i < kSignals; ++i) SetAll(end, static_cast<Signal>(i), 0);
  for (size_t i = 0; i < kWindows; ++i) {
    end.bits[i] =
        kNdrBitsPerSecond * std::chrono::duration<double>(LengthOf(static_cast<Window>(i))).count();
    end.rcv_packets[i] = end.bits[i] / 8 / 4096;
  }
  end.has_registers = true;
  end.wait.fill(WaitWindow{});
  end.temperature = 45;
  end.temperature_median = 44;
  end.temperature_alarm = 80;
  end.device_verdict = DeviceVerdict::kNormal;
  return end;
}

// NDR copper between a host and a leaf, up for three days; everything is measured, and nothing is
// wrong.
inline LinkEvidence CleanLink(uint64_t host = 0x100, uint64_t leaf = 0x200, uint8_t leaf_port = 7) {
  LinkEvidence link;
  link.a = MakeEnd(host, 1, EndRole::kHost);
  link.b = MakeEnd(leaf, leaf_port, EndRole::kLeaf);
  link.gigabits = 400;
  link.lane_gigabits = 100;
  link.fec = FecClass::kLowLatency;
  link.media = Media::kCopper;
  link.is_up = true;
  link.up_for = std::chrono::hours(72);
  return link;
}

inline LinkEvidence CleanTrunk(uint64_t one, uint64_t other, uint8_t port = 40) {
  LinkEvidence link = CleanLink();
  link.a = MakeEnd(one, port, EndRole::kTrunk);
  link.b = MakeEnd(other, port, EndRole::kTrunk);
  return link;
}

// E1 and E6 strong where the end receives.
inline void MakeNoisy(EndEvidence& end) {
  SetAll(end, Signal::kSymbolErrors, 40);
  SetAll(end, Signal::kEffectiveErrors, 400);
  SetAll(end, Signal::kLocalPhysical, 12);
}

inline const EvidenceRow* FindRow(const LinkVerdict& verdict, Row row, Side side) {
  const auto found =
      std::find_if(verdict.rows.begin(), verdict.rows.end(),
                   [&](const EvidenceRow& each) { return each.row == row && each.side == side; });
  return found == verdict.rows.end() ? nullptr : &*found;
}

inline Level LevelOfRow(const LinkEvidence& link, Row row, Side side) {
  const LinkVerdict verdict = Evaluate(link, Limits());
  const EvidenceRow* found = FindRow(verdict, row, side);
  return found == nullptr ? Level::kNone : found->level;
}

}  // namespace fabricd::policy::testing
