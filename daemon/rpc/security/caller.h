// SPDX-License-Identifier: Apache-2.0
// Who is at the other end of a connection: the user of a unix socket, or the names in a client's
// certificate. Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "daemon/base/access.h"
#include "daemon/rpc/security/user_names.h"

namespace fabricd::rpc {

// What the kernel says of the process that connected.
struct PeerUser {
  uid_t uid = 0;
  std::vector<gid_t> gids;  // The primary one and all others. Sorted.
  friend bool operator==(const PeerUser&, const PeerUser&) = default;
};

// The properties that UserProperties() of a connection are kept in, by name.
using Properties = std::vector<std::pair<std::string, std::string>>;
// Looks names up: may take a while. Without a name the numbers alone count.
Properties UserProperties(const NameService& names, const PeerUser& user);

Caller CallerOf(const grpc::AuthContext& connection);
Caller CallerOf(const grpc::ServerContextBase& context);

}  // namespace fabricd::rpc
