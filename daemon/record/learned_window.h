// SPDX-License-Identifier: Apache-2.0
// LearnedWindow: keeps in the store how many SMPs the fabric bears at once, as the engine's window
// has learned, so that a restart starts with that. Single thread; Post may hand over to another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <absl/status/statusor.h>

#include "common/time.h"
#include "store/store.h"

namespace fabricd::daemon {

class LearnedWindow {
 public:
  // Runs a durable write on the store's thread. False: it is not run.
  using Post = std::function<bool(std::function<void(store::Store&)>)>;
  static constexpr Duration kInterval = std::chrono::minutes(1);

  // The window that was kept. nullopt: none was, so this is the first contact with the fabric.
  static absl::StatusOr<std::optional<uint32_t>> Load(store::Store& store);

  explicit LearnedWindow(Post post) : post_(std::move(post)) {}
  // Call often while the subnet is up. Writes another value at once the first time, and then at
  // most once in kInterval.
  void Note(uint32_t window, Instant now);

 private:
  const Post post_;
  uint32_t kept_ = 0;
  std::optional<Instant> written_;
};

}  // namespace fabricd::daemon
