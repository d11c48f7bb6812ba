// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <tuple>

#include "common/status.h"
#include "store/store.h"

namespace fabricd::store {
namespace {

uint32_t LastLid(const LidRecord& record) {
  return record.base_lid.value() + (1u << record.lmc) - 1;
}

}  // namespace

absl::Status CheckLid(const LidRecord& record) {
  if (!record.port_guid) return InvalidArgument("LID {} has no port GUID", record.base_lid);
  if (record.lmc > 7) {
    return InvalidArgument("port {}: LMC {} is not 0-7", record.port_guid, record.lmc);
  }
  if (!record.base_lid || LastLid(record) > kMaxUnicastLid.value()) {
    return InvalidArgument("port {}: LIDs {}-{} are not unicast", record.port_guid, record.base_lid,
                           LastLid(record));
  }
  if (record.base_lid.value() % (1u << record.lmc) != 0) {
    return InvalidArgument("port {}: LID {} is no multiple of 2^LMC {}", record.port_guid,
                           record.base_lid, record.lmc);
  }
  return absl::OkStatus();
}

absl::Status CheckLids(std::vector<LidRecord>& records) {
  std::sort(records.begin(), records.end(), [](const LidRecord& a, const LidRecord& b) {
    return std::tie(a.base_lid, a.port_guid) < std::tie(b.base_lid, b.port_guid);
  });
  for (size_t i = 0; i < records.size(); ++i) {
    FABRICD_RETURN_IF_ERROR(CheckLid(records[i]));
    if (i == 0 || LastLid(records[i - 1]) < records[i].base_lid.value()) continue;
    return MakeStatus(absl::StatusCode::kAlreadyExists, "ports {} and {} would share LID {}",
                      records[i - 1].port_guid, records[i].port_guid, records[i].base_lid);
  }
  return absl::OkStatus();
}

}  // namespace fabricd::store
