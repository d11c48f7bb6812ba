// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/store_verbs.h"

#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/status.h"
#include "daemon/base/wall_clock.h"
#include "daemon/store/store_opening.h"
#include "policy/partition_state.h"
#include "policy/verdict/verdict_rows.h"
#include "sa/state/sa_state.h"
#include "shell/recorded_tables.h"
#include "store/contents.h"
#include "store/etcd/shared_rows.h"
#include "store/sqlite_snapshot.h"
#include "sweep/takeover/takeover_record.h"

namespace fabricd::daemon {
namespace {

using store::Contents;
using store::etcd::SharedRows;

std::string DatabaseOf(const config::Config& config) { return config.state_dir + "/fabricd.db"; }

// The rules of the parts whose rows these are, each of which would refuse to start.
absl::Status CheckParts(const std::string& where, const StoredRows& rows) {
  std::vector<std::string> faults;
  const auto note = [&](const char* part, const absl::Status& status) {
    if (!status.ok()) faults.push_back(fmt::format("{}: {}", part, Message(status)));
  };
  note("partitions", policy::LoadPartitions(rows).status());
  note("tables", shell::LoadTables(rows).status());
  note("takeover", sweep::LoadTakeover(rows).status());
  note("verdicts", policy::LoadVerdicts(rows).status());
  note("actions", policy::LoadActions(rows).status());
  note("clients of Subnet Administration", sa::SaState::Make(rows, FirstEpochMs()).status());
  if (faults.empty()) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kDataLoss, "{}: {}", where, fmt::join(faults, "; "));
}

// Etcd with the epoch, so that no fabricd writes meanwhile.
class Shared {
 public:
  static absl::StatusOr<std::unique_ptr<Shared>> Open(const config::Config& config) {
    if (config.etcd.endpoints.empty())
      return InvalidArgument("etcd.endpoints: is needed, in the file of --config");
    auto client = MakeEtcdClient(config);
    if (!client.ok()) return client.status();
    auto shared = std::unique_ptr<Shared>(new Shared(config, *std::move(client)));
    FABRICD_RETURN_IF_ERROR(shared->rows_.Attach(std::nullopt));
    return shared;
  }
  ~Shared() { rows_.epoch().Release(); }

  std::string where() const { return rows_.where(); }
  const std::string& sequence() const { return rows_.sequence(); }
  absl::StatusOr<Contents> Read() {
    const auto rows = rows_.Load();
    if (!rows.ok()) return rows.status();
    return store::Unflatten(*rows, where());
  }
  // Whole or not at all.
  absl::Status Replace(const Contents& contents, bool replace) {
    const auto rows = rows_.Load();
    if (!rows.ok()) return rows.status();
    if (!rows->empty() && !replace)
      return FailedPrecondition("{} has {} rows; --replace replaces them", where(), rows->size());
    FABRICD_RETURN_IF_ERROR(rows_.Write(store::Difference(*rows, store::Flatten(contents))).status);
    (void)rows_.CarryOver();  // It is done; what is left is for the next fabricd.
    return absl::OkStatus();
  }

 private:
  Shared(const config::Config& config, std::unique_ptr<store::etcd::Client> client)
      : client_(std::move(client)), rows_(*client_, OptionsOf(config)) {}
  static store::etcd::SharedRowsOptions OptionsOf(const config::Config& config) {
    const store::etcd::EtcdStoreOptions options = EtcdStoreOptionsOf(config);
    return {options.prefix, fmt::format("verb-{}", getpid()), options.name + " (fabricd store)",
            options.lease};
  }

