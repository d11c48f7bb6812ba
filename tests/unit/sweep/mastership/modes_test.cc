// SPDX-License-Identifier: Apache-2.0
// An SM that only reads (common/sm_mode.h), beside others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/sm_mode.h"
#include "sweep/mastership/mastership.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using wire::SmControl;
using wire::SmState;
using Kind = Mastership::Order::Kind;

constexpr Instant kNow{std::chrono::seconds(1)};

class Reader {
 public:
  explicit Reader(SmMode mode) {
    options_.sm.mode = mode;
    options_.sm.priority = 15;
    local_.port_guid = Guid(0x1001);
    for (NodeIndex node : fabric_.hosts) devices_.SetPath(node, wire::DirectedPath());
    sm.Start();
  }
  Kind Discover(SmState of_other) {
    return sm
        .OnDiscovered(fabric_.builder.Build(), {{fabric_.Host(0), Guid(0x1000), 0, of_other, 0}},
                      {}, kNow)
        .kind;
  }
  // The responses to a Get, or to a Set of this control.
  std::vector<wire::Smp> Ask(std::optional<SmControl> control) {
    wire::Smp request;
    request.method = control ? wire::Method::kSet : wire::Method::kGet;
    request.attribute = wire::AttributeId::kSmInfo;
    request.modifier = control ? static_cast<uint32_t>(*control) : 0;
    request.path = wire::DirectedPath();
    wire::SmInfo info;
    info.guid = Guid(0x1000);
    info.sm_key = options_.sm.sm_key;
    info.Encode(request.data);
    mad::IncomingMad mad;
    mad.payload.resize(wire::kMadBytes);
    request.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
    std::vector<mad::OutgoingMad> sent;
    EXPECT_EQ(sm.OnRequest(mad, request, kNow, sent).kind, Kind::kNothing);
    std::vector<wire::Smp> responses;
    for (const mad::OutgoingMad& each : sent)
      responses.push_back(*wire::Smp::Decode(mad::WholeMad(each.payload)));
    return responses;
  }
  absl::StatusCode CodeOf(const auto& command) {
    effects_.finished.clear();
    EXPECT_EQ(sm.On(command).kind, Kind::kNothing);
    EXPECT_THAT(effects_.finished, SizeIs(1));
    return effects_.finished.front().status.code();
  }

 private:
  SmallFabric fabric_{3};
  CoreOptions options_;
  mad::LocalPort local_;
  DeviceTable devices_{options_.sm};
  mad::TransactionEngine engine_{options_.smp};
  Effects effects_;
  OpenQuestions questions_{effects_.questions};

 public:
  Mastership sm{options_, local_, devices_, engine_, questions_, effects_};
};

TEST(Modes, AreNamedAndReadByTheirNames) {
  for (const SmMode mode : {SmMode::kManage, SmMode::kStandby, SmMode::kObserve})
    EXPECT_EQ(ParseSmMode(SmModeName(mode)), mode);
  EXPECT_EQ(ParseSmMode("master"), std::nullopt);
  EXPECT_EQ(ParseSmMode(""), std::nullopt);
}

// Neither a lower master, nor a standby, nor none at all makes it one.
TEST(Modes, AReaderStaysNotActiveBesideAnyOtherSm) {
  for (const SmMode mode : {SmMode::kStandby, SmMode::kObserve}) {
    Reader reader(mode);
    for (const SmState other :
         {SmState::kMaster, SmState::kStandby, SmState::kDiscovering, SmState::kNotActive}) {
      EXPECT_EQ(reader.Discover(other), Kind::kOnlyRead);
      EXPECT_EQ(reader.sm.state(), SmState::kNotActive);
    }
    EXPECT_TRUE(reader.sm.MaySweep());
    EXPECT_FALSE(reader.sm.IsMaster());
  }
}

TEST(Modes, AStandbyShowsNotActiveAndFollowsNoControl) {
  Reader reader(SmMode::kStandby);
  const auto shown = reader.Ask(std::nullopt);
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_EQ(shown[0].status, wire::kStatusOk);
  EXPECT_EQ(wire::SmInfo::Decode(shown[0].data).state, SmState::kNotActive);
  for (const SmControl control : {SmControl::kHandover, SmControl::kAcknowledge,
                                  SmControl::kDisable, SmControl::kStandby, SmControl::kDiscover}) {
    const auto refused = reader.Ask(control);
    ASSERT_THAT(refused, SizeIs(1));
    EXPECT_EQ(refused[0].status, wire::kStatusInvalidAttributeValue);
    EXPECT_EQ(wire::SmInfo::Decode(refused[0].data).state, SmState::kNotActive);
    EXPECT_EQ(reader.sm.state(), SmState::kNotActive);
  }
}

TEST(Modes, AnObserverAnswersNoRequest) {
  Reader reader(SmMode::kObserve);
  EXPECT_THAT(reader.Ask(std::nullopt), IsEmpty());
  EXPECT_THAT(reader.Ask(SmControl::kHandover), IsEmpty());
}

TEST(Modes, AReaderTakesNoCommandAboutMastership) {
  Reader reader(SmMode::kObserve);
  const uint8_t priority = reader.sm.priority();
  EXPECT_EQ(reader.CodeOf(SetPriority{7, 9, false}), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(reader.CodeOf(StepDown{8}), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(reader.sm.priority(), priority);
}

}  // namespace
}  // namespace fabricd::sweep
