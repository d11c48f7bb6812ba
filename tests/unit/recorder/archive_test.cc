// SPDX-License-Identifier: Apache-2.0
#include "recorder/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorder/fields.h"

namespace fabricd::recorder {
namespace {

policy::Hold SomeHold() {
  policy::Hold hold;
  hold.id = 7;
  hold.kind = policy::HoldKind::kDrain;
  hold.target = {policy::TargetKind::kLink, "leaf1/3", {Guid(1)}, {}, {}, {"a"}};
  hold.target.ports = {{Guid(2), PortNum(3)}};
  hold.owner = "slurm";
  hold.created = -5;  // Before 1970: a clock that was never set.
  hold.expires = 1'800'000'000'000;
  hold.forced = true;
  return hold;
}

TEST(Archive, GivesBackEachFieldOfAHold) {
  EXPECT_EQ(Unarchive<policy::Hold>(Archive(SomeHold())), SomeHold());
}

TEST(Archive, GivesBackTheOptionsOfACore) {
  sweep::CoreOptions options;
  options.smp.timeout_factor = 1.25;
  options.sm.m_key_by_guid = {{Guid(3), MKey(4)}, {Guid(1), MKey(2)}};
  options.routing.chain = {"rail", "up_down"};
  options.routing.host_patterns = *fabric::HostPatterns::Compile("^(n[0-9]+)", "([0-9]+)$");
  options.policy.conditions.exclude = {{Guid(9), 12}, {Guid(10), std::nullopt}};
  const auto back = Unarchive<sweep::CoreOptions>(Archive(options));
  ASSERT_TRUE(back);
  EXPECT_EQ(Archive(*back), Archive(options));
  EXPECT_EQ(back->smp.timeout_factor, 1.25);
  EXPECT_EQ(back->sm.m_key_by_guid, options.sm.m_key_by_guid);
  EXPECT_EQ(back->routing.host_patterns.host_text(), "^(n[0-9]+)");
}

TEST(Archive, GivesBackAStatusWithItsMessage) {
  sweep::CreateHold event;
  event.unresolved = absl::NotFoundError("no such host");
  event.ttl = std::chrono::seconds(3);
  const auto back = Unarchive<sweep::CreateHold>(Archive(event));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->unresolved, event.unresolved);
  EXPECT_EQ(back->ttl, event.ttl);
}

TEST(Archive, RefusesBytesThatAreCutShortOrLeftOver) {
  const std::string whole = Archive(SomeHold());
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(Unarchive<policy::Hold>(whole.substr(0, size))) << size;
  EXPECT_FALSE(Unarchive<policy::Hold>(whole + "x"));
}

TEST(Archive, RefusesNumbersThatDoNotFit) {
  EXPECT_TRUE(Unarchive<PortNum>(Archive(uint32_t{255})));
  EXPECT_FALSE(Unarchive<PortNum>(Archive(uint32_t{256})));
  EXPECT_FALSE(Unarchive<uint16_t>(Archive(uint32_t{65'536})));
}

TEST(Archive, RefusesACountBeyondTheBytesThatAreThere) {
  EXPECT_FALSE(Unarchive<std::vector<uint64_t>>(std::string("\xFF\xFF\xFF\xFF\x0F", 5)));
}

TEST(Archive, RefusesAliasesOutOfOrder) {
  std::vector<fabric::AliasBlock> blocks = {{Guid(2), 0, 1, {}}, {Guid(1), 0, 1, {}}};
  EXPECT_FALSE(Unarchive<fabric::AliasGuids>(Archive(blocks)));
  std::swap(blocks[0], blocks[1]);
  EXPECT_TRUE(Unarchive<fabric::AliasGuids>(Archive(blocks)));
}

TEST(Archive, RefusesAHostPatternThatDoesNotCompile) {
  std::vector<std::string> texts = {"(", ")"};
  std::string bytes = Archive(texts);
  bytes.erase(0, 1);  // A pattern is the two texts without a count.
  EXPECT_FALSE(Unarchive<fabric::HostPatterns>(bytes));
}

}  // namespace
}  // namespace fabricd::recorder
