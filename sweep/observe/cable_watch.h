// SPDX-License-Identifier: Apache-2.0
// CableWatch: whether there are links that the last check for misplaced cables did not include.
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
  // A check of this snapshot was requested.
  void OnChecked(std::shared_ptr<const fabric::FabricSnapshot> snapshot) {
    checked_ = std::move(snapshot);
  }

 private:
  // Whether `now` has links that `before` does not have. The cost depends on the differences.
  static bool HasOtherLinks(const fabric::FabricSnapshot& before,
                            const fabric::FabricSnapshot& now);

  std::shared_ptr<const fabric::FabricSnapshot> checked_;  // Null: none.
};

}  // namespace fabricd::sweep
