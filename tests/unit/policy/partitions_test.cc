// SPDX-License-Identifier: Apache-2.0
// partitions.conf: what the grammar says, what OpenSM 3.3.23 makes of it where the grammar is
// silent, all faults with their lines.
#include "policy/partitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/gid_text.h"
#include "common/status.h"
#include "policy/partitions_diff.h"
#include "policy/partitions_text.h"

namespace fabricd::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> MembersOf(const Partitions& partitions, uint16_t number) {
  std::vector<std::string> texts;
  const Partition* partition = partitions.Find(number);
  if (partition == nullptr) return {"no such partition"};
  for (const Member& member : partition->members) texts.push_back(MemberText(member));
  return texts;
}

Partitions Read(std::string_view text) {
  const ParsedPartitions parsed = ParsePartitions(text);
  EXPECT_TRUE(parsed.ok()) << FaultsText(parsed.faults);
  return parsed.partitions;
}

std::vector<std::string> FaultsOf(std::string_view text) {
  const ParsedPartitions parsed = ParsePartitions(text);
  EXPECT_TRUE(parsed.partitions.list.empty());
  std::vector<std::string> lines;
  for (const LineNote& fault : parsed.faults)
    lines.push_back(fmt::format("{}: {}", fault.line, fault.text));
  return lines;
}

std::vector<std::string> NotesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (const LineNote& note : ParsePartitions(text).notes)
    lines.push_back(fmt::format("{}: {}", note.line, note.text));
  return lines;
}

TEST(PartitionsConf, AllAreLimitedMembersOfTheDefaultPartitionBeneathTheFile) {
  const Partitions partitions = Read("A=5: 0x10=full;");
  EXPECT_THAT(MembersOf(partitions, kDefaultPartition), ElementsAre("ALL=limited", "SELF=full"));
  EXPECT_THAT(MembersOf(partitions, 5), ElementsAre("0x0000000000000010=full"));
  EXPECT_THAT(MembersOf(Read("Default=0x7fff : 0x10=full ;"), kDefaultPartition),
              ElementsAre("ALL=limited", "SELF=full", "0x0000000000000010=full"));
  EXPECT_THAT(MembersOf(Read("Default=0x7fff : ALL=full ;"), kDefaultPartition),
              ElementsAre("ALL=full"));
}

TEST(PartitionsConf, TheLastRuleApplies) {
  EXPECT_THAT(MembersOf(Read("A=0x300: SELF=full ; A=0x300 : ALL=limited ;"), 0x300),
              ElementsAre("ALL=limited"));
  EXPECT_THAT(MembersOf(Read("A=1: 0x5=full, ALL_CAS, 0x5=both, 0x6, 0x6=full;"), 1),
              ElementsAre("ALL_CAS=limited", "0x0000000000000005=both", "0x0000000000000006=full"));
}

TEST(PartitionsConf, PKeysAreAllocatedWhereNoneIsNamed) {
  const Partitions partitions = Read(
      "X=1: 0x10=full; N: 0x11; Y=2: 0x12; M=0: 0x13; =0x99: 0x14; N : 0x15; 77 : 0x16;"
      "C=0x8066: 0x17; 0x55: 0x18; Default: ALL=full;");
  EXPECT_EQ(partitions.Find(3)->name, "N");
  EXPECT_EQ(partitions.Find(3)->members.size(), 2u);  // One partition of this name.
  EXPECT_EQ(partitions.Find(4)->name, "M");
  EXPECT_EQ(partitions.Find(0x99)->name, "");
  for (uint16_t number : {1, 2, 77, 0x66, 0x55}) EXPECT_NE(partitions.Find(number), nullptr);
  EXPECT_THAT(MembersOf(partitions, kDefaultPartition), ElementsAre("ALL=full"));
}

TEST(PartitionsConf, FlagsOfTheDefinition) {
  const Partitions partitions = Read(
      "ShareIO = 0x80 , defmember=full , indx0: 0x123451, 0x123452;\n"
      "ShareIO = 0x80 : 0x123453, 0x123455=full;   # limited\n"
      "ShareIO = 0x80 : defmember=limited : 0x123456,\n 0x123458=full;\n"
      "ShareIO = 0x80 , def=both : 0x12345b, defmember=limited, 0x12345c\n;");
  EXPECT_TRUE(partitions.Find(0x80)->index0);
  EXPECT_THAT(MembersOf(partitions, 0x80),
              ElementsAre("0x0000000000123451=full", "0x0000000000123452=full",
                          "0x0000000000123453=limited", "0x0000000000123455=full",
                          "0x0000000000123456=limited", "0x0000000000123458=full",
                          "0x000000000012345b=both", "0x000000000012345c=limited"));
}

TEST(PartitionsConf, NumbersAreWrittenAsInC) {
  EXPECT_THAT(MembersOf(Read("A=010: 1048580=full, 0X10=full , 010;"), 8),
              ElementsAre("0x0000000000100004=full", "0x0000000000000010=full",
                          "0x0000000000000008=limited"));
}

