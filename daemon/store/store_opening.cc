// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/store_opening.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "common/status.h"
#include "config/mode.h"
#include "daemon/base/side_file.h"
#include "store/etcd/grpc_client.h"
#include "store/etcd/waiting_store.h"
#include "store/sqlite_store.h"

namespace fabricd::daemon {
namespace {

absl::Status RefuseCopy(store::Store& local, const std::string& state_dir) {
  const auto mark = local.GetMeta(store::etcd::kCopyKey);
  if (!mark.ok() || mark->value_or("").empty()) return mark.status();
  return FailedPrecondition(
      "{}: {}, and etcd may have newer state: set `store: etcd`, or `fabricd store migrate --to "
      "sqlite` takes what is in etcd (with --from-copy this copy, where etcd is lost)",
      state_dir, store::etcd::CopyNote(**mark));
}

absl::Status RefuseUnfinished(store::Store& local, const std::string& state_dir) {
  const auto unfinished = local.GetMeta(kUnfinishedKey);
  if (!unfinished.ok() || unfinished->value_or("").empty()) return unfinished.status();
  return FailedPrecondition("{}: an import or a migration ended halfway: repeat it", state_dir);
}

}  // namespace

std::string OwnName() {
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  return fmt::format("{} pid {}", host, getpid());
}

absl::StatusOr<std::unique_ptr<store::Store>> OpenLocalStore(const config::Config& config) {
  std::error_code error;
  std::filesystem::create_directories(config.state_dir, error);
  if (error) return Unavailable("state directory {}: {}", config.state_dir, error.message());
  std::vector<std::string> warnings;
  auto opened = store::OpenSqliteStore(config.state_dir, &warnings);
  for (const std::string& warning : warnings) spdlog::warn("{}", warning);
  return opened;
}

absl::StatusOr<std::unique_ptr<store::etcd::Client>> MakeEtcdClient(const config::Config& config) {
  const config::Etcd& etcd = config.etcd;
  store::etcd::ClientOptions options;
  options.endpoints = etcd.endpoints;
  options.ca = etcd.tls_ca;
  options.cert = etcd.tls_cert;
  options.key = etcd.tls_key;
  options.user = etcd.user;
  if (!etcd.password_file.empty()) {
    auto text = ReadFileOf("etcd.password_file", etcd.password_file, 4096);
    if (!text.ok()) return text.status();
    options.password = text->substr(0, text->find_first_of("\r\n"));
  }
  using std::chrono::milliseconds;
  options.timeout = std::chrono::duration_cast<milliseconds>(etcd.timeout);
  // Time for a second member, and for the election of another leader.
  options.attempt_timeout = options.timeout / 3;
  return store::etcd::MakeGrpcClient(std::move(options));
}

store::etcd::EtcdStoreOptions EtcdStoreOptionsOf(const config::Config& config) {
  store::etcd::EtcdStoreOptions options;
  options.prefix = config.etcd.prefix;
  options.name = OwnName();
  options.endpoint = config.etcd.advertise;
  options.lease = std::chrono::duration_cast<std::chrono::seconds>(config.etcd.lease);
  return options;
}

absl::StatusOr<OpenedStore> OpenStore(const config::Config& config, StoreOpening how) {
  auto local = OpenLocalStore(config);
  if (!local.ok()) return local.status();
  FABRICD_RETURN_IF_ERROR(RefuseUnfinished(**local, config.state_dir));
  if (config.store != "etcd") {
    FABRICD_RETURN_IF_ERROR(RefuseCopy(**local, config.state_dir));
    return OpenedStore{*std::move(local)};
  }
  // Who only reads must not keep the epoch from who manages.
  if (!MayManage(config::ChooseMode(config.mode, config.fabric, /*was_master=*/false).mode))
    return InvalidArgument(
        "mode: `store: etcd` needs `mode: manage`; one that observes or is to stay standby has "
        "`store: sqlite` and a state directory of its own");
  store::etcd::EtcdStoreOptions options = EtcdStoreOptionsOf(config);
  options.may_take = std::move(how.may_take);
  how.succession.AddTo(options);
  local->reset();  // Each attempt has its own.
  store::etcd::StoreParts parts;
  parts.client = [&] { return MakeEtcdClient(config); };
  parts.local = [&] { return OpenLocalStore(config); };
  parts.on_wait = [](const absl::Status& held) {
    spdlog::info("{}: waiting beside it", Message(held));
  };
  auto opened = store::etcd::OpenOrWait(parts, options, how.may_wait);
  if (!opened.ok()) return opened.status();
  store::etcd::SharedStore* shared = opened->get();
  return OpenedStore{*std::move(opened), shared};
}

}  // namespace fabricd::daemon
