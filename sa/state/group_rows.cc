// SPDX-License-Identifier: Apache-2.0
#include "sa/state/group_rows.h"

#include <cctype>

#include <fmt/format.h>

#include "sa/wire/row_codec.h"

namespace fabricd::sa {

RowKey KeyOf(Gid mgid) { return {kGroupTable, TextOf(mgid)}; }
RowKey KeyOf(Gid mgid, Gid gid) {
  return {kMemberTable, fmt::format("{} {}", TextOf(mgid), TextOf(gid))};
}

std::string RowOf(const Group& group) {
  return BytesOf(group.record) + static_cast<char>(group.permanent);
}
std::string RowOf(const Member& member) {
  std::string bytes(1, static_cast<char>(member.join_state));
  AppendNumber(member.requester.prefix, bytes);
  AppendNumber(member.requester.low, bytes);
  return bytes;
}

bool ParseGid(const std::string& text, size_t at, Gid& gid) {
  if (text.size() < at + 32) return false;
  for (uint64_t* half : {&gid.prefix, &gid.low}) {
    for (int i = 0; i < 16; ++i, ++at) {
      const char digit = text[at];
      if (!std::isxdigit(static_cast<unsigned char>(digit))) return false;
      *half = *half << 4 | static_cast<uint64_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
  }
  return true;
}

}  // namespace fabricd::sa
