// SPDX-License-Identifier: Apache-2.0
// MKeyRecords: what is durable of M_Keys, so that no restart locks the manager out of ports.
//
// The secret and the m_key of the configuration are stored before the core gets them, and so before
// a port can be given one. Former ones are kept too, newest first: a port that was away when they
// were replaced still has its former key. The neighbors are kept because a protected node answers
// nothing without the key of its GUID. They are written when the fabric has changed, at most once a
// minute.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <absl/status/statusor.h>

#include "config/config.h"
#include "store/store.h"
#include "sweep/interface/options.h"
#include "sweep/interface/view.h"

namespace fabricd::daemon {

class MKeyRecords {
 public:
  static constexpr size_t kFormer = 3;  // Of secrets, and of keys.
  static constexpr Duration kInterval = std::chrono::minutes(1);

  // Reads the secret and the store, and stores what is new. An error tells operators what to do.
  static absl::StatusOr<MKeyRecords> Open(store::Store& store, const config::Sm& sm);

  // Fills in the secrets, former keys and neighbors.
  void AddTo(sweep::SmOptions& options) const;

  // Whether Look() may have something to do: it needs a view.
  bool IsDue(Instant now) const { return keeps_neighbors_ && now >= next_write_; }
  // Call when it is due. `post` gets a job for the store's thread if neighbors are to be stored.
  void Look(const std::shared_ptr<const sweep::FabricView>& view, Instant now,
            const std::function<bool(std::function<void(store::Store&)>)>& post);

 private:
  std::string secret_;
  std::vector<std::string> former_secrets_;
  std::vector<MKey> former_keys_;
  fabric::Neighbors neighbors_;  // As stored when it was opened.
  bool keeps_neighbors_ = false;
  std::shared_ptr<const fabric::FabricSnapshot> written_;
  Instant next_write_{};
};

}  // namespace fabricd::daemon
