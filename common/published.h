// SPDX-License-Identifier: Apache-2.0
// Published<T>: the latest immutable value, one writer, any number of readers. A mutex guards only
// the pointer swap (std::atomic<std::shared_ptr> of libstdc++ 12 trips TSan, DESIGN §3).
#pragma once

#include <memory>
#include <utility>

#include "common/mutex.h"

namespace fabricd {

template <typename T>
class Published {
 public:
  void Set(std::shared_ptr<const T> value) {
    MutexLock lock(mutex_);
    value_.swap(value);
  }
  std::shared_ptr<const T> Get() const {
    MutexLock lock(mutex_);
    return value_;
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const T> value_ FABRICD_GUARDED_BY(mutex_);
};

}  // namespace fabricd
