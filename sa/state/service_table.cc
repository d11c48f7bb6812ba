// SPDX-License-Identifier: Apache-2.0
#include "sa/state/service_table.h"

#include <algorithm>

#include "common/status.h"
#include "sa/wire/row_codec.h"

namespace fabricd::sa {
namespace {

constexpr size_t kRowBytes = wire::ServiceRecord::kBytes + 8;

// Numbers of ServiceRecord's components.
enum : unsigned { kId = 0, kGid = 1, kPKey = 2, kLease = 4, kKey = 5 };
constexpr bool Has(uint64_t mask, unsigned component) { return (mask >> component & 1) != 0; }

RowKey RowKeyOf(const wire::ServiceRecord& record) {
  return {ServiceTable::kTable, fmt::format("{:016x} {} {:04x}", record.service_id,
                                            TextOf(record.service_gid), record.p_key.value())};
}

// Without a key nothing shows that another port is meant to: only the one that offers the service.
// REQUIRES: Identify() took `wanted`.
bool MayChange(const SaView& view, const Asker& asker, const Service& service,
               const wire::ServiceRecord& wanted) {
  if (asker.trusted) return true;
  const std::array<uint8_t, 16> none{};
  if (service.record.key != none) return service.record.key == wanted.key;
  return asker.FindPort(view, wanted.service_gid.guid()) == asker.end;
}

WallMs ExpiryOf(uint32_t lease, WallMs now) {
  return lease == ServiceTable::kLeaseForEver ? kForEver : now + WallMs{lease} * 1000;
}

}  // namespace

ServiceTable::Key ServiceTable::KeyOf(const wire::ServiceRecord& record) {
  return {record.service_id, record.service_gid, record.p_key};
}

absl::Status ServiceTable::Load(const RowKey& key, const std::string& value) {
  if (value.size() != kRowBytes)
    return MakeStatus(absl::StatusCode::kDataLoss, "service {}: {} bytes", key.key, value.size());
  auto service = std::make_shared<Service>();
  service->record = RecordOf<wire::ServiceRecord>(value);
  service->expires = static_cast<WallMs>(NumberAt(value, wire::ServiceRecord::kBytes));
  if (RowKeyOf(service->record) != key)
    return MakeStatus(absl::StatusCode::kDataLoss, "service {}: not its record", key.key);
  Put(std::move(service));
  return absl::OkStatus();
}

void ServiceTable::Put(std::shared_ptr<const Service> service) {
  const Key key = KeyOf(service->record);
  auto& slot = services_[key];
  if (slot == nullptr)
    ++of_port_[std::get<Gid>(key).guid()];
  else
    expiries_.erase({slot->expires, key});
  if (service->expires != kForEver) expiries_.emplace(service->expires, key);
  slot = std::move(service);
  snapshot_ = nullptr;
}

void ServiceTable::Keep(Service service, RowChanges& rows) {
  std::string bytes = BytesOf(service.record);
  AppendNumber(static_cast<uint64_t>(service.expires), bytes);
  rows[RowKeyOf(service.record)] = std::move(bytes);
  Put(std::make_shared<const Service>(std::move(service)));
}

bool ServiceTable::HasRoom(Guid port) const {
  const auto count = of_port_.find(port);
  return services_.size() < kMostServices &&
         (count == of_port_.end() || count->second < kMostOfPort);
}

bool ServiceTable::Import(Service service, RowChanges& rows) {
  if (services_.contains(KeyOf(service.record)) || !HasRoom(service.record.service_gid.guid()))
    return false;
  Keep(std::move(service), rows);
  return true;
}

void ServiceTable::Erase(std::map<Key, std::shared_ptr<const Service>>::iterator found,
                         RowChanges& rows) {
  rows[RowKeyOf(found->second->record)] = std::nullopt;
  const auto count = of_port_.find(std::get<Gid>(found->first).guid());
  if (--count->second == 0) of_port_.erase(count);
  expiries_.erase({found->second->expires, found->first});
  services_.erase(found);
  snapshot_ = nullptr;
}

// Checks the record's identifier and completes it.
uint16_t ServiceTable::Identify(const SaView& view, const Asker& asker, uint64_t mask,
                                wire::ServiceRecord& record) const {
  if (!Has(mask, kId) || !Has(mask, kGid)) return wire::kSaStatusInsufficientComponents;
  // Whatever the prefix: the default one is good in every subnet, and some clients send worse.
  const uint32_t number = asker.FindPort(view, record.service_gid.guid());
  if (number == EndPorts::kNone) return wire::kSaStatusRequestInvalidGid;
  const PKeySets::Set own = view.ends()[asker.end].p_keys, other = view.ends()[number].p_keys;
  if (!Has(mask, kPKey) || !record.p_key) {
    record.p_key = view.p_keys().Shared(own, other);
    return record.p_key ? wire::kStatusOk : wire::kSaStatusRequestInvalid;
  }
  const bool may = asker.trusted || view.p_keys().MayTalk(own, other, record.p_key);
  return may ? wire::kStatusOk : wire::kSaStatusRequestInvalid;
}

uint16_t ServiceTable::Set(const SaView& view, const Asker& asker, uint64_t mask, WallMs now,
                           wire::ServiceRecord& record, RowChanges& rows) {
  if (const uint16_t status = Identify(view, asker, mask, record)) return status;
  if (!Has(mask, kLease)) record.lease = kLeaseForEver;
  if (!Has(mask, kKey)) record.key = {};
  if (record.lease == 0) return wire::kSaStatusRequestInvalid;
  const auto found = services_.find(KeyOf(record));
  if (found == services_.end()) {
    if (!HasRoom(record.service_gid.guid())) return wire::kSaStatusNoResources;
  } else if (!MayChange(view, asker, *found->second, record)) {
    return wire::kSaStatusRequestDenied;
  }
  Keep({record, ExpiryOf(record.lease, now)}, rows);
  return wire::kStatusOk;
}

uint16_t ServiceTable::Delete(const SaView& view, const Asker& asker, uint64_t mask, WallMs now,
                              wire::ServiceRecord& record, RowChanges& rows) {
  if (const uint16_t status = Identify(view, asker, mask, record)) return status;
  if (!Has(mask, kKey)) record.key = {};
  const auto found = services_.find(KeyOf(record));
  if (found == services_.end() || found->second->expires <= now) return wire::kSaStatusNoRecords;
  if (!MayChange(view, asker, *found->second, record)) return wire::kSaStatusRequestDenied;
  record = found->second->record;
  Erase(found, rows);
  return wire::kStatusOk;
}

void ServiceTable::Expire(WallMs now, RowChanges& rows) {
  while (!expiries_.empty() && expiries_.begin()->first <= now) {
    Erase(services_.find(expiries_.begin()->second), rows);
  }
}

std::shared_ptr<const ClientState::Services> ServiceTable::Snapshot() {
  if (snapshot_ != nullptr) return snapshot_;
  auto made = std::make_shared<ClientState::Services>();
  made->reserve(services_.size());
  for (const auto& [key, service] : services_) made->push_back(service);
  snapshot_ = std::move(made);
  return snapshot_;
}

}  // namespace fabricd::sa
