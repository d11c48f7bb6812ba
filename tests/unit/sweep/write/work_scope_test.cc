// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/work_scope.h"

#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;

class WorkScopeTest : public WriterTest {
 protected:
  std::vector<NodeIndex> Visited() {
    std::vector<NodeIndex> nodes;
    run_->scope.ForEach([&](const fabric::Node& node) { nodes.push_back(node.index); });
    return nodes;
  }
  std::vector<NodeIndex> VisitedForKeys() {
    std::vector<NodeIndex> nodes;
    run_->scope.ForEachKeyed([&](const fabric::Node& node) { nodes.push_back(node.index); });
    return nodes;
  }
  const NodeIndex s0_ = fabric_.switches[0], s1_ = fabric_.switches[1], h0_ = fabric_.hosts[0],
                  h1_ = fabric_.hosts[1];
};

TEST_F(WorkScopeTest, WithoutAScopeAllNodesAreVisitedOnce) {
  input_.scope.key_nodes = {h1_};
  Begin();
  EXPECT_TRUE(run_->scope.is_all());
  EXPECT_THAT(Visited(), ElementsAre(s0_, s1_, h0_, h1_));
  EXPECT_THAT(VisitedForKeys(), ElementsAre(s0_, s1_, h0_, h1_));
}

TEST_F(WorkScopeTest, AScopeNamesTheNodesAndChangedAliasesWidenItForKeysAlone) {
  input_.scope.nodes = {s1_, h0_};
  input_.scope.key_nodes = {h0_, h1_};
  Begin();
  EXPECT_FALSE(run_->scope.is_all());
  EXPECT_THAT(Visited(), ElementsAre(s1_, h0_));
  EXPECT_THAT(VisitedForKeys(), ElementsAre(s1_, h0_, h1_));
}

TEST_F(WorkScopeTest, ChangedPartitionsWidenItToAllNodesForKeysAlone) {
  input_.scope.nodes.emplace();
  input_.scope.all_keys = true;
  Begin();
  EXPECT_THAT(Visited(), testing::IsEmpty());
  EXPECT_THAT(VisitedForKeys(), ElementsAre(s0_, s1_, h0_, h1_));
}

TEST_F(WorkScopeTest, NodesThatAreGoneOrWereNeverInTheSnapshotAreNotVisited) {
  input_.scope.nodes = {s0_, h0_, NodeIndex(77)};
  input_.scope.key_nodes = {h1_};
  Begin();
  fabric_.builder.RemoveNode(h0_);
  fabric_.builder.RemoveNode(h1_);
  EXPECT_THAT(Visited(), ElementsAre(s0_));
  EXPECT_THAT(VisitedForKeys(), ElementsAre(s0_));
}

}  // namespace
}  // namespace fabricd::sweep
