// SPDX-License-Identifier: Apache-2.0
// LightSweeps: runs one light sweep at a time, and keeps the result that the next one compares
// with.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "sweep/observe/light_sweep.h"
#include "sweep/observe/observed_fabric.h"

namespace fabricd::sweep {

class LightSweeps {
 public:
  // Both must outlive this.
  LightSweeps(const Ground& ground, const ObservedFabric& observed)
      : ground_(ground), observed_(observed) {}

  bool under_way() const { return sweep_ != nullptr; }
  // `reads_tables`: a sample of tables is read back after it. REQUIRES: none is under way.
  void Start(std::vector<RemoteSm> others, bool reads_tables, Instant now) {
    reads_tables_ = reads_tables;
    sweep_ = std::make_unique<LightSweep>(observed_.snapshot(), ground_.devices, ground_.engine,
                                          std::move(others), observed_.unread(),
                                          std::exchange(unresponsive_, {}));
    sweep_->Start(ground_.options.sweep, now);
  }
  void OnCompletion(const mad::Completion& completion) {
    if (sweep_) sweep_->OnCompletion(completion);
  }
  bool reads_tables() const { return reads_tables_; }  // Of the last one that was started.
  // Returns the light sweep that has ended, or null.
  std::unique_ptr<LightSweep> TakeEnded() {
    if (!sweep_ || !sweep_->done()) return nullptr;
    unresponsive_ = sweep_->unresponsive();
    return std::exchange(sweep_, nullptr);
  }
  // Drops the light sweep under way: a heavy sweep reads everything, or this SM is no longer
  // master.
  void Clear() {
    sweep_.reset();
    unresponsive_.clear();
  }

 private:
  const Ground ground_;
  const ObservedFabric& observed_;
  std::unique_ptr<LightSweep> sweep_;
  bool reads_tables_ = true;
  std::vector<NodeIndex> unresponsive_;  // Switches that did not respond in the last light sweep.
};

}  // namespace fabricd::sweep
