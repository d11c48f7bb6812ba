// SPDX-License-Identifier: Apache-2.0
// AliasTable: the alias GUIDs that ports have asked for (GUIDInfoRecord Set and Delete, IBA vol 1
// §15.2.5.18). Pure: what is to become durable goes out as row changes.
//
// Only the port itself or a trusted request sets them. A GUID of 0 asks for one to be made up; the
// same entry of the same port always gets the same one, also of another SM. An entry that is
// refused is 0 in the answer and stays as it was: a GUID that somebody else has, one beyond
// GUIDCap, or an alias that would go while it is in a multicast group.
//
// Bound: kMostBlocks in all; beyond it ERR_NO_RESOURCES.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include "common/stored_row.h"
#include "fabric/alias_guids.h"
#include "mad/wire/sa_records.h"
#include "sa/view/asker.h"

namespace fabricd::sa {

// A GID is in service or out of service: traps 64 and 65.
struct AliasChange {
  Guid port, alias;
  bool in_service = false;
};

class AliasTable {
 public:
  static constexpr size_t kMostBlocks = 262'144;
  static constexpr char kTable[] = "alias";

  // Rows as the other calls wrote them; kDataLoss: no row of ours.
  absl::Status Load(const RowKey& key, const std::string& value);

  // A block of another SM, as it stands. False: one of its GUIDs or the block is there already, or
  // they are too many.
  bool Import(const fabric::AliasBlock& block, RowChanges& rows);

  // Both return a status of the SA and, where that is OK, turn `record` into the answer. They need
  // LID, BlockNum and some GUID. `in_use(alias)`: it may not go.
  using InUse = std::function<bool(Guid)>;
  uint16_t Set(const SaView& view, const Asker& asker, uint64_t mask, const InUse& in_use,
               wire::GuidInfoRecord& record, RowChanges& rows, std::vector<AliasChange>& changes);
  // Denied as a whole where one of them is in use.
  uint16_t Delete(const SaView& view, const Asker& asker, uint64_t mask, const InUse& in_use,
                  wire::GuidInfoRecord& record, RowChanges& rows,
                  std::vector<AliasChange>& changes);

  // As of now; the same object while nothing changes.
  std::shared_ptr<const fabric::AliasGuids> Snapshot();

 private:
  using Key = std::pair<Guid, uint8_t>;  // Port, block.
  struct Place {
    const EndPort* end = nullptr;
    size_t capacity = 0;  // Entries of the block that the port has.
    fabric::AliasBlock block;
  };
  uint16_t Find(const SaView& view, const Asker& asker, uint64_t mask,
                const wire::GuidInfoRecord& record, Place& place) const;
  bool IsTaken(const SaView& view, Guid alias) const;
  Guid MakeAlias(const SaView& view, Guid port, size_t index) const;
  void Put(Guid alias, size_t entry, fabric::AliasBlock& block, std::vector<AliasChange>& changes);
  void Keep(const fabric::AliasBlock& block, RowChanges& rows);

  std::map<Key, fabric::AliasBlock> blocks_;
  absl::flat_hash_map<Guid, Guid> owners_;              // Alias → port.
  std::shared_ptr<const fabric::AliasGuids> snapshot_;  // Null: to be made anew.
};

}  // namespace fabricd::sa