TEST(PartitionsConf, WordsMayBeCutShort) {
  const std::string text = "A=5,def=full,ipo,m=5: 0x1=lim, 0x2=f, AL, ALL_S=b, SEL;\n";
  const Partitions partitions = Read(text);
  EXPECT_EQ(partitions.Find(5)->ipoib->mtu, 5);
  EXPECT_THAT(MembersOf(partitions, 5), ElementsAre("ALL=full", "ALL_SWITCHES=both", "SELF=full"));
  EXPECT_EQ(NotesOf(text).size(), 3u);
}

TEST(PartitionsConf, NotesMistakesThatOpensmIgnores) {
  const std::string text =
      "A=5,foo=3,bar : 0x1=zz,\n"
      "  0x2=ful, 0x3=;\n"
      "B=6,mtu=4: 0x1;;\n";
  EXPECT_THAT(MembersOf(Read(text), 5),
              ElementsAre("0x0000000000000001=limited", "0x0000000000000002=full",
                          "0x0000000000000003=limited"));
  EXPECT_THAT(
      NotesOf(text),
      ElementsAre("1: flag \"foo\" is not known and ignored",
                  "1: flag \"bar\" is not known and ignored", "1: \"zz\" is taken as limited",
                  "2: \"\" is taken as limited", "3: a \";\" that ends nothing",
                  "3: without ipoib there is no group that this is about"));
}

TEST(PartitionsConf, ReadsMulticastGroups) {
  const Partitions partitions = Read(
      "Default=0x7fff,ipoib:\n"
      "   mgid=ff12:401b::0707,sl=1 # random IPv4 group\n"
      "   mgid=ff12::1,sl=1,Q_Key=0xDEADBEEF,rate=3,mtu=2\n"
      "   ALL=full;\n"
      "A=5,ipoib,scope=5,scope=2,mtu=5,rate=7,sl=2,Q_Key=0x77,TClass=3,FlowLabel=4: ALL;\n"
      "B=6: mgid=ff1e:401b:8006::1, mgid=ff12::3,TClass=9,scope=8, 0x10=full;");
  std::vector<std::string> texts;
  for (const WantedGroup& group : GroupsOf(partitions))
    texts.push_back(fmt::format("{} {} mtu {} rate {} sl {} q {:#x} t {} f {}", GidText(group.mgid),
                                group.p_key, group.mtu, group.rate, group.sl, group.q_key,
                                group.traffic_class, group.flow_label));
  EXPECT_THAT(texts,
              ElementsAre("ff12::1 0xffff mtu 2 rate 3 sl 1 q 0xdeadbeef t 0 f 0",
                          "ff12:401b:8005::ffff:ffff 0x8005 mtu 5 rate 7 sl 2 q 0x77 t 3 f 4",
                          "ff12:401b:ffff::707 0xffff mtu 4 rate 3 sl 1 q 0xb1b t 0 f 0",
                          "ff12:401b:ffff::ffff:ffff 0xffff mtu 4 rate 3 sl 0 q 0xb1b t 0 f 0",
                          "ff15:401b:8005::ffff:ffff 0x8005 mtu 5 rate 7 sl 2 q 0x77 t 3 f 4",
                          "ff18::3 0x8006 mtu 4 rate 3 sl 0 q 0x0 t 9 f 0",
                          "ff1e:401b:8006::1 0x8006 mtu 4 rate 3 sl 0 q 0xb1b t 0 f 0"));
  EXPECT_THAT(MembersOf(partitions, 6), ElementsAre("0x0000000000000010=full"));
}

TEST(PartitionsConf, AllFaultsAreListed) {
  EXPECT_THAT(FaultsOf("A=0x10005: 0x1=full;\n"
                       "B=6: xyz=full, 0x0,\n"
                       "  99999999999999999999;\n"
                       "C=7,mtu=6,rate=99,sl=16,scope=16,defmember=none: mgid=fe80::1\n"
                       "  mgid=ff12:401b:8008::1\n"
                       ";\n"
                       "D=8 0x1=full;\n"
                       "E=9,rate=1: ALL\n"),
              ElementsAre("1: \"0x10005\" is not a P_Key of 0x0000 to 0xffff",
                          "2: \"xyz\" is not a GUID nor a kind of ports",
                          "2: \"0x0\" is not a GUID nor a kind of ports",
                          "3: \"99999999999999999999\" is not a GUID nor a kind of ports",
                          "4: mtu is 1 to 0x5, not \"6\"", "4: rate is 1 to 0x3f, not \"99\"",
                          "4: sl is 0 to 0xf, not \"16\"", "4: scope is 0 to 0xf, not \"16\"",
                          "4: defmember is full, limited or both, not \"none\"",
                          "4: \"fe80::1\" is not a multicast GID",
                          "5: mgid ff12:401b:8008::1 is of the partition 0x0008, not of 0x0007",
                          "7: a definition without \":\"", "8: there is no rate 1",
                          "8: the definition that begins here does not end with \";\""));
}

