// SPDX-License-Identifier: Apache-2.0
// What the page /ui shows, as JSON made from published views: the fabric by tiers and rails with
// the load of its cables, one node's ports, and the latest events. Any thread.
//
// Each text is made once per view and shared: a hundred browsers cost one computation.
#pragma once

#include <memory>
#include <string>

#include "common/mutex.h"
#include "daemon/base/backend.h"
#include "daemon/base/models.h"
#include "daemon/http/http_server.h"
#include "query/read_model.h"

namespace fabricd::http {

class FabricPage {
 public:
  // Both outlive the page.
  FabricPage(daemon::Backend& backend, daemon::Models& models)
      : backend_(backend), models_(models) {}

  // Query `have`: the generation that the client has; the answer is then {"generation":N} alone
  // when there is no newer one.
  Reply Fabric(const Query& query);
  // Query `guid`: of a node; or `host`: a host's name. With what counters and verdicts say: `use`,
  // `wait` and `ber` as in CounterPage::Heat(). 404: there is none.
  Reply Ports(const Query& query);
  // Query `after`: version of the last event that the client has; the latest ones without it, or
  // when it is too old.
  Reply Events(const Query& query) const;

 private:
  struct Loads;
  std::shared_ptr<const Loads> LoadsOf(const sweep::FabricView& view) FABRICD_REQUIRES(mutex_);
  std::string MakeFabric(const query::ReadModel& model) FABRICD_REQUIRES(mutex_);

  daemon::Backend& backend_;
  daemon::Models& models_;
  Mutex mutex_;
  std::shared_ptr<const Loads> loads_ FABRICD_GUARDED_BY(mutex_);
  Generation generation_ FABRICD_GUARDED_BY(mutex_);
  std::shared_ptr<const std::string> fabric_ FABRICD_GUARDED_BY(mutex_);
};

}  // namespace fabricd::http
