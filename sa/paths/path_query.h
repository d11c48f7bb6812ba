// SPDX-License-Identifier: Apache-2.0
// PathQuery: what a PathRecord or MultiPathRecord request asks of a path, apart from its ends (IBA
// vol 1 §15.2.5.16, §15.2.5.20). Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "mad/wire/sa_path_records.h"
#include "sa/view/end_ports.h"

namespace fabricd::sa {

// Numbers of PathRecord's components.
enum class PathComponent : uint8_t {
  kServiceIdHigh = 0,
  kServiceIdLow = 1,
  kDgid = 2,
  kSgid = 3,
  kDlid = 4,
  kSlid = 5,
  kRawTraffic = 6,
  kFlowLabel = 8,
  kHopLimit = 9,
  kTrafficClass = 10,
  kReversible = 11,
  kNumbPath = 12,
  kPKey = 13,
  kQosClass = 14,
  kSl = 15,
  kMtuSelector = 16,
  kMtu = 17,
  kRateSelector = 18,
  kRate = 19,
  kLifeTimeSelector = 20,
  kLifeTime = 21,
};
// HopLimit of what leaves the subnet.
inline constexpr uint8_t kMostHops = 255;

constexpr bool Has(uint64_t mask, PathComponent component) {
  return (mask >> static_cast<unsigned>(component) & 1) != 0;
}

// A path carries every MTU and rate below its own too, and may be given more time than it needs: a
// bound is met by lowering the one or raising the other where that is enough.
struct Bound {
  wire::Selector selector = wire::Selector::kLargest;  // Bounds nothing.
  uint8_t value = 0;

  // False: the path cannot meet it.
  bool LowerTo(uint8_t& best) const;
  bool RaiseTo(uint8_t& least) const;
};

class PathQuery {
 public:
  static constexpr uint8_t kMostPaths = 127;

  // What components outside the mask say does not count. nullopt: a value that no path can have or
  // a bound that is not one (ERR_REQ_INVALID).
  static std::optional<PathQuery> Make(const wire::PathRecord& wanted, uint64_t mask);

  // What the answer says of a path that carries `best`; false: not what is asked for.
  bool Fit(Carriage& best, uint8_t& life_time) const {
    return mtu_.LowerTo(best.mtu) && rate_.LowerTo(best.rate) && life_time_.RaiseTo(life_time);
  }
  // The service level of a path whose plan says `planned`; nullopt: not the one asked for. Service
  // levels that are equal modulo the lanes are one.
  std::optional<uint8_t> FitServiceLevel(uint8_t planned, uint8_t lanes) const {
    if (!sl_ || *sl_ == planned) return planned;
    return *sl_ % lanes == planned % lanes ? sl_ : std::nullopt;
  }
  PKey p_key() const { return p_key_; }  // 0: any.
  bool reversible() const { return reversible_; }
  std::optional<uint8_t> hop_limit() const { return hop_limit_; }  // nullopt: any.
  uint8_t numb_path() const { return numb_path_; }                 // Per pair of ends.
  // An answer with all that is the same in every path.
  const wire::PathRecord& prototype() const { return prototype_; }

 private:
  Bound mtu_, rate_, life_time_;
  std::optional<uint8_t> sl_, hop_limit_;
  PKey p_key_;
  bool reversible_ = false;
  uint8_t numb_path_ = kMostPaths;
  wire::PathRecord prototype_;
};

}  // namespace fabricd::sa
