// SPDX-License-Identifier: Apache-2.0
#include "sweep/takeover/takeover_guard.h"

#include <algorithm>

#include "common/check.h"
#include "common/status.h"

namespace fabricd::sweep {

TakeoverGuard::TakeoverGuard(const CoreOptions& options, OpenQuestions& questions,
                             TakeoverRecord record)
    : options_(options), questions_(questions), record_(std::move(record)) {}

std::vector<Lid> TakeoverGuard::OwnLids(const LidManager& lids) const {
  std::vector<Lid> own;
  for (const Guid port : record_.sm_ports)
    if (const Lid lid = lids.RecordedLid(port)) own.push_back(lid);
  return own;
}

bool TakeoverGuard::IsAccepted(const std::string& id) const {
  if (id == options_.takeover.accept) return true;
  return std::find(record_.accepted.begin(), record_.accepted.end(), id) != record_.accepted.end();
}

bool TakeoverGuard::Stops(const DesiredState& desired, const AppliedState& applied,
                          const LidManager& lids, Guid own_port) {
  FABRICD_CHECK(is_armed_, "the guard was passed");
  const std::vector<Lid> own_lids = OwnLids(lids);
  const std::string id = DigestOf(FindRisks({desired, applied, options_, record_, own_lids}));
  is_held_ = !id.empty() && !IsAccepted(id);
  if (is_held_) return true;
  is_armed_ = false;
  NoteMastership(own_port);
  return false;
}

// Asked for before LIDs are, and so durable before the first Set that needs new LIDs.
void TakeoverGuard::NoteMastership(Guid own_port) {
  TakeoverRecord record = record_;
  NoteNewest(record.sm_ports, own_port);
  NoteNewest(record.prefixes, options_.sm.gid_prefix);
  NoteNewest(record.lmcs, options_.lmc);
  NoteNewest(record.lmcs, uint8_t{0});  // Of switches.
  NoteNewest(record.protect_bits, options_.sm.m_key_protect_bits);
  if (!(record == record_)) Persist(std::move(record));
}

void TakeoverGuard::Persist(TakeoverRecord record) {
  record_ = std::move(record);
  questions_.Ask(PersistTakeover{TakeoverRows(record_)});
}

const TakeoverReport& TakeoverGuard::MakeReport(const DesiredState& desired,
                                                const AppliedState& applied, const LidManager& lids,
                                                const fabric::MulticastGroups& groups) {
  const std::vector<Lid> own_lids = OwnLids(lids);
  TakeoverReport report =
      MakeTakeoverReport({desired, applied, options_, record_, own_lids}, groups);
  if (desired.plan == nullptr) report.no_plan = "no routing engine gave a plan";
  report_ = std::make_shared<const TakeoverReport>(std::move(report));
  return *report_;
}

absl::Status TakeoverGuard::Accept(const std::string& id) {
  if (!is_held_ || report_ == nullptr)
    return FailedPrecondition("no takeover is held: there is nothing to accept");
  if (id != report_->id)
    return NotFound("the takeover report has the id {} now: read it again", report_->id);
  TakeoverRecord record = record_;
  NoteNewest(record.accepted, id);
  Persist(std::move(record));
  return absl::OkStatus();
}

}  // namespace fabricd::sweep
