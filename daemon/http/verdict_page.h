// SPDX-License-Identifier: Apache-2.0
// What the page /ui shows of verdicts: those that stand, where congestion begins, and the evidence
// about one link. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/mutex.h"
#include "daemon/base/backend.h"
#include "daemon/http/http_server.h"
#include "query/verdict_view.h"

namespace fabricd::http {

class VerdictPage {
 public:
  // `backend` outlives the page.
  explicit VerdictPage(daemon::Backend& backend) : backend_(backend) {}

  static constexpr size_t kMostVerdicts = 200, kMostRoots = 50, kMostVictims = 40, kMostCauses = 50;

  // Verdicts, the bad ones first, UNKNOWN ones only counted; common causes; congestion by the
  // number of victims; what is done. Query `have`: the number of the assessment that the client
  // has.
  Reply Verdicts(const Query& query);
  // Query `guid` and `port`: of either end. 404: no link there whose ends are read; 503: not now.
  Reply Evidence(const Query& query);

 private:
  daemon::Backend& backend_;
  Mutex mutex_;
  std::shared_ptr<const query::VerdictView> view_ FABRICD_GUARDED_BY(mutex_);  // Of text_.
  std::shared_ptr<const std::string> text_ FABRICD_GUARDED_BY(mutex_);
};

}  // namespace fabricd::http
