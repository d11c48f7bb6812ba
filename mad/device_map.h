// SPDX-License-Identifier: Apache-2.0
// DeviceMap: a value for each device, in pages. Devices of nodes count from 0, others (probes) are
// far above them, and the room between them takes no memory.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "mad/smp_request.h"

namespace fabricd::mad {

template <typename T>
class DeviceMap {
 public:
  // Call before any other function but Has() for a device. Its value and those of its neighbours
  // are T().
  void Add(DeviceId device) {
    const size_t page = device / kPage;
    if (page >= pages_.size()) pages_.resize(page + 1);
    if (pages_[page] == nullptr) pages_[page] = std::make_unique<Page>();
  }
  bool Has(DeviceId device) const {
    const size_t page = device / kPage;
    return page < pages_.size() && pages_[page] != nullptr;
  }
  T& operator[](DeviceId device) { return (*pages_[device / kPage])[device % kPage]; }
  const T& operator[](DeviceId device) const { return (*pages_[device / kPage])[device % kPage]; }

 private:
  static constexpr size_t kPage = 256;
  using Page = std::array<T, kPage>;
  std::vector<std::unique_ptr<Page>> pages_;
};

}  // namespace fabricd::mad
