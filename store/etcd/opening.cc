// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/opening.h"

#include <utility>

#include "common/status.h"

namespace fabricd::store::etcd {
namespace {

absl::StatusOr<Found> FindOfOwn(SharedRows& shared, const LocalCopy& copy) {
  if (shared.was_empty() && !copy.mark.empty() && !copy.contents.empty()) {
    shared.epoch().Release();
    return FailedPrecondition(
        "{} is empty, but the state directory has a copy of what was there ({}): `fabricd store "
        "migrate --to etcd --from-copy` puts it back; or use another state directory",
        shared.where(), CountText(copy.contents));
  }
  auto loaded = shared.Load();
  if (!loaded.ok()) return loaded.status();
  return Found{*std::move(loaded), shared.sequence(), absl::OkStatus()};
}

}  // namespace

absl::StatusOr<Found> FindState(Client& client, SharedRows& shared, const LocalCopy& copy,
                                const EtcdStoreOptions& options) {
  const absl::Status attached = shared.Attach(std::nullopt);
  if (attached.ok()) return FindOfOwn(shared, copy);
  if (!absl::IsAborted(attached) || options.contends == EtcdStoreOptions::Contends::kNo)
    return attached;
  auto view = SharedRows::ReadView(client, options.prefix);
  if (!view.ok()) return view.status();
  if (options.contends == EtcdStoreOptions::Contends::kWithUnresponsiveOwner && view->owner &&
      options.unresponsive_epoch != 0 && view->epoch() != options.unresponsive_epoch)
    return attached;
  return Found{std::move(view->rows), std::move(view->sequence), attached, std::move(view->nodes)};
}

absl::Status OwnersObjection(Client& client, const std::string& where, const std::string& instance,
                             const EtcdStoreOptions& options) {
  using Contends = EtcdStoreOptions::Contends;
  const bool is_to_be_idle = options.contends == Contends::kWithIdleOwner;
  if (!is_to_be_idle && options.contends != Contends::kWithOwnerWithoutLink)
    return absl::OkStatus();
  const auto view = SharedRows::ReadControl(client, options.prefix);
  if (!view.ok() || !view->owner || view->owner_instance == instance) return absl::OkStatus();
  if (is_to_be_idle && view->OwnerIs(FabricRole::kMaster))
    return Unavailable("{}: {} is master of another part of the fabric", where, view->owner->name);
  if (!is_to_be_idle && !view->OwnerIs(FabricRole::kNoLink))
    return MakeStatus(absl::StatusCode::kAborted, "{}: the port of {} has a link again", where,
                      view->owner->name);
  return absl::OkStatus();
}

}  // namespace fabricd::store::etcd
