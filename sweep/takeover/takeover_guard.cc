// SPDX-License-Identifier: Apache-2.0
#include "sweep/takeover/takeover_guard.h"

#include <algorithm>

#include "common/check.h"
#include "common/status.h"

namespace fabricd::sweep {

TakeoverGuard::TakeoverGuard(const CoreOptions& options, OpenQuestions& questions,
                             TakeoverRecord record)
    : options_(options),
      questions_(questions),
      record_(std::move(record)),
      stored_ports_(record_.sm_ports) {}

std::vector<Lid> TakeoverGuard::OwnLids(const LidManager& lids) const {
  std::vector<Lid> own;
  for (const Guid port : record_.sm_ports)
    if (const Lid lid = lids.RecordedLid(port)) own.push_back(lid);
  return own;
}

CompareInput TakeoverGuard::InputFor(const DesiredState& desired, const AppliedState& applied,
                                     const std::vector<Lid>& own_lids) const {
  return {desired, applied, options_, record_, record_.WasMaster() || has_seen_fabric_, own_lids};
}

void TakeoverGuard::OnReadAsStandby(const fabric::FabricSnapshot& snapshot) {
  const NeighborCount count = CountNeighbors(snapshot);
  has_seen_fabric_ |= count.up > 0 && !IsTooUnresponsive(options_, count.unresponsive, count.up);
}

bool TakeoverGuard::IsAccepted(const std::vector<TakeoverChange>& risks) const {
  if (DigestOf(risks) == options_.takeover.accept) return true;
  return std::all_of(risks.begin(), risks.end(), [&](const TakeoverChange& change) {
    const std::string digest = DigestOf({&change, 1});
    return std::find(record_.accepted.begin(), record_.accepted.end(), digest) !=
           record_.accepted.end();
  });
}

TakeoverGuard::Tables TakeoverGuard::WhoseTables(const LidManager& lids,
                                                 const fabric::FabricSnapshot& snapshot) const {
  const std::vector<Lid> own = OwnLids(lids);
  bool all = true, any = false;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    if (!node.IsSwitch() || !node.switch_info || node.switch_info->linear_fdb_top == 0) return;
    any = true;
    const Lid named = node.port(PortNum(0)).info.master_sm_lid;
    all = all && std::find(own.begin(), own.end(), named) != own.end();
  });
  if (!any) return Tables::kNone;
  const bool by_options =
      record_.routing == 0 || record_.routing == routing::DigestOf(options_.routing);
  return all && by_options ? Tables::kOwn : Tables::kOthers;
}

void TakeoverGuard::OnSwept(policy::WallMs now, bool routes_by_options) {
  if (stage_ != Stage::kPassed) return;
  swept_ = now;
  const uint64_t routing =
      routes_by_options ? routing::DigestOf(options_.routing) : record_.routing;
  const bool is_new = std::exchange(record_.routing, routing) != routing;
  // What another SM had changed is undone.
  if (std::exchange(record_.outvoted, std::nullopt) || is_new) Persist();
}

void TakeoverGuard::OnNotMaster(bool on_purpose) {
  if (stage_ == Stage::kPassed || AwaitsRecord()) {
    record_.outvoted = on_purpose ? std::nullopt : swept_;
    Persist();
  }
  swept_.reset();
  stage_ = Stage::kAway;
}

// Where it could not be stored that another SM has won, one with the same state may have managed
// since.
bool TakeoverGuard::MayTakeBack(policy::WallMs now) const {
  if (!record_.outvoted || is_owed_) return false;
  const auto away = std::chrono::milliseconds(now - static_cast<policy::WallMs>(*record_.outvoted));
  return away.count() >= 0 && away < options_.takeover.return_within;
}

