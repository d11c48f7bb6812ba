// SPDX-License-Identifier: Apache-2.0
// What the page /ui shows of counters: how busy links are, how long they wait, their bit errors,
// and the history of one port. What is not fresh is unknown. Any thread.
#pragma once

#include <memory>
#include <string>

#include "common/mutex.h"
#include "daemon/base/backend.h"
#include "daemon/base/models.h"
#include "daemon/http/http_server.h"
#include "query/measures.h"

namespace fabricd::http {

class CounterPage {
 public:
  // Both outlive the page.
  CounterPage(daemon::Backend& backend, daemon::Models& models)
      : backend_(backend), models_(models) {}

  // Of each link, in the order of FabricPage::Fabric() of the same generation:
  // [utilisation, wait of end a, of b, symbol BER at a, at b]. Shares in thousandths; of a BER the
  // negative decimal logarithm in tenths, 0: no error was seen; -1: unknown. Query `have`: the
  // version that the client has.
  Reply Heat(const Query& query);
  // Query `guid`, `port`, and `span`: "1h" or "24h". Points [seconds ago, bytes per second sent,
  // received, wait share], the oldest first, at most kMostPoints; null: unknown. 404: no such port;
  // 503: no history of it now.
  Reply History(const Query& query);

  static constexpr size_t kMostPoints = 300;

 private:
  bool IsLive(const telemetry::TelemetryView& view) const;

  daemon::Backend& backend_;
  daemon::Models& models_;
  Mutex mutex_;
  std::string version_ FABRICD_GUARDED_BY(mutex_);  // Of heat_.
  std::shared_ptr<const std::string> heat_ FABRICD_GUARDED_BY(mutex_);
};

// The heat of a port as above.
struct PortHeat {
  int use = -1, wait = -1, ber = -1;
};
PortHeat HeatOf(const query::Telemetry& telemetry, PortRef port);

}  // namespace fabricd::http
