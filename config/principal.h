// SPDX-License-Identifier: Apache-2.0
// Principal: who a role is given to, as the keys of `security` name it. Pure; any thread.
#pragma once

#include <optional>
#include <string>

namespace fabricd::config {

struct Principal {
  enum class Kind { kUser, kGroup, kSpiffe, kDns, kCommonName };
  Kind kind = Kind::kUser;
  // A user or group by its name or number; "spiffe://TRUST-DOMAIN/PATH" whole; else a name.
  std::string name;
  friend bool operator==(const Principal&, const Principal&) = default;
};

// "user:alice", "group:fabric", "spiffe://cluster/slurm", "dns:head1.example", "cn:prometheus".
// nullopt for anything else.
std::optional<Principal> ParsePrincipal(const std::string& text);

// As ParsePrincipal() reads it.
std::string ToText(const Principal& principal);

}  // namespace fabricd::config
