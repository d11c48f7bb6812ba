// SPDX-License-Identifier: Apache-2.0
// Multicast groups and their trees → messages of fabric.v1.
#pragma once

#include "fabric/v1/subnet_admin_service.pb.h"
#include "query/read_model.h"
#include "sa/state/client_state.h"
#include "sa/view/view.h"

namespace fabricd::rpc {

namespace pb = ::fabric::v1;

// Name of the node that has this GID; empty: nobody has.
std::string NodeNameOf(const query::ReadModel& model, Gid gid);
// With the tree that is in `view`; null: without one.
void ToProto(const query::ReadModel& model, const sa::SaView* view, const sa::Group& group,
             pb::MulticastGroup* out);

}  // namespace fabricd::rpc
