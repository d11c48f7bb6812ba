// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/security/user_names.h"

#include <cerrno>
#include <vector>

namespace fabricd::rpc {
namespace {

// An entry has the names of all members of a group: a hundred thousand of them take some MiB.
constexpr size_t kLeastRoom = 1 << 14;
constexpr size_t kMostRoom = 1 << 26;

// `look_up(buffer, size)` gives an error number.
template <typename LookUp>
void WithEnoughRoom(LookUp&& look_up) {
  for (size_t room = kLeastRoom; room <= kMostRoom; room *= 4) {
    std::vector<char> buffer(room);
    if (look_up(buffer.data(), buffer.size()) != ERANGE) return;
  }
}

}  // namespace

std::string UserName(const NameService& service, uid_t uid) {
  std::string name;
  WithEnoughRoom([&](char* buffer, size_t size) {
    passwd entry{};
    passwd* found = nullptr;
    const int error = service.user(uid, &entry, buffer, size, &found);
    if (error == 0 && found != nullptr) name = found->pw_name;
    return error;
  });
  return name;
}

std::string GroupName(const NameService& service, gid_t gid) {
  std::string name;
  WithEnoughRoom([&](char* buffer, size_t size) {
    group entry{};
    group* found = nullptr;
    const int error = service.group(gid, &entry, buffer, size, &found);
    if (error == 0 && found != nullptr) name = found->gr_name;
    return error;
  });
  return name;
}

}  // namespace fabricd::rpc
