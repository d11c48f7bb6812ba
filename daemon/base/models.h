// SPDX-License-Identifier: Apache-2.0
// Models: the read model (query/read_model.h) of the latest view, made once for all who ask, each
// from the one before; and those that page tokens point to. Any thread.
#pragma once

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <absl/status/statusor.h>

#include "common/ids.h"
#include "common/mutex.h"
#include "daemon/base/backend.h"
#include "query/read_model.h"

namespace fabricd::daemon {

class Models {
 public:
  explicit Models(const Backend& backend);
  ~Models();

  // Of the latest view. Where it is not made yet, waits for the thread that makes it: once for all
  // who ask, and at ordinary priority. Threads with a niceness ask too, and a model that one of
  // them made would keep all others waiting for as long as the processors are busy.
  std::shared_ptr<const query::ReadModel> Current();
  // UNAVAILABLE, NOT_READY before the first sweep.
  absl::StatusOr<std::shared_ptr<const query::ReadModel>> Ready();
  // Keeps the model for kKeep, or until kMostKept others were kept later.
  void Keep(const std::shared_ptr<const query::ReadModel>& model);
  // Null: not kept (any more).
  std::shared_ptr<const query::ReadModel> Find(Generation generation);
  // Differs between starts of the daemon: generations begin anew.
  uint32_t epoch() const { return epoch_; }

 private:
  static constexpr std::chrono::seconds kKeep{60};
  static constexpr size_t kMostKept = 32;
  struct Kept {
    std::shared_ptr<const query::ReadModel> model;
    std::chrono::steady_clock::time_point until;
  };
  void DropOld() FABRICD_REQUIRES(mutex_);
  void MakeModels();

  const Backend& backend_;
  const uint32_t epoch_;
  Mutex mutex_;
  Condition asked_changed_, made_changed_;
  uint64_t asked_ FABRICD_GUARDED_BY(mutex_) = 0;  // How often Current() had to ask.
  uint64_t made_ FABRICD_GUARDED_BY(mutex_) = 0;   // Up to which that is answered.
  bool stopping_ FABRICD_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const query::ReadModel> current_;    // Set by the thread alone.
  std::vector<Kept> kept_ FABRICD_GUARDED_BY(mutex_);  // Oldest first.
  std::thread thread_;
};

}  // namespace fabricd::daemon
