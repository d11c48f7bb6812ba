// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/lane_reader.h"

#include "tests/unit/sweep/observe/observe_fixture.h"

namespace fabricd::sweep {
namespace {

using testing::Each;
using testing::IsEmpty;
using testing::StartsWith;

class VlReaderTest : public ObserveTest {
 protected:
  VlReaderTest() { Discover(); }
  void Read(std::vector<NodeIndex> nodes) {
    wire_.sent.clear();
    reader_.emplace(builder_.Build(), std::move(nodes), devices_, engine_, 5);
    wire_.Run([&] { reader_->Feed(); },
              [&](const mad::Completion& each) {
                EXPECT_TRUE(reader_->IsMine(each));
                reader_->OnCompletion(each);
              });
    EXPECT_TRUE(reader_->done());
  }
  AppliedVls& vls() { return devices_.applied().vls(); }
  bool WasRead(uint64_t guid) { return vls().WasRead(Known(guid)); }

  std::optional<LaneReader> reader_;
};

TEST_F(VlReaderTest, ReadsAllTablesOfANodeByGets) {
  wire::SlToVlMappingTable map;
  map.vl[1] = 3;
  wire_.registers.Put(truth_.hosts[1], 0, map);
  Read({Known(0x101)});
  EXPECT_EQ(wire_.CountOf("Get VLArbitrationTable"), 4u);
  EXPECT_EQ(wire_.CountOf("Get SLtoVLMappingTable 0x0 of 0x101"), 1u);
  EXPECT_THAT(wire_.Texts(), Each(StartsWith("Get ")));
  EXPECT_TRUE(WasRead(0x101));
  const auto* bytes = vls().Find({KnownPort(0x101, 1), VlTable::Kind::kMap, 0});
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(wire::SlToVlMappingTable::Decode(*bytes), map);
  Read({Known(0x101)});
  EXPECT_THAT(wire_.sent, IsEmpty()) << "all is known";
}

TEST_F(VlReaderTest, MappingsOfASwitchAreThoseOfAllPairsOfPorts) {
  Read({Known(0x10)});
  EXPECT_TRUE(WasRead(0x10));
  EXPECT_EQ(wire_.CountOf("Get SLtoVLMappingTable"), 37u * 37u);
  EXPECT_EQ(wire_.CountOf("Get VLArbitrationTable"), 4u * 37u);
}

TEST_F(VlReaderTest, ATableThatIsRefusedIsEmptyWhereItIsOptionalAndElseNotRead) {
  wire_.react = [](const Sent& sent) {
    return Reaction{.status = sent.smp.attribute == wire::AttributeId::kVlArbitrationTable
                                  ? uint16_t{0xC}
                                  : uint16_t{0}};
  };
  Read({Known(0x101)});
  const PortRef port = KnownPort(0x101, 1);
  EXPECT_EQ(vls().Find({port, VlTable::Kind::kArbitration, kLowArbitrationBlock}), nullptr);
  EXPECT_NE(vls().Find({port, VlTable::Kind::kArbitration, 2}), nullptr);
  EXPECT_TRUE(WasRead(0x101)) << "it has answered everything";
}

TEST_F(VlReaderTest, ANodeThatLeavesOneUnansweredIsNotMarkedAsRead) {
  wire_.react = [](const Sent& sent) {
    return Reaction{.is_lost = sent.text == "Get SLtoVLMappingTable 0x0 of 0x101"};
  };
  Read({Known(0x103), Known(0x101)});
  EXPECT_FALSE(WasRead(0x101));
  EXPECT_TRUE(WasRead(0x103));
}

TEST_F(VlReaderTest, NodesThatAreGoneAreSkipped) {
  const NodeIndex gone = Known(0x101);
  reader_.emplace(builder_.Build(), std::vector<NodeIndex>{gone, NodeIndex(99)}, devices_, engine_,
                  5);
  devices_.Remove(gone);
  reader_->Feed();
  EXPECT_TRUE(reader_->done());
  EXPECT_EQ(engine_.size(), 0u);
  mad::Completion other;
  other.context.run = 4;
  EXPECT_FALSE(reader_->IsMine(other));
  EXPECT_THAT(reader_->nodes(), testing::SizeIs(2));
}

}  // namespace
}  // namespace fabricd::sweep
