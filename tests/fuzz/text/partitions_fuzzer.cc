// SPDX-License-Identifier: Apache-2.0
// partitions.conf of any bytes: either faults, in order, or partitions that can be, survive being
// written, and give any port a table that is stable. The first line is a word, or a GUID that is
// asked about.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/check.h"
#include "common/gid_text.h"
#include "common/status.h"
#include "fabric/names.h"
#include "policy/p_key_plan.h"
#include "policy/partitions_diff.h"
#include "policy/partitions_text.h"
#include "tests/fuzz/bytes.h"

namespace fabricd::policy {
namespace {

void CheckNotes(const std::vector<LineNote>& notes, size_t lines) {
  for (size_t i = 0; i < notes.size(); ++i) {
    FABRICD_CHECK(notes[i].line >= 1 && notes[i].line <= lines, "line {}", notes[i].line);
    FABRICD_CHECK(i == 0 || notes[i - 1].line <= notes[i].line);
    FABRICD_CHECK(!notes[i].text.empty());
  }
}

void CheckTables(const Partitions& partitions, Guid guid) {
  const PartitionIndex index(partitions, PartitionSet(), true);
  PortFacts facts;
  facts.guid = guid;
  const WantedKeys wanted = index.KeysOf(facts);
  FABRICD_CHECK(!wanted.keys.empty(), "every port is in the default partition");
  for (size_t capacity : {0, 1, 32}) {
    const KeyLayout layout = LayOutKeys({}, wanted, capacity, index, true);
    FABRICD_CHECK(layout.table.size() == capacity);
    const KeyLayout again = LayOutKeys(layout.table, wanted, capacity, index, true);
    FABRICD_CHECK(again.table == layout.table);
  }
}

void CheckWord(const std::string& word) {
  if (const auto membership = ParseMembership(word))
    FABRICD_CHECK(MembershipName(*membership).starts_with(word));
  if (const auto ports = ParsePortClass(word)) FABRICD_CHECK(PortClassName(*ports) == word);
  if (const auto gid = ParseGid(word)) FABRICD_CHECK(ParseGid(GidText(*gid)) == gid, "{}", word);
}

void Check(test::FuzzBytes input) {
  const std::string word = input.Line();
  CheckWord(word);
  const Guid guid = fabric::ParseGuid(word);
  const std::string text = input.Rest();
  const ParsedPartitions parsed = ParsePartitions(text);
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  CheckNotes(parsed.faults, lines);
  CheckNotes(parsed.notes, lines);
  if (!parsed.ok()) {
    FABRICD_CHECK(parsed.partitions.list.empty() && !FaultsText(parsed.faults).empty());
    return;
  }
  const absl::Status checked = CheckPartitions(parsed.partitions);
  FABRICD_CHECK(checked.ok(), "{}", Message(checked));
  const ParsedPartitions again = ParsePartitions(FormatPartitions(parsed.partitions));
  FABRICD_CHECK(again.ok(), "{}", FaultsText(again.faults));
  FABRICD_CHECK(again.partitions == parsed.partitions);
  FABRICD_CHECK(DiffPartitions(parsed.partitions, again.partitions).empty());
  const bool same = parsed.partitions == Partitions::BuiltIn();
  FABRICD_CHECK(DiffPartitions(Partitions::BuiltIn(), parsed.partitions).empty() == same);
  for (const WantedGroup& group : GroupsOf(parsed.partitions))
    FABRICD_CHECK(group.mgid.IsMulticast() && group.mtu >= 1 && group.mtu <= 5);
  CheckTables(parsed.partitions, guid);
}

}  // namespace
}  // namespace fabricd::policy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fabricd::policy::Check(fabricd::test::FuzzBytes(data, size));
  return 0;
}
