// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/nodes_to_reread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NodesToReread, APortThatIsAwaitedMakesItsNodeDueUntilItHasAnswered) {
  NodesToReread looks;
  EXPECT_THAT(looks.Nodes(), IsEmpty());
  looks.Await({NodeIndex(7), PortNum(1)});
  looks.Await({NodeIndex(7), PortNum(2)});
  looks.Await({NodeIndex(3), PortNum(1)});
  looks.NoteEnd({NodeIndex(7), PortNum(1)});
  EXPECT_THAT(looks.Nodes(), ElementsAre(NodeIndex(3), NodeIndex(7)));
  looks.NoteEnd({NodeIndex(7), PortNum(2)});
  EXPECT_THAT(looks.Nodes(), ElementsAre(NodeIndex(3)));
}

TEST(NodesToReread, ANodeThatChangedStaysDueAndIsNamedOnce) {
  NodesToReread looks;
  looks.NoteChanged(NodeIndex(4));
  looks.Await({NodeIndex(4), PortNum(1)});
  EXPECT_THAT(looks.Nodes(), ElementsAre(NodeIndex(4)));
  looks.NoteEnd({NodeIndex(4), PortNum(1)});
  EXPECT_THAT(looks.Nodes(), ElementsAre(NodeIndex(4)));
}

}  // namespace
}  // namespace fabricd::sweep
