// SPDX-License-Identifier: Apache-2.0
// partitions.conf as OpenSM reads it, and back: docs/PARTITIONS.md has the grammar and what
// differs. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/partitions.h"

namespace fabricd::policy {

// What is wrong with a line, or odd about it.
struct LineNote {
  size_t line = 0;  // From 1.
  std::string text;
  friend bool operator==(const LineNote&, const LineNote&) = default;
};

struct ParsedPartitions {
  Partitions partitions;         // Only of a file without faults.
  std::vector<LineNote> faults;  // By line. With any of them the file is not to be used.
  // By line: what is taken as OpenSM takes it, but is hardly what was meant, such as flags that do
  // not exist.
  std::vector<LineNote> notes;
  bool ok() const { return faults.empty(); }
};

inline constexpr size_t kMaxPartitionsText = size_t{32} << 20;  // bytes
// Of more faults or notes than this only the first are kept.
inline constexpr size_t kMaxLineNotes = 10'000;

// All faults are found, not only the first. A file that defines nothing is a fault: it is more
// likely cut off than meant.
ParsedPartitions ParsePartitions(std::string_view text);
// All faults of a file in one sentence each: "line 3: …; line 7: …", the first `most` of them.
std::string FaultsText(const std::vector<LineNote>& faults, size_t most = 20);

// What ParsePartitions() reads as the same value. REQUIRES: CheckPartitions().
std::string FormatPartitions(const Partitions& partitions);

std::string MemberText(const Member& member);        // "0x0002c90300000001=full", "ALL=limited"
std::string GroupText(const PartitionGroup& group);  // "mgid=ff12:401b:8001::7,sl=1"
std::string HeadText(const Partition& partition);    // "name=0x0001,indx0,ipoib,mtu=5"
// "full", "limited", "both" or the beginning of one of them.
std::optional<Membership> ParseMembership(std::string_view text);
// "ALL", "ALL_CAS", …, "SELF"; not abbreviated.
std::optional<PortClass> ParsePortClass(std::string_view text);

}  // namespace fabricd::policy
