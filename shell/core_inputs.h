// SPDX-License-Identifier: Apache-2.0
// CoreInputs: everything that a core is constructed from.
#pragma once

#include <memory>
#include <vector>

#include "sweep/core.h"

namespace fabricd::shell {

struct CoreInputs {
  sweep::CoreOptions options;
  mad::LocalPort local;
  std::vector<fabric::LidRecord> lids;
  policy::StoredHolds holds;
  std::shared_ptr<const fabric::MulticastGroups> groups;  // Null: none.
  policy::PartitionState partitions;
  std::shared_ptr<const fabric::AliasGuids> aliases;  // Null: none.
  sweep::TakeoverRecord takeover = {};
  std::shared_ptr<const sweep::SwitchTables> vouched = nullptr;  // Null: none.
  policy::ActionRecord actions = {};

  std::unique_ptr<sweep::Core> MakeCore() const {
    return std::make_unique<sweep::Core>(options, local, lids, holds, groups, partitions, aliases,
                                         takeover, vouched, actions);
  }
};

}  // namespace fabricd::shell