TEST(PartitionsConf, TruncatedTextIsAFault) {
  EXPECT_THAT(FaultsOf(""), ElementsAre("1: nothing is defined"));
  EXPECT_THAT(FaultsOf("# only a comment\n"), ElementsAre("1: nothing is defined"));
  EXPECT_THAT(FaultsOf("A=5: ALL=full;\n\nB"),
              ElementsAre("3: a definition without \":\" and \";\""));
  EXPECT_THAT(FaultsOf("A=5: 0x1=full\nB=6: 0x2=full;\n"),
              ElementsAre(HasSubstr("2: \"B\" is not a GUID nor a kind of ports; is the \";\"")));
}

TEST(PartitionsConf, ReportsThatNoPKeyIsFree) {
  std::string text;
  for (int i = 0; i < 0x7FFF; ++i) text += fmt::format("p{}: 0x1;\n", i);
  EXPECT_THAT(FaultsOf(text), ElementsAre("32767: no P_Key is left"));
}

TEST(PartitionsConf, IsReadBackAsItIsWritten) {
  const Partitions partitions = Read(
      "Default=0x7fff: 0x2=full; A=5,indx0,ipoib,scope=5,mtu=5,Q_Key=7: ALL=full, 0x10=both,"
      "ALL_VCAS; B=6: mgid=ff1e:401b:8006::1,sl=1\n mgid=ff12::3,rate=7,FlowLabel=9\n;");
  EXPECT_EQ(Read(FormatPartitions(partitions)), partitions);
  EXPECT_EQ(Read(FormatPartitions(Partitions::BuiltIn())), Partitions::BuiltIn());
}

TEST(Partitions, Differences) {
  const Partitions before = Read("A=5: 0x1=full, 0x2; B=6: 0x3=full; D=8: 0x1, 0x2;");
  const Partitions after =
      Read("A=5,indx0: 0x1=limited, 0x2; C=7: mgid=ff12::3\n 0x4=full; D=8: 0x2, 0x1;");
  EXPECT_THAT(DiffPartitions(before, after),
              ElementsAre("- A=0x0005", "+ A=0x0005,indx0", "- 0x0005 A: 0x0000000000000001=full",
                          "+ 0x0005 A: 0x0000000000000001=limited", "- B=0x0006",
                          "- 0x0006 B: 0x0000000000000003=full", "+ C=0x0007",
                          "+ 0x0007 C: 0x0000000000000004=full", "+ 0x0007 C: mgid=ff12::3",
                          "~ 0x0008 D: the order of its members"));
  EXPECT_THAT(DiffPartitions(before, before), IsEmpty());
}

TEST(Partitions, RefusesInvalidPartitions) {
  Partitions partitions = Partitions::BuiltIn();
  EXPECT_TRUE(CheckPartitions(partitions).ok());
  partitions.list[0].members.clear();
  EXPECT_THAT(Message(CheckPartitions(partitions)), HasSubstr("ALL must be a member"));
  partitions = Partitions::BuiltIn();
  Partition& made = partitions.Get(5);
  made.name = "a,b";
  EXPECT_THAT(Message(CheckPartitions(partitions)), HasSubstr("a name without"));
  made.name = "a";
  made.members = {{Guid(1), PortClass::kAll, Membership::kFull}};
  EXPECT_THAT(Message(CheckPartitions(partitions)), HasSubstr("either a GUID or a kind"));
  made.members = {{Guid(1), PortClass::kNone, Membership::kFull},
                  {Guid(1), PortClass::kNone, Membership::kLimited}};
  EXPECT_THAT(Message(CheckPartitions(partitions)), HasSubstr("more than once"));
  made.members.clear();
  EXPECT_TRUE(CheckPartitions(partitions).ok());
  made.number = 0x8000;
  EXPECT_FALSE(CheckPartitions(partitions).ok());
}

TEST(GidText, IsReadBackAsItIsWritten) {
  for (const char* text : {"ff12:401b:ffff::ffff:ffff", "::", "::1", "fe80::2:c903:0:1",
                           "ff12:601b:8001:0:1::", "1:2:3:4:5:6:7:8", "0:1::"}) {
    const auto gid = ParseGid(text);
    ASSERT_TRUE(gid.has_value()) << text;
    EXPECT_EQ(ParseGid(GidText(*gid)), gid) << text;
  }
  EXPECT_EQ(GidText({0xFF12401BFFFF0000, 0xFFFFFFFF}), "ff12:401b:ffff::ffff:ffff");
  EXPECT_EQ(GidText({0x0001000000020003, 0x0004000500060007}), "1:0:2:3:4:5:6:7");
  for (const char* text : {"", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
                           "1:2:3:4:5:6:7::8", "12345::", "g::", "::1 ", "1:"})
    EXPECT_FALSE(ParseGid(text).has_value()) << text;
}

}  // namespace
}  // namespace fabricd::policy
