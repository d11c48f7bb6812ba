// SPDX-License-Identifier: Apache-2.0
#include "shell/succession.h"

#include <chrono>

#include <fmt/format.h>

#include "common/breakage.h"
#include "shell/stop_notice.h"

namespace fabricd::shell {
namespace {

using store::etcd::FabricRole;
using Contends = Succession::Contends;

// A takeover has 3 s in all. A third of this is enough to ask one of three members.
constexpr std::chrono::seconds kTakeoverLimit{1};

// `before`: of an earlier start.
sweep::ReaderTables Newest(const sweep::ReaderTables& now, const sweep::ReaderTables& before) {
  const sweep::ReaderTables& reading = now.read ? now : before;
  return {reading.read, reading.master, now.computed ? now.computed : before.computed};
}

}  // namespace

void Succession::AddTo(store::etcd::EtcdStoreOptions& options) const {
  options.contends = contends;
  options.unresponsive_epoch = unresponsive_epoch;
  options.continues = continues;
  if (yields) options.yields = kTimeForAnother;
  if (continues) options.takeover_limit = kTakeoverLimit;
}

void SuccessionWatch::Begin(sweep::SmOptions& options, store::etcd::SharedStore& shared,
                            Instant now) {
  // A waiting node learns the master from its own sweeps, and how it responds.
  if (!shared.other_owner()) {
    options.unresponsive_master = succession_.unresponsive_master;
    options.doubts_polls = succession_.doubts_polls;
    options.last_master = succession_.last_master;
  }
  options.sharing_ports = sharing_ports_.Begin(shared, now);
}

std::string SuccessionWatch::Notice(const store::etcd::SharedStore& shared) const {
  return shared.other_owner() ? StopNotice(succession_.stopped_for) : "";
}

FabricRole SuccessionWatch::Role(const sweep::SmStatus& sm, Instant now) {
  if (sm.has_link || IsBroken(Breakage::kNoLinkNotSaid))
    has_no_link_since_.reset();
  else if (!has_no_link_since_)
    has_no_link_since_ = now;
  if (has_no_link_since_ && now - *has_no_link_since_ >= kLinkLost) return FabricRole::kNoLink;
  return sm.state == wire::SmState::kMaster ? FabricRole::kMaster : FabricRole::kOther;
}

std::string SuccessionWatch::WhyToStopWaiting(const store::etcd::SharedStore& shared,
                                              const store::etcd::EpochOwner& owner,
                                              const sweep::FabricView& view) {
  // Rows are believed by their digests, so that those of an earlier wait are as good.
  successor_ = {.continues = true,
                .stopped_for = succession_.stopped_for,
                .tables = Newest(view.reader_tables, succession_.tables)};
  if (view.sm.watched_master == sweep::WatchedMaster::kUnresponsive) {
    successor_.contends = Contends::kWithUnresponsiveOwner;
    successor_.unresponsive_epoch = owner.epoch;
    successor_.unresponsive_master = view.sm.watched_guid;
    successor_.doubts_polls = !view.sm.watched_port_responds;
    return successor_.doubts_polls ? "neither the master nor its port responds"
                                   : "the master does not respond";
  }
  if (view.sm.watched_master == sweep::WatchedMaster::kNoMaster &&
      owner.role == FabricRole::kNoLink) {
    successor_.contends = Contends::kWithOwnerWithoutLink;
    return "the owner of the shared state says that its port has no link";
  }
  if (view.sm.watched_master == sweep::WatchedMaster::kNone) {
    successor_.contends = Contends::kWithIdleOwner;
    return "no subnet manager is to be seen";
  }
  successor_.trusts_record = shared.has_owner_kept_epoch();
  return shared.why_reopen();
}

std::string SuccessionWatch::WhyAgain(const store::etcd::SharedStore& shared,
                                      const sweep::FabricView& view,
                                      std::optional<WriteFence::Time> pause, bool steps_down) {
  std::string why = Decide(shared, view, pause, steps_down);
  if (why.empty()) return why;
  if (view.sm.last_master != view.sm.guid) successor_.last_master = view.sm.last_master;
  return why;
}

std::string SuccessionWatch::Decide(const store::etcd::SharedStore& shared,
                                    const sweep::FabricView& view,
                                    std::optional<WriteFence::Time> pause, bool steps_down) {
  if (const auto owner = shared.other_owner()) return WhyToStopWaiting(shared, *owner, view);
  successor_ = {};
  has_managed_ = has_managed_ || view.sm.state == wire::SmState::kMaster;
  if (has_managed_)
    succession_.tables = {};
  else
    successor_.stopped_for = succession_.stopped_for;
  if (pause) {
    if (has_managed_) successor_.stopped_for = *pause;
    return fmt::format(
        "this process was stopped for {} ms, and did not keep the epoch of the shared state: "
        "another fabricd may be master",
        std::chrono::floor<std::chrono::milliseconds>(*pause).count());
  }
  if (steps_down) {
    successor_.yields = true;
    return "stepping down";
  }
  // Where no SM has answered as master it goes on: with another core the time for which it waits
  // for the preferred one, or for one that may be busy, would begin again.
  if ((shared.contends() || shared.is_beside_master()) && view.sm.has_other_master) {
    if (!has_managed_) successor_.tables = succession_.tables;
    return "another SM is master";
  }
  // The state may have changed while this fabricd was about to become master: then it tries again
  // with the epoch that it has taken. Without the epoch it waits again: the owner may respond now.
  // One that was master beside another one, which is master no longer, tries again too.
  if (shared.is_beside_master())
    successor_.contends = Contends::kWithIdleOwner;
  else if (!has_managed_ && shared.epoch() != 0)
    successor_ = succession_;
  else if (!has_managed_)
    successor_.tables = succession_.tables;
  successor_.trusts_record = shared.has_owner_kept_epoch();
  successor_.yields = false;
  return shared.why_reopen();
}

}  // namespace fabricd::shell
