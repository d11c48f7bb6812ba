// SPDX-License-Identifier: Apache-2.0
// Lazy: a value that the first reader computes and all others share. Any thread; other readers wait
// while it is computed.
#pragma once

#include <mutex>
#include <optional>
#include <utility>

namespace fabricd {

template <typename T>
class Lazy {
 public:
  // `make` must return the same value for every caller. Only that of the first caller is called.
  template <typename Make>
  const T& Get(Make&& make) const {
    std::call_once(once_, [&] { value_.emplace(std::forward<Make>(make)()); });
    return *value_;
  }

 private:
  mutable std::once_flag once_;
  mutable std::optional<T> value_;
};

}  // namespace fabricd
