// SPDX-License-Identifier: Apache-2.0
#include "policy/partitions_diff.h"

#include <algorithm>
#include <utility>

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include "policy/partitions_text.h"

namespace fabricd::policy {
namespace {

using Subject = std::pair<Guid, PortClass>;
Subject SubjectOf(const Member& member) { return {member.guid, member.ports}; }

std::string TitleOf(const Partition& partition) {
  return partition.name.empty() ? fmt::format("{:#06x}", partition.number)
                                : fmt::format("{:#06x} {}", partition.number, partition.name);
}

void DiffMembers(const std::string& title, const Partition& before, const Partition& after,
                 std::vector<std::string>& lines) {
  absl::flat_hash_map<Subject, Membership> was, is;
  for (const Member& member : before.members) was[SubjectOf(member)] = member.membership;
  for (const Member& member : after.members) is[SubjectOf(member)] = member.membership;
  const size_t first = lines.size();
  for (const Member& member : before.members)
    if (const auto now = is.find(SubjectOf(member));
        now == is.end() || now->second != member.membership)
      lines.push_back(fmt::format("- {}: {}", title, MemberText(member)));
  for (const Member& member : after.members)
    if (const auto then = was.find(SubjectOf(member));
        then == was.end() || then->second != member.membership)
      lines.push_back(fmt::format("+ {}: {}", title, MemberText(member)));
  if (lines.size() == first && before.members != after.members)
    lines.push_back(fmt::format("~ {}: the order of its members", title));
}

void DiffGroups(const std::string& title, const Partition& before, const Partition& after,
                std::vector<std::string>& lines) {
  const auto has = [](const Partition& partition, const PartitionGroup& group) {
    return std::find(partition.groups.begin(), partition.groups.end(), group) !=
           partition.groups.end();
  };
  for (const PartitionGroup& group : before.groups)
    if (!has(after, group)) lines.push_back(fmt::format("- {}: {}", title, GroupText(group)));
  for (const PartitionGroup& group : after.groups)
    if (!has(before, group)) lines.push_back(fmt::format("+ {}: {}", title, GroupText(group)));
}

}  // namespace

std::vector<std::string> DiffPartitions(const Partitions& before, const Partitions& after) {
  std::vector<std::string> lines;
  const auto part = [&](const Partition& was, const Partition& is, bool both) {
    const std::string title = TitleOf(both || was.number == 0 ? is : was);
    const std::string old_head = HeadText(was), new_head = HeadText(is);
    if (was.number != 0 && old_head != new_head) lines.push_back("- " + old_head);
    if (is.number != 0 && old_head != new_head) lines.push_back("+ " + new_head);
    DiffMembers(title, was, is, lines);
    DiffGroups(title, was, is, lines);
  };
  auto was = before.list.begin(), is = after.list.begin();
  while (was != before.list.end() || is != after.list.end()) {
    const bool gone =
        is == after.list.end() || (was != before.list.end() && was->number < is->number);
    const bool is_new = !gone && (was == before.list.end() || is->number < was->number);
    if (gone)
      part(*was++, Partition(), false);
    else if (is_new)
      part(Partition(), *is++, false);
    else
      part(*was++, *is++, true);
  }
  return lines;
}

}  // namespace fabricd::policy
