// SPDX-License-Identifier: Apache-2.0
// CableWatch: whether there are links that the last check of the cabling has not seen.
#pragma once

#include <memory>
#include <utility>

#include "fabric/snapshot.h"

namespace fabricd::sweep {

class CableWatch {
 public:
  bool MustCheck(const fabric::FabricSnapshot& snapshot) const {
    return checked_ == nullptr || HasOtherLinks(*checked_, snapshot);
  }
  // The cabling of this snapshot is checked.
  void OnChecked(std::shared_ptr<const fabric::FabricSnapshot> snapshot) {
    checked_ = std::move(snapshot);
  }

 private:
  // Links of `now` that `before` does not have. Costs what differs.
  static bool HasOtherLinks(const fabric::FabricSnapshot& before,
                            const fabric::FabricSnapshot& now);

  std::shared_ptr<const fabric::FabricSnapshot> checked_;  // Null: none.
};

}  // namespace fabricd::sweep
