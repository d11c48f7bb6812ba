// SPDX-License-Identifier: Apache-2.0
#include "sim/shared/foreign_watch.h"

#include <algorithm>

#include <fmt/format.h>

namespace fabricd::sim {

void ForeignWatch::Look(Instant now, const ForeignNode* foreign, bool apart) {
  was_apart_ = apart || (was_apart_ && foreign != nullptr && foreign->is_busy());
  if (foreign == nullptr || !foreign->is_master() || foreign->hangs() || was_apart_ ||
      foreign->is_unknown_master()) {
    since_ = kNever;
    sets_.clear();
    return;
  }
  foreign_ = foreign;
  since_ = std::min(since_, now);
}

void ForeignWatch::OnSend(Instant now, PortRef host, const mad::OutgoingMad& mad) {
  if (since_ == kNever || host != foreign_->host()) return;
  const auto smp = wire::Smp::Decode(mad::WholeMad(mad.payload));
  if (smp && smp->method == wire::Method::kSet && smp->attribute == wire::AttributeId::kSmInfo)
    since_ = now;
}

void ForeignWatch::OnServed(const Served& served) {
  if (served.request.method != wire::Method::kSet || since_ == kNever || !foreign_->is_master() ||
      served.at < since_ + kAwareness || served.sender == foreign_->host() ||
      served.request.attribute == wire::AttributeId::kSmInfo)
    return;
  if (++sets_[served.sender] == MasterWatch::kBatch + 1)
    say_(
        fmt::format("more than {} Sets of a node reach devices though a foreign SM is master, the "
                    "last is of {}",
                    MasterWatch::kBatch, wire::AttributeName(served.request.attribute)));
}

}  // namespace fabricd::sim
