// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/security/caller.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace fabricd::rpc {
namespace {

constexpr char kName[] = "fabricd_name";
constexpr char kPrincipal[] = "fabricd_principal";
// What gRPC finds in a certificate, and how a principal is written; the first that is there names
// the caller.
constexpr std::array<std::pair<const char*, const char*>, 3> kNamesInCertificates = {
    {{"peer_spiffe_id", ""}, {"peer_dns", "dns:"}, {"x509_common_name", "cn:"}}};

}  // namespace

Properties UserProperties(const NameService& names, const PeerUser& user) {
  const std::string found = UserName(names, user.uid);
  const std::string name = found.empty() ? fmt::format("{}", user.uid) : found;
  Properties properties = {
      {kName, name}, {kPrincipal, "user:" + name}, {kPrincipal, fmt::format("user:{}", user.uid)}};
  for (const gid_t gid : user.gids) {
    if (const std::string group = GroupName(names, gid); !group.empty())
      properties.emplace_back(kPrincipal, "group:" + group);
    properties.emplace_back(kPrincipal, fmt::format("group:{}", gid));
  }
  return properties;
}

Caller CallerOf(const grpc::AuthContext& connection) {
  Caller caller;
  for (const auto& principal : connection.FindPropertyValues(kPrincipal))
    caller.principals.emplace_back(principal.data(), principal.size());
  if (!caller.principals.empty()) {
    caller.id = caller.principals.front();
    const auto names = connection.FindPropertyValues(kName);
    if (!names.empty()) caller.name = std::string(names[0].data(), names[0].size());
    return caller;
  }
  for (const auto& [property, prefix] : kNamesInCertificates)
    for (const auto& value : connection.FindPropertyValues(property))
      caller.principals.push_back(prefix + std::string(value.data(), value.size()));
  if (!caller.principals.empty()) caller.name = caller.id = caller.principals.front();
  return caller;
}

Caller CallerOf(const grpc::ServerContextBase& context) {
  return CallerOf(*context.auth_context());
}

}  // namespace fabricd::rpc
