// SPDX-License-Identifier: Apache-2.0
// Changes of flat rows as bytes, for the parts of a large write. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "store/contents.h"

namespace fabricd::store::etcd {

// In parts of at most `most` bytes, or of one change. In the order of keys.
std::vector<std::string> EncodeChanges(const FlatChanges& changes, size_t most);
// Adds the changes of one part. False: it is none.
bool DecodeChanges(const std::string& part, FlatChanges& changes);

}  // namespace fabricd::store::etcd