  const std::unique_ptr<store::etcd::Client> client_;
  SharedRows rows_;
};

absl::StatusOr<Contents> ReadShared(const config::Config& config) {
  if (config.etcd.endpoints.empty())
    return InvalidArgument("etcd.endpoints: is needed, in the file of --config");
  const auto client = MakeEtcdClient(config);
  if (!client.ok()) return client.status();
  const auto rows = SharedRows::Read(**client, config.etcd.prefix);
  if (!rows.ok()) return rows.status();
  return store::Unflatten(*rows, "etcd " + config.etcd.prefix);
}

absl::StatusOr<bool> IsCopy(store::Store& local) {
  const auto mark = local.GetMeta(store::etcd::kCopyKey);
  if (!mark.ok()) return mark.status();
  return mark->has_value() && !(*mark)->empty();
}

// Into SQLite; the marks make a start in between impossible.
absl::Status ReplaceLocal(store::Store& local, const Contents& contents) {
  const auto before = store::ReadContents(local);
  if (!before.ok()) return before.status();
  FABRICD_RETURN_IF_ERROR(local.PutMeta(kUnfinishedKey, "yes"));
  FABRICD_RETURN_IF_ERROR(
      WriteChanges(local, store::Difference(store::Flatten(*before), store::Flatten(contents))));
  FABRICD_RETURN_IF_ERROR(local.PutMeta(store::etcd::kCopyKey, ""));
  return local.PutMeta(kUnfinishedKey, "");
}

absl::StatusOr<std::string> Export(const StoreCommand& command, const config::Config& config) {
  const bool from_etcd = config.store == "etcd" && !command.from_copy;
  auto contents = from_etcd ? ReadShared(config) : store::ReadSnapshot(DatabaseOf(config));
  if (!contents.ok()) return contents.status();
  const std::string origin = from_etcd ? "etcd " + config.etcd.prefix : config.state_dir;
  FABRICD_RETURN_IF_ERROR(WriteSnapshot(*contents, origin, command.file));
  return fmt::format("{}: {} of {}", command.file, CountText(*contents), origin);
}

absl::StatusOr<std::string> Import(const StoreCommand& command, const config::Config& config) {
  auto contents = store::ReadSnapshot(command.file);
  if (!contents.ok()) return contents.status();
  FABRICD_RETURN_IF_ERROR(CheckParts(command.file, contents->rows));
  if (config.store == "etcd") {
    auto shared = Shared::Open(config);
    if (!shared.ok()) return shared.status();
    FABRICD_RETURN_IF_ERROR((*shared)->Replace(*contents, command.replace));
    return fmt::format("{}: {} of {}", (*shared)->where(), CountText(*contents), command.file);
  }
  auto local = OpenLocalStore(config);
  if (!local.ok()) return local.status();
  const auto known = store::ReadContents(**local);
  if (known.ok() && !known->empty() && !command.replace)
    return FailedPrecondition("{} has {}; --replace replaces them", config.state_dir,
                              CountText(*known));
  FABRICD_RETURN_IF_ERROR(ReplaceLocal(**local, *contents));
  return fmt::format("{}: {} of {}", config.state_dir, CountText(*contents), command.file);
}

absl::StatusOr<std::string> MigrateToEtcd(const StoreCommand& command,
                                          const config::Config& config) {
  auto local = OpenLocalStore(config);
  if (!local.ok()) return local.status();
  const auto is_copy = IsCopy(**local);
  if (!is_copy.ok()) return is_copy.status();
  if (*is_copy && !command.from_copy)
    return FailedPrecondition(
        "{} has a copy of what is in etcd, and no state of its own; --from-copy puts the copy back "
        "where etcd has lost it",
        config.state_dir);
  auto contents = store::ReadContents(**local);
  if (!contents.ok()) return contents.status();
  FABRICD_RETURN_IF_ERROR(CheckParts(config.state_dir, contents->rows));
  auto shared = Shared::Open(config);
  if (!shared.ok()) return shared.status();
  FABRICD_RETURN_IF_ERROR((*shared)->Replace(*contents, command.replace));
  FABRICD_RETURN_IF_ERROR((*local)->PutMeta(
      store::etcd::kCopyKey, store::etcd::CopyMark(config.etcd.prefix, (*shared)->sequence())));
  return fmt::format("{}: {} of {}; now set `store: etcd`", (*shared)->where(),
                     CountText(*contents), config.state_dir);
}

absl::StatusOr<std::string> MigrateToSqlite(const StoreCommand& command,
                                            const config::Config& config) {
  auto local = OpenLocalStore(config);
  if (!local.ok()) return local.status();
  const auto is_copy = IsCopy(**local);
  if (!is_copy.ok()) return is_copy.status();
  const auto known = store::ReadContents(**local);
  if (!known.ok()) return known.status();
  if (command.from_copy && !*is_copy)
    return FailedPrecondition("{} has no copy of what is in etcd", config.state_dir);
  if (!*is_copy && !known->empty() && !command.replace)
    return FailedPrecondition("{} has state of its own ({}); --replace replaces it",
                              config.state_dir, CountText(*known));
  Contents contents = *known;
  std::string origin = "its copy of etcd " + config.etcd.prefix;
  if (!command.from_copy) {
    auto shared = Shared::Open(config);
    if (!shared.ok()) return shared.status();
    auto read = (*shared)->Read();
    if (!read.ok()) return read.status();
    contents = *std::move(read);
    origin = (*shared)->where();
  }
  FABRICD_RETURN_IF_ERROR(CheckParts(origin, contents.rows));
  FABRICD_RETURN_IF_ERROR(ReplaceLocal(**local, contents));
  return fmt::format("{}: {} of {}; now set `store: sqlite`", config.state_dir, CountText(contents),
                     origin);
}

}  // namespace

void DeclareStoreVerbs(CLI::App& cli, StoreCommand& command) {
  CLI::App* store = cli.add_subcommand("store", "Export, import or move the durable state");
  store->require_subcommand(1)->fallthrough();
  const auto verb = [&](const char* name, const char* what) {
    CLI::App* added = store->add_subcommand(name, what);
    added->fallthrough()->callback([&command, name] { command.verb = name; });
    return added;
  };
  CLI::App* exported = verb("export", "Write the state to FILE, an SQLite database");
  exported->add_option("FILE", command.file)->required();
  CLI::App* imported = verb("import", "Take the state from FILE, of `store export`");
  imported->add_option("FILE", command.file)->required();
  CLI::App* migrated = verb("migrate", "Move the state to the other kind of store");
  migrated->add_option("--to", command.to, "etcd or sqlite")
      ->required()
      ->check(CLI::IsMember({"etcd", "sqlite"}));
  for (CLI::App* with_copy : {exported, migrated})
    with_copy->add_flag("--from-copy", command.from_copy,
                        "From the state directory's copy of what was in etcd");
  for (CLI::App* with_replace : {imported, migrated})
    with_replace->add_flag("--replace", command.replace, "Replace what is there");
}

absl::StatusOr<std::string> Carry(const StoreCommand& command, const config::Config& config) {
  if (command.verb == "export") return Export(command, config);
  if (command.verb == "import") return Import(command, config);
  return command.to == "etcd" ? MigrateToEtcd(command, config) : MigrateToSqlite(command, config);
}

}  // namespace fabricd::daemon
