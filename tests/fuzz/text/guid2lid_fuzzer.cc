// SPDX-License-Identifier: Apache-2.0
// OpenSM's cache files of any bytes: what is read is a valid assignment and survives being written.
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/check.h"
#include "fabric/neighbors.h"
#include "store/guid2lid.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace store = fabricd::store;
  const std::string text(reinterpret_cast<const char*>(data), size);
  store::Guid2Lid lids = store::ParseGuid2Lid(text);
  FABRICD_CHECK(store::CheckLids(lids.records).ok());
  const store::Guid2Lid again = store::ParseGuid2Lid(store::FormatGuid2Lid(lids.records));
  FABRICD_CHECK(again.records == lids.records && again.skipped.empty());

  const store::Guid2MKey keys = store::ParseGuid2MKey(text);
  for (size_t i = 1; i < keys.keys.size(); ++i) {
    FABRICD_CHECK(keys.keys[i - 1].port_guid < keys.keys[i].port_guid);
  }

  size_t skipped = 0;
  const fabricd::fabric::Neighbors neighbors = fabricd::fabric::ParseNeighbors(text, &skipped);
  FABRICD_CHECK(neighbors.size() + skipped <= 2 * size + 2);
  for (const auto& [port, neighbor] : neighbors) FABRICD_CHECK(port.first && neighbor);
  return 0;
}
