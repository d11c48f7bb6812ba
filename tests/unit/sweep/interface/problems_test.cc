// SPDX-License-Identifier: Apache-2.0
// Problems: what they are about, how that is written, and which go when it is looked at again.
#include "sweep/interface/problems.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweep/interface/problem.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

fabric::Node NodeOf(uint64_t guid, const std::string& description) {
  fabric::Node node;
  node.info.node_guid = Guid(guid);
  node.description = description;
  return node;
}

TEST(ProblemKinds, EachHasAWordOfItsOwn) {
  std::set<std::string_view> words;
  const auto last = static_cast<int>(ProblemKind::kUnresponsiveKept);
  for (int kind = 0; kind <= last; ++kind)
    words.insert(ProblemKindName(static_cast<ProblemKind>(kind)));
  EXPECT_THAT(words, SizeIs(last + 1));
  EXPECT_FALSE(words.contains("unknown"));
}

TEST(ProblemSubjects, ANodeIsWrittenAsItIsCalledNow) {
  SmallFabric small(1);
  const NodeIndex leaf = small.Host(0).node;
  const fabric::Node before = *small.builder.node(leaf);
  const auto of_port = ProblemSubject::Of(before, PortNum(1));
  const auto of_node = ProblemSubject::Of(before);
  small.builder.SetDescription(leaf, "renamed");
  const auto snapshot = small.builder.Build();
  const std::string guid = fmt::format("{}", before.guid());
  EXPECT_EQ(SubjectText(of_port, *snapshot), fmt::format("renamed/1 ({})", guid));
  EXPECT_EQ(SubjectText(of_node, *snapshot), fmt::format("renamed ({})", guid));
  const auto names = fabric::NodeNameMap::Parse(fmt::format("{} \"rack1\"\n", guid));
  EXPECT_EQ(SubjectText(of_port, *snapshot, &names), fmt::format("rack1/1 ({})", guid));
}

TEST(ProblemSubjects, ANodeThatIsGoneIsWrittenAsItWasCalled) {
  const fabric::FabricSnapshot empty;
  const auto subject = ProblemSubject::Of(NodeOf(0x77, "leaf7"), PortNum(3));
  EXPECT_EQ(SubjectText(subject, empty), "leaf7/3 (0x0000000000000077)");
  EXPECT_EQ(SubjectText(ProblemSubject::Of(NodeOf(0x77, "")), empty), "0x0000000000000077")
      << "the GUID once";
}

TEST(ProblemSubjects, OthersThanNodesAreWrittenByTheirName) {
  const fabric::FabricSnapshot empty;
  EXPECT_EQ(SubjectText(ProblemSubject::Named("MLID 0xc001"), empty), "MLID 0xc001");
  EXPECT_EQ(SubjectText(ProblemSubject::Subnet(), empty), "subnet");
}

TEST(ProblemSubjects, NodesAreEqualByGuidAndPortUnderAnyName) {
  const auto subject = ProblemSubject::Of(NodeOf(0x77, "leaf7"), PortNum(3));
  EXPECT_EQ(subject, ProblemSubject::Of(NodeOf(0x77, "other"), PortNum(3)));
  EXPECT_FALSE(subject == ProblemSubject::Of(NodeOf(0x77, "leaf7"), PortNum(4)));
  EXPECT_FALSE(subject == ProblemSubject::Of(NodeOf(0x78, "leaf7"), PortNum(3)));
  EXPECT_FALSE(ProblemSubject::Named("a") == ProblemSubject::Named("b"));
}

TEST(ProblemList, KeepsTheFirstOfAKindAndSubject) {
  ProblemList problems;
  problems.Add(ProblemKind::kNoPlan, ProblemSubject::Subnet(), "first");
  problems.Add(ProblemKind::kNoPlan, ProblemSubject::Subnet(), "second");
  problems.Add(ProblemKind::kNoTrees, ProblemSubject::Subnet(), "third");
  EXPECT_THAT(problems.List(),
              ElementsAre(Field(&Problem::message, "first"), Field(&Problem::message, "third")));
  problems.Remove(ProblemKind::kNoPlan);
  EXPECT_THAT(problems.List(), ElementsAre(Field(&Problem::message, "third")));
}

// Also where another node is called by the GUID of this one.
TEST(ProblemList, ProblemsOfANodeAndItsPortsAreRemovedTogether) {
  ProblemList problems;
  problems.Add(ProblemKind::kUnreadable, ProblemSubject::Of(NodeOf(0x77, "leaf7")), "node");
  problems.Add(ProblemKind::kUnreadable, ProblemSubject::Of(NodeOf(0x77, ""), PortNum(3)), "port");
  problems.Add(ProblemKind::kUnreadable,
               ProblemSubject::Of(NodeOf(0x78, "near 0x0000000000000077")), "neighbour");
  problems.Add(ProblemKind::kNoPlan, ProblemSubject::Subnet(), "subnet");
  problems.RemoveAbout(Guid(0x77));
  EXPECT_THAT(problems.List(), ElementsAre(Field(&Problem::message, "neighbour"),
                                           Field(&Problem::message, "subnet")));
  problems.RemoveAbout(Guid());
  EXPECT_THAT(problems.List(), SizeIs(2)) << "no GUID: no node";
}

TEST(ProblemList, CountsThoseBeyondItsBound) {
  ProblemList problems;
  EXPECT_THAT(problems.List(), IsEmpty());
  for (uint64_t guid = 1; guid <= ProblemList::kMax + 2; ++guid)
    problems.Add(ProblemKind::kUnreadable, ProblemSubject::Of(NodeOf(guid, "")), "");
  const auto list = problems.List();
  ASSERT_THAT(list, SizeIs(ProblemList::kMax + 1));
  EXPECT_EQ(list.back().kind, ProblemKind::kMoreProblems);
  EXPECT_EQ(list.back().message, "2 more");
}

}  // namespace
}  // namespace fabricd::sweep
