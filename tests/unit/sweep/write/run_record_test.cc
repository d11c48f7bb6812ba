// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/run_record.h"

#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class RunRecordTest : public WriterTest {
 protected:
  RunRecordTest() {
    fabric_.builder.SetDescription(fabric_.switches[0], "leaf1");
    Begin();
  }
  Request RequestOf(Work work) const {
    const WorkItem item{fabric_.switches[0], 5, PortNum(1), work};
    return {item, devices_.Get(item.node, AttributeOf(work), 5)};
  }
};

TEST_F(RunRecordTest, AFailureNamesItsPortAndWhyAndLeavesTheNodeUndone) {
  const Request read = RequestOf(Work::kReadPort);
  record().NoteFailure(read.item, Timeout(read));
  const Request lft = RequestOf(Work::kReadLft);
  record().NoteFailure(lft.item, Refusal(lft, 0x0004));
  const auto problems = problems_.List();
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].kind, "Unresponsive");
  EXPECT_EQ(problems[0].subject, "\"leaf1\" (0x0000000000000010) port 1");
  EXPECT_EQ(problems[0].message, "Get PortInfo: no answer");
  EXPECT_EQ(problems[1].kind, "SetRefused");
  EXPECT_EQ(problems[1].subject, "\"leaf1\" (0x0000000000000010)") << "a table is the switch's";
  EXPECT_EQ(problems[1].message, "Get LinearForwardingTable: status 0x0004");
  EXPECT_EQ(record().failures(), 2u);
  EXPECT_THAT(record().undone(), UnorderedElementsAre(fabric_.switches[0]));
}

TEST_F(RunRecordTest, AContradictionNamesTheBlock) {
  const Request lft = RequestOf(Work::kSetLft);
  record().NoteContradiction(lft.item, AnswerTo(lft, {}));
  EXPECT_THAT(Problems(),
              ElementsAre("SetRefused: answers Set LinearForwardingTable 5 with other values"));
  EXPECT_EQ(record().failures(), 1u);
}

TEST_F(RunRecordTest, ARefusalIsAFailureButDoesNotLeaveTheNodeUndone) {
  record().NoteRefusal(SwitchPort(0, 1), "keeps LID 7");
  EXPECT_EQ(record().failures(), 1u);
  EXPECT_TRUE(record().undone().empty());
  record().CountFailures(3);
  record().NoteUnsent(fabric_.hosts[0]);
  EXPECT_EQ(record().failures(), 5u);
  EXPECT_THAT(record().undone(), UnorderedElementsAre(fabric_.hosts[0]));
}

TEST_F(RunRecordTest, RemembersPortsThatAreNotConfigured) {
  EXPECT_FALSE(record().IsUnconfigured(SwitchPort(0, 1)));
  record().NoteUnconfigured(SwitchPort(0, 1));
  EXPECT_TRUE(record().IsUnconfigured(SwitchPort(0, 1)));
  EXPECT_FALSE(record().IsUnconfigured(SwitchPort(0, 2)));
}

TEST_F(RunRecordTest, ANodeThatIsGoneIsNamedByItsIndex) {
  fabric_.builder.RemoveNode(fabric_.switches[0]);
  EXPECT_EQ(record().NameOf(SwitchPort(0, 1)), "node index 0");
}

TEST_F(RunRecordTest, ProblemsOfAKindCanBeRemoved) {
  record().AddProblem(SwitchPort(0, 1), "NotEnforced", "a");
  record().AddProblem(Problem{"Other", "subnet", "b"});
  record().RemoveProblems("NotEnforced");
  EXPECT_THAT(Problems(), ElementsAre("Other: b"));
}

}  // namespace
}  // namespace fabricd::sweep
