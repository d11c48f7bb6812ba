// SPDX-License-Identifier: Apache-2.0
// ServiceTable: the services that clients have registered (IBA vol 1 §15.2.5.14, §15.4.3), with
// their leases. Pure: the time comes in, and what is to become durable goes out as row changes.
//
// Bounds: kMostServices in all, kMostOfPort for one GID; beyond them ERR_NO_RESOURCES.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include "common/stored_row.h"
#include "sa/state/client_state.h"
#include "sa/view/asker.h"

namespace fabricd::sa {

class ServiceTable {
 public:
  static constexpr char kTable[] = "service";

  static constexpr size_t kMostServices = 65'536, kMostOfPort = 1024;
  static constexpr uint32_t kLeaseForEver = 0xFFFFFFFF;

  // Rows as Set() wrote them; kDataLoss: no row of ours.
  absl::Status Load(const RowKey& key, const std::string& value);

  // Both return a status of the SA and, where that is OK, turn `record` into the one to answer
  // with. A registration needs ServiceID and ServiceGID; ServiceP_Key too, or the one partition
  // that the requester shares with that port is taken. Of a service with a key only who knows it
  // changes it.
  uint16_t Set(const SaView& view, const Asker& asker, uint64_t mask, WallMs now,
               wire::ServiceRecord& record, RowChanges& rows);
  uint16_t Delete(const SaView& view, const Asker& asker, uint64_t mask, WallMs now,
                  wire::ServiceRecord& record, RowChanges& rows);

  // One of another SM, as it stands. False: it is there already, or they are too many.
  bool Import(Service service, RowChanges& rows);

  // Takes out what has expired.
  void Expire(WallMs now, RowChanges& rows);
  WallMs next_expiry() const { return expiries_.empty() ? kForEver : expiries_.begin()->first; }
  size_t size() const { return services_.size(); }
  // As of now; the same object while nothing changes.
  std::shared_ptr<const ClientState::Services> Snapshot();

 private:
  using Key = std::tuple<uint64_t, Gid, PKey>;
  static Key KeyOf(const wire::ServiceRecord& record);
  uint16_t Identify(const SaView& view, const Asker& asker, uint64_t mask,
                    wire::ServiceRecord& record) const;
  bool HasRoom(Guid port) const;
  void Put(std::shared_ptr<const Service> service);
  void Keep(Service service, RowChanges& rows);
  void Erase(std::map<Key, std::shared_ptr<const Service>>::iterator found, RowChanges& rows);

  std::map<Key, std::shared_ptr<const Service>> services_;
  std::set<std::pair<WallMs, Key>> expiries_;
  absl::flat_hash_map<Guid, size_t> of_port_;
  std::shared_ptr<const ClientState::Services> snapshot_;  // Null: to be made anew.
};

}  // namespace fabricd::sa
