// SPDX-License-Identifier: Apache-2.0
#include "cli/render/partition_tables.h"

#include <fmt/format.h>

namespace fabricd::cli {

std::string PKeyText(const pb::Partition& partition) {
  return fmt::format("0x{:04x}", partition.p_key());
}

std::string MembershipWord(pb::Membership membership) {
  switch (membership) {
    case pb::MEMBERSHIP_FULL: return "full";
    case pb::MEMBERSHIP_BOTH: return "both";
    default: return "limited";
  }
}

std::string TraitsText(const pb::GroupTraits& traits) {
  std::string text =
      fmt::format("MTU {}, {:g} Gb/s, SL {}", traits.mtu(), traits.rate_gbps(), traits.sl());
  if (traits.has_q_key()) text += fmt::format(", Q_Key 0x{:08x}", traits.q_key());
  if (traits.traffic_class() != 0) text += fmt::format(", TClass {}", traits.traffic_class());
  if (traits.flow_label() != 0) text += fmt::format(", FlowLabel 0x{:05x}", traits.flow_label());
  for (uint32_t scope = 0; scope < 16; ++scope)
    if (traits.scopes() >> scope & 1) text += fmt::format(", scope {}", scope);
  return text;
}

Table PartitionTable(const pb::ListPartitionsResponse& partitions, bool wide) {
  std::vector<std::string> headers = {"P_KEY", "NAME", "FULL", "LIMITED", "MEMBERS", "IPOIB"};
  if (wide) headers.insert(headers.end(), {"INDEX0", "GROUPS"});
  Table table(headers);
  for (const pb::Partition& partition : partitions.partitions()) {
    std::vector<Cell> cells = {PKeyText(partition),
                               partition.name(),
                               fmt::format("{}", partition.ports_full()),
                               fmt::format("{}", partition.ports_limited()),
                               fmt::format("{}", partition.member_count()),
                               partition.has_ipoib() ? "yes" : "no"};
    if (wide) {
      cells.emplace_back(partition.index0() ? "yes" : "no");
      cells.emplace_back(fmt::format("{}", partition.groups_size()));
    }
    table.AddRow(std::move(cells));
  }
  return table;
}

Table PartitionMemberTable(const pb::Partition& partition) {
  Table table({"MEMBER", "MEMBERSHIP", "PORT", "CONFIRMED"});
  for (const pb::PartitionMember& member : partition.members()) {
    const bool kind = member.subject().rfind("0x", 0) != 0;
    const bool absent = !kind && member.port_name().empty();
    table.AddRow({member.subject(), MembershipWord(member.membership()),
                  absent ? Cell("absent", Tone::kWarning) : Cell(member.port_name()),
                  kind || absent       ? Cell("")
                  : member.confirmed() ? Cell("yes")
                                       : Cell("no", Tone::kWarning)});
  }
  return table;
}

}  // namespace fabricd::cli
