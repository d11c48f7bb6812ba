// SPDX-License-Identifier: Apache-2.0
// SharingPortsWatch: the ports of the other managers that share the durable state, as each of them
// names its own in a line of store::etcd::NodeStatement::about. To the core every other SM is
// foreign. A port is remembered for an hour after its node has gone, and after a start: the SM of a
// node that hangs is not foreign, though that node says nothing any more. Not for longer: another
// make of SM may run on the port by then.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/status/status.h>

#include "common/ids.h"
#include "common/time.h"
#include "store/etcd/etcd_store.h"

namespace fabricd::shell {

// The line about this node's own port.
std::string PortLine(Guid port);

class SharingPortsWatch {
 public:
  using Ports = std::vector<Guid>;
  static constexpr Duration kRemember = std::chrono::hours(1);

  // Before the core starts. nullopt: not known yet.
  std::optional<Ports> Begin(store::etcd::SharedStore& shared, Instant now);
  // Call after each turn. nullopt: as before. Otherwise the core is to be given them, and Keep()
  // runs on the store's thread.
  std::optional<Ports> Look(const store::etcd::SharedStore& shared, Instant now);
  // Another node is there, or was a moment ago as Look() has seen: one that contends is not named
  // while it starts again.
  bool HasOthers(Instant now) const { return others_seen_ && now - *others_seen_ < kStartsAgain; }
  // Keep() was not run: Look() returns them again.
  void Repeat() { said_.reset(); }
  static absl::Status Keep(store::Store& store, const Ports& ports);

  // As they are kept. What is no port is left out.
  static std::string TextOf(const Ports& ports);
  static Ports ReadText(std::string_view text);

 private:
  static constexpr Duration kInterval = std::chrono::milliseconds(200);
  static constexpr Duration kStartsAgain = std::chrono::seconds(15);
  static constexpr size_t kMost = 64;  // Then the one that was named longest ago is forgotten.

  struct Known {
    Guid port;
    Instant named;  // When last.
  };
  void Update(const store::etcd::SharedStore& shared, Instant now);
  void Add(Guid port, Instant now);
  Ports ports() const;

  std::vector<Known> known_;
  bool is_complete_ = false;   // All nodes that etcd has shown had named their ports.
  std::optional<Ports> said_;  // By Look().
  std::optional<Instant> others_seen_;
  Instant next_{};
};

}  // namespace fabricd::shell
