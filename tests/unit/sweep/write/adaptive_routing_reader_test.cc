// SPDX-License-Identifier: Apache-2.0
// reference/telemetry-and-adaptive.md §3.1: GeneralInfo comes before ARInfo.
#include "sweep/write/adaptive_routing_reader.h"

#include "mad/wire/vendor_smp.h"
#include "sweep/device/adaptive_routing.h"
#include "tests/unit/sweep/write/writer_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class AdaptiveRoutingReaderTest : public OneWriterTest<AdaptiveRoutingReader> {
 protected:
  static constexpr ProgramStage kRead = ProgramStage::kReadTables;

  AdaptiveRoutingReaderTest() {
    for (size_t i : {0, 1}) {
      wire::NodeInfo info = fabric_.builder.node(fabric_.switches[i])->info;
      info.vendor_id = 0x2C9;
      info.device_id = 0xD2F0;
      fabric_.builder.PutNode(info);
      EditSwitch(i, [](wire::SwitchInfo& edited) { edited.linear_fdb_top = 10; });
    }
  }
  static wire::GeneralInfo Capable() {
    wire::GeneralInfo info;
    info.capabilities = {wire::GeneralInfo::Capability::kAdaptiveRoutingRev1};
    return info;
  }
  AdaptiveRouting::State StateOf(size_t at) {
    return applied().adaptive_routing().Of(fabric_.switches[at]);
  }
  static bool Is(const Request& request, Work work) { return request.item.work == work; }
};

TEST_F(AdaptiveRoutingReaderTest, AsksCapableSwitchesAndDistrustsTheTablesOfThoseWhereItIsOn) {
  auto asked = List(kRead);
  ASSERT_EQ(asked.size(), 2u);
  for (const Request& each : asked) {
    EXPECT_TRUE(Is(each, Work::kReadCapabilities));
    EXPECT_TRUE(each.smp.may_be_unknown);
  }
  EXPECT_EQ(asked[0].smp.modifier, wire::GeneralInfo::kModifier);
  Reply(asked[0], AnswerWith(asked[0], Capable()));
  Reply(asked[1], AnswerWith(asked[1], wire::GeneralInfo()));
  asked = Take(*writer_);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_TRUE(Is(asked[0], Work::kReadAdaptiveRouting));
  Reply(asked[0], AnswerWith(asked[0], wire::ArInfo{.enabled = true}));
  EXPECT_EQ(StateOf(0), AdaptiveRouting::State::kOn);
  EXPECT_EQ(StateOf(1), AdaptiveRouting::State::kNone);
  EXPECT_THAT(applied().adaptive_routing().On(), ElementsAre(fabric_.switches[0]));
  EXPECT_TRUE(applied().Lft(fabric_.switches[0]).IsDistrusted(0));
  EXPECT_FALSE(applied().Lft(fabric_.switches[1]).IsDistrusted(0));

  asked = List(kRead);
  ASSERT_EQ(asked.size(), 1u) << "the other has answered";
  Reply(asked[0], AnswerWith(asked[0], wire::ArInfo()));
  EXPECT_EQ(StateOf(0), AdaptiveRouting::State::kNone);
  EXPECT_THAT(List(kRead), IsEmpty());
}

TEST_F(AdaptiveRoutingReaderTest, AsksNeitherFreshSwitchesNorThoseThatMayNotKnowTheAttribute) {
  EditSwitch(0, [](wire::SwitchInfo& edited) { edited.linear_fdb_top = 0; });
  wire::NodeInfo info = fabric_.builder.node(fabric_.switches[1])->info;
  info.vendor_id = 0x1234;
  fabric_.builder.PutNode(info);
  EXPECT_THAT(List(kRead), IsEmpty());
  info.vendor_id = 0x2C9;
  info.device_id = 0xBD36;  // InfiniScale IV.
  fabric_.builder.PutNode(info);
  EXPECT_THAT(List(kRead), IsEmpty());
}

TEST_F(AdaptiveRoutingReaderTest, ASwitchWithoutAResponseIsNotAskedAgain) {
  auto asked = List(kRead);
  Reply(asked[0], Timeout(asked[0]));
  Reply(asked[1], Refusal(asked[1], wire::kStatusUnsupportedMethodAttribute));
  EXPECT_THAT(List(kRead), IsEmpty());
  EXPECT_THAT(Problems(), IsEmpty());
}

TEST_F(AdaptiveRoutingReaderTest, ARunOfTreesAloneReadsNothing) {
  input_.trees_only = true;
  EXPECT_THAT(List(kRead), IsEmpty());
}

}  // namespace
}  // namespace fabricd::sweep
