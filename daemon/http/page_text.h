// SPDX-License-Identifier: Apache-2.0
// What the data of the page /ui is asked for and answered with.
#pragma once

#include <optional>
#include <string>

#include "common/ids.h"
#include "daemon/http/http_server.h"
#include "fabric/hosts.h"
#include "fabric/names.h"

namespace fabricd::http {

Reply Json(std::string text);

// Empty: it is not there.
std::string ArgumentOf(const Query& query, const char* key);
// Arguments `guid`, of a node, and `port`, its number; not port 0. nullopt: there is none such.
std::optional<PortRef> PortOf(const Query& query, const fabric::FabricSnapshot& snapshot);

// What ports are named by. All of it outlives this.
struct PortNaming {
  const fabric::FabricSnapshot& snapshot;
  const fabric::NodeNameMap& names;
  const fabric::HostTable& hosts;
};

// {"name":"node1 mlx5_0/1","guid":"0x…","port":1,"host":"node1"}: what a port is shown as, what it
// is asked for by, and the host that it is drawn at (empty: none). null: there is no such port.
std::string PortJson(PortRef port, const PortNaming& naming);

}  // namespace fabricd::http
