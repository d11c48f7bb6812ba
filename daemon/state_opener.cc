// SPDX-License-Identifier: Apache-2.0
#include "daemon/state_opener.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/process_clock.h"
#include "common/status.h"
#include "config/mode.h"
#include "daemon/base/side_file.h"
#include "daemon/base/wall_clock.h"
#include "daemon/record/learned_window.h"
#include "daemon/settings/core_options.h"
#include "daemon/settings/partitions_file.h"
#include "daemon/settings/sa_files.h"
#include "daemon/store/store_opening.h"
#include "sa/import/client_import.h"
#include "store/guid2lid.h"
#include "store/sqlite_store.h"

namespace fabricd::daemon {
namespace {

constexpr size_t kListings = 64;
// SMPs in flight: no more than the queue of a small switch CPU holds.
constexpr uint32_t kMostAtFirstContact = 32;

template <typename Duration>
std::chrono::hours Hours(Duration duration) {
  return std::chrono::duration_cast<std::chrono::hours>(duration);
}

}  // namespace

absl::StatusOr<std::unique_ptr<StateOpener>> StateOpener::Open(const config::Config& config,
                                                               StoreOpening how) {
  std::unique_ptr<StateOpener> state(new StateOpener());
  FABRICD_RETURN_IF_ERROR(state->OpenStore(config, std::move(how)));
  FABRICD_RETURN_IF_ERROR(state->ReadFiles(config));
  FABRICD_RETURN_IF_ERROR(state->OpenRecords(config));
  return state;
}

absl::Status StateOpener::OpenStore(const config::Config& config, StoreOpening how) {
  how.may_take = [this] { return is_master_.load(); };
  auto opened = daemon::OpenStore(config, std::move(how));
  if (!opened.ok()) return opened.status();
  store_ = std::move(opened->store);
  shared_ = opened->shared;
  auto known = store_->LoadLids();
  if (!known.ok()) return known.status();
  const config::ModeChoice choice =
      config::ChooseMode(config.mode, config.fabric, /*was_master=*/!known->empty());
  mode_ = shared_ != nullptr && shared_->other_owner() ? SmMode::kStandby : choice.mode;
  if (!choice.warning.empty()) spdlog::warn("{}", choice.warning);
  if (config.lid.guid2lid_file.empty() || !known->empty()) return absl::OkStatus();
  return ReadGuid2Lid(config.lid.guid2lid_file);
}

// The file seeds an empty store; later our own records are the truth. LIDs in the store show that
// this fabricd was master, so one that only reads does not store them.
absl::Status StateOpener::ReadGuid2Lid(const std::string& path) {
  auto text = ReadFileOf("lid.guid2lid_file", path);
  if (!text.ok()) return text.status();
  store::Guid2Lid parsed = store::ParseGuid2Lid(*text);
  WarnSkipped(path, parsed);
  if (MayManage(mode_) && store_->writable().ok()) return store_->PutLids(parsed.records);
  seed_lids_ = std::move(parsed.records);
  return absl::OkStatus();
}

absl::Status StateOpener::ReadFiles(const config::Config& config) {
  if (!config.topology.node_name_map.empty()) {
    auto text = ReadFileOf("topology.node_name_map", config.topology.node_name_map);
    if (!text.ok()) return text.status();
    node_name_map_ = fabric::NodeNameMap::Parse(*text);
    WarnSkipped(config.topology.node_name_map, node_name_map_);
  }
  auto patterns =
      fabric::HostPatterns::Compile(config.topology.host_pattern, config.topology.rail_pattern);
  if (!patterns.ok()) return patterns.status();
  host_patterns_ = *std::move(patterns);
  return absl::OkStatus();
}

absl::Status StateOpener::OpenRecords(const config::Config& config) {
  auto history = store::OpenSqliteHistory(config.state_dir);
  if (!history.ok()) return history.status();
  history_ = *std::move(history);
  const PostToStore post = [this](Job job) { return thread_->PostRecords(std::move(job)); };
  const Listings listings{*history_, [this](Job job) { return listings_->Post(std::move(job)); }};
  auto events =
      EventLog::Open(*store_, post, listings,
                     {.keep = config.events.keep, .max_age = Hours(config.events.max_age)});
  if (!events.ok()) return events.status();
  events_ = *std::move(events);
  audit_ = std::make_unique<AuditLog>(
      OwnName(), *store_, post, listings,
      AuditLog::Limits{.keep = config.audit.keep, .max_age = Hours(config.audit.max_age)});
  listings_ = std::make_unique<Worker<Job>>(kListings, [](const Job& job) { job(); });
  // From here on only its jobs use the store, and Load() before the first job.
  thread_ = std::make_unique<StoreThread>();
  return absl::OkStatus();
}

bool StateOpener::Beat(const sweep::FabricView& view, Instant now) {
  const absl::Status writable = store_->writable();
  actions_.OnTurn(view, writable.ok(), now);
  // A node that contends refuses writes for a moment only.
  const bool contends = shared_ != nullptr && shared_->contends();
  const auto changed = contends ? std::nullopt : store_watch_.Look(writable);
  if (changed) {
    spdlog::log(writable.ok() ? spdlog::level::info : spdlog::level::err, "{}", changed->message);
    events_->Append({*changed}, now);
  }
  const uint64_t taken = shared_ == nullptr ? 0 : shared_->histories_taken();
  if (taken != histories_taken_ && events_->CatchUp() && audit_->CatchUp())
    histories_taken_ = taken;
  return changed && writable.ok();
}

absl::StatusOr<StoredState> StateOpener::Load(const config::Config& config) {
  StoredState state;
  auto options = ToCoreOptions(config);
  if (!options.ok()) return options.status();
  auto m_keys = MKeyRecords::Open(*store_, config.sm);
  if (!m_keys.ok()) return m_keys.status();
  m_keys_ = *std::move(m_keys);
  Complete(*options);
  state.core.options = *std::move(options);
  auto records = store_->LoadLids();
  if (!records.ok()) return records.status();
  state.core.lids = records->empty() ? std::move(seed_lids_) : *std::move(records);
  auto rows = store_->LoadRows();
  if (!rows.ok()) return rows.status();
  auto tables = shell::LoadTables(*rows);
  // It is only there to be faster: without it a takeover reads all tables.
  if (!tables.ok()) spdlog::warn("the record of tables is ignored: {}", Message(tables.status()));
  state.tables = std::move(tables).value_or(shell::RecordedTables());
  auto learned = LearnedWindow::Load(*store_);
  if (!learned.ok()) return learned.status();
  // What another manager of the same state has learned of the same fabric.
  if (!*learned) learned = state.tables.window;
  mad::EngineOptions& smp = state.core.options.smp;
  smp.first_contact = !*learned;
  if (*learned)
    smp.window_initial = std::clamp(**learned, smp.window_floor, smp.window_max);
  else
    smp.window_max = std::min(smp.window_max, kMostAtFirstContact);
  auto holds = store_->LoadHolds();
  if (!holds.ok()) return holds.status();
  state.core.holds = *std::move(holds);
  // What rules did is no reason not to manage the fabric.
  if (auto actions = policy::LoadActions(*rows); actions.ok())
    state.core.actions = *std::move(actions);
  else
    spdlog::error("links are not suppressed as before: {}", Message(actions.status()));
  actions_.Begin(state.core.actions);
  auto takeover = sweep::LoadTakeover(*rows);
  if (!takeover.ok()) return takeover.status();
  state.core.takeover = *std::move(takeover);
  auto partitions = OpenPartitions(config.partitions.file, *rows);
  if (!partitions.ok()) return partitions.status();
  state.core.partitions = *std::move(partitions);
  auto verdicts = policy::LoadVerdicts(*rows);
  if (!verdicts.ok()) return verdicts.status();
  state.verdicts = *std::move(verdicts);
  std::erase_if(*rows, [](const auto& row) { return !sa::SaState::IsClientRow(row.first); });
  if (rows->empty()) {
    auto imported = ImportClients(config);
    if (!imported.ok()) return imported.status();
    rows = std::move(imported);
  }
  auto clients = sa::SaState::Make(*rows, FirstEpochMs());
  if (!clients.ok()) return clients.status();
  state.clients = *std::move(clients);
  state.core.groups = state.clients->Trees();
  state.core.aliases = state.clients->Aliases();
  return state;
}

void StateOpener::Complete(sweep::CoreOptions& options) const {
  options.sm.mode = mode_;
  options.sm.shares_state = shared_ != nullptr;
  m_keys_.AddTo(options.sm);
}

// What clients left with the SM before, where there was one and the store has nothing of clients.
absl::StatusOr<StoredRows> StateOpener::ImportClients(const config::Config& config) {
  const auto dump = ReadSaDump(config.sm);
  if (!dump.ok()) return dump.status();
  sa::ClientImport imported = sa::ImportClients(*dump, WallNowMs());
  if (config.sm.sa_db_file.empty()) return std::move(imported.rows);
  WarnSkipped(config.sm.sa_db_file, imported);
  // One that only reads leaves them to be read again, newer, when it is to manage; so does one that
  // may not write yet.
  if (!MayManage(mode_) || !store_->writable().ok()) return std::move(imported.rows);
  RowChanges changes;
  for (const auto& [key, value] : imported.rows) changes.emplace(key, value);
  FABRICD_RETURN_IF_ERROR(store_->ChangeRows(changes));
  spdlog::info("{}: {} groups with {} members, {} services, {} subscriptions, {} blocks of aliases",
               config.sm.sa_db_file, imported.groups, imported.members, imported.services,
               imported.subscriptions, imported.aliases);
  return std::move(imported.rows);
}

// The stored partitions, or those of the file if it differs from the one that was applied last. A
// faulty file is an error only when no partitions were ever stored: otherwise the stored ones stay
// in force. A node that waits shows what the master has stored.
absl::StatusOr<policy::PartitionState> StateOpener::OpenPartitions(const std::string& path,
                                                                   const StoredRows& rows) {
  auto known = policy::LoadPartitions(rows);
  const bool waits = shared_ != nullptr && shared_->other_owner();
  if (!known.ok() || path.empty() || waits) return known;
  auto request = ReadPartitionsFile(path);
  const auto before = std::make_shared<const policy::PartitionState>(*std::move(known));
  if (request.ok() && request->file_digest == before->file_digest) return *before;
  auto outcome = request.ok() ? policy::Apply(*request, before) : request.status();
  if (!outcome.ok()) {
    if (before->revision == 0) return outcome.status();
    spdlog::error("{}; the partitions of before stay", Message(outcome.status()));
    return *before;
  }
  if (MayManage(mode_)) {
    const absl::Status stored = store_->ChangeRows(policy::PartitionRows(*before, *outcome->after));
    if (!stored.ok()) {
      if (before->revision == 0 || store_->writable().ok()) return stored;
      spdlog::error("{}: {}; the partitions of before stay", path, Message(stored));
      return *before;
    }
  }
  spdlog::info("{}: {} partitions", path, outcome->after->partitions.list.size());
  return *outcome->after;
}

}  // namespace fabricd::daemon
