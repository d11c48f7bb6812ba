// SPDX-License-Identifier: Apache-2.0
// The names of users and groups, as this machine's name service knows them. Any thread; may take as
// long as that service does.
#pragma once

#include <grp.h>
#include <pwd.h>
#include <sys/types.h>

#include <functional>
#include <string>

namespace fabricd::rpc {

struct NameService {
  // As getpwuid_r(3) and getgrgid_r(3).
  std::function<int(uid_t, passwd*, char*, size_t, passwd**)> user = getpwuid_r;
  std::function<int(gid_t, group*, char*, size_t, group**)> group = getgrgid_r;
};

// Empty: there is no such user or group, or nothing tells now.
std::string UserName(const NameService& service, uid_t uid);
std::string GroupName(const NameService& service, gid_t gid);

}  // namespace fabricd::rpc
