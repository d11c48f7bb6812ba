// SPDX-License-Identifier: Apache-2.0
// ConfigKeeper: the configuration in force, and how another takes its place: read again, judged as
// a whole, compared, and put in force as far as a running daemon can. Each attempt leaves an event
// and lines in the log. Any thread; one reload at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>

#include "common/mutex.h"
#include "common/published.h"
#include "config/config.h"
#include "config/load.h"
#include "fabric/event.h"

namespace fabricd::daemon {

struct ReloadReport {
  std::vector<config::Change> changes;  // Against what was accepted last.
  std::vector<config::Change> waiting;  // For a restart, those of earlier reloads included.
  bool swept = false;                   // A heavy sweep was asked for.
};

class ConfigKeeper {
 public:
  // kJudge: only say whether it could be put in force. kQuiet: without a sweep.
  enum class Apply { kJudge, kQuiet, kSweep };
  using Load = std::function<absl::StatusOr<config::Config>(std::vector<config::Fault>* faults)>;
  struct Hooks {
    Load load;  // Empty: there is nothing to be read again.
    std::function<absl::Status(const config::Config& wanted, Apply how)> apply;
    std::function<void(fabric::FabricEvent)> tell;
  };
  // kSweepAlways: also when nothing changed, for what files behind the keys say.
  enum class How { kDryRun, kAsNeeded, kSweepAlways };
  // What the next App of the same process goes on with.
  struct Kept {
    // NOLINTNEXTLINE(google-explicit-constructor): at the start of the process they are one.
    Kept(config::Config started) : in_force(started), accepted(std::move(started)) {}
    config::Config in_force, accepted;
    bool last_refused = false;
  };

  ConfigKeeper(Kept kept, std::string file, Hooks hooks);

  // kFailedPrecondition: there is no file. Otherwise as Load and Hooks::apply; `faults` (may be
  // null) as Load fills it in. A failure changes nothing. `by` says who asks, for the event.
  absl::StatusOr<ReloadReport> Reload(How how, const std::string& by,
                                      std::vector<config::Fault>* faults);

  // What works now: of keys that wait for a restart the values of the start.
  std::shared_ptr<const config::Config> in_force() const { return in_force_.Get(); }
  // As accepted last.
  std::shared_ptr<const config::Config> accepted() const { return accepted_.Get(); }
  const std::string& file() const { return file_; }
  // Whether the last reload was refused. False before the first one.
  bool last_refused() const { return last_refused_; }
  Kept kept() const;

 private:
  void Tell(const ReloadReport& report, const std::string& by);
  void TellRefused(const absl::Status& status, const std::string& by);

  const config::Config started_;  // By the App that this is of.
  const std::string file_;
  const Hooks hooks_;
  Mutex mutex_;  // One reload at a time.
  Published<config::Config> in_force_, accepted_;
  std::atomic<bool> last_refused_ = false;
};

}  // namespace fabricd::daemon
