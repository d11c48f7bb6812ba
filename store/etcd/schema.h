// SPDX-License-Identifier: Apache-2.0
// Internal: the newest version of the layout below a prefix (shared_rows.h) that this program
// knows. It uses whatever version is there, and raises it where all nodes know the newer one.
#pragma once

namespace fabricd::store::etcd {

#ifdef FABRICD_STATE_SCHEMA  // A test of an upgrade has a program of a later version.
inline constexpr int kSchema = FABRICD_STATE_SCHEMA;
#else
inline constexpr int kSchema = 1;
#endif

}  // namespace fabricd::store::etcd