TakeoverGuard::Verdict TakeoverGuard::Decide(const DesiredState& desired,
                                             const AppliedState& applied, const LidManager& lids,
                                             Guid own_port, policy::WallMs now) {
  FABRICD_CHECK(IsArmed(), "the guard was passed");
  const std::vector<Lid> own_lids = OwnLids(lids);
  const auto risks = FindRisks(InputFor(desired, applied, own_lids));
  const bool is_accepted = IsAccepted(risks);
  if (!is_accepted && !MayTakeBack(now)) {
    stage_ = Stage::kHeld;
    return Verdict::kStop;
  }
  stage_ = Stage::kPassed;
  // What is taken back now is a risk again later.
  NoteMastership(own_port, WhoseTables(lids, *desired.snapshot),
                 is_accepted ? risks : std::vector<TakeoverChange>());
  return is_accepted ? Verdict::kGo : Verdict::kTakeBack;
}

// Durable before the first Set only where this port is new: a takeover between ports that are known
// does not wait for the store. Changes that the command line accepts are noted too: a restart may
// come without it.
void TakeoverGuard::NoteMastership(Guid own_port, Tables tables,
                                   const std::vector<TakeoverChange>& risks) {
  const TakeoverRecord before = record_;
  if (std::find(stored_ports_.begin(), stored_ports_.end(), own_port) == stored_ports_.end())
    stage_ = Stage::kStoring;
  NoteNewest(record_.sm_ports, own_port);
  NoteNewest(record_.prefixes, options_.sm.gid_prefix);
  NoteNewest(record_.lmcs, options_.lmc);
  NoteNewest(record_.lmcs, uint8_t{0});  // Of switches.
  NoteNewest(record_.protect_bits, options_.sm.m_key_protect_bits);
  record_.routing =
      tables == Tables::kOthers ? TakeoverRecord::kNotRouted : routing::DigestOf(options_.routing);
  for (const TakeoverChange& change : risks)
    NoteNewest(record_.accepted, DigestOf({&change, 1}), TakeoverRecord::kMostAccepted);
  if (AwaitsRecord() || is_owed_ || !(record_ == before)) Persist();
}

void TakeoverGuard::Persist() {
  TakeoverRecord record = record_;
  for (const std::string& change : accepting_.changes)
    NoteNewest(record.accepted, change, TakeoverRecord::kMostAccepted);
  questions_.Ask(PersistTakeover{TakeoverRows(record)});
}

std::vector<uint64_t> TakeoverGuard::OnStored(const absl::Status& status) {
  is_owed_ = !status.ok();
  if (AwaitsRecord()) stage_ = Stage::kPassed;  // Where it cannot be stored, jobs come first.
  if (status.ok()) stored_ports_ = record_.sm_ports;
  const Acceptance stored = std::exchange(accepting_, {});
  if (status.ok())
    for (const std::string& change : stored.changes)
      NoteNewest(record_.accepted, change, TakeoverRecord::kMostAccepted);
  return stored.commands;
}

const TakeoverReport& TakeoverGuard::MakeReport(const DesiredState& desired,
                                                const AppliedState& applied, const LidManager& lids,
                                                const fabric::MulticastGroups& groups) {
  const std::vector<Lid> own_lids = OwnLids(lids);
  TakeoverReport report = MakeTakeoverReport(InputFor(desired, applied, own_lids), groups);
  if (desired.plan == nullptr) report.no_plan = "no routing engine gave a plan";
  report_ = std::make_shared<const TakeoverReport>(std::move(report));
  return *report_;
}

absl::Status TakeoverGuard::Accept(const std::string& id, uint64_t command) {
  if (!is_held() || report_ == nullptr)
    return FailedPrecondition("no takeover is held: there is nothing to accept");
  if (id != report_->id)
    return NotFound(
        "the takeover report has the id {}, not {}: read it again (fabricctl takeover "
        "plan)",
        report_->id, id);
  for (const TakeoverChange& change : report_->risks)
    NoteNewest(accepting_.changes, DigestOf({&change, 1}), TakeoverRecord::kMostAccepted);
  accepting_.commands.push_back(command);
  Persist();
  return absl::OkStatus();
}

}  // namespace fabricd::sweep
