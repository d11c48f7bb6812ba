// SPDX-License-Identifier: Apache-2.0
#include "mad/read_only_transport.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mad/wire/sm_info.h"
#include "mad/wire/smp.h"

namespace fabricd::mad {
namespace {

using wire::ManagementClass;
using wire::Method;

OutgoingMad Mad(ManagementClass management_class, Method method,
                wire::AttributeId attribute = wire::AttributeId::kPortInfo) {
  OutgoingMad mad;
  mad.payload.resize(wire::kMadBytes);
  wire::MadHeader header;
  header.management_class = management_class;
  header.method = method;
  header.attribute = attribute;
  header.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  return mad;
}

OutgoingMad SmInfoResponse(wire::SmState state) {
  wire::Smp smp;
  smp.method = Method::kGetResp;
  smp.attribute = wire::AttributeId::kSmInfo;
  wire::SmInfo info;
  info.state = state;
  info.Encode(smp.data);
  OutgoingMad mad;
  mad.payload.resize(wire::kMadBytes);
  smp.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  return mad;
}

constexpr ManagementClass kClasses[] = {
    ManagementClass::kSubnLidRouted, ManagementClass::kSubnDirectedRoute, ManagementClass::kSubnAdm,
    ManagementClass::kPerf, ManagementClass::kVendor};
constexpr Method kOthers[] = {Method::kSet,        Method::kSend,         Method::kTrap,
                              Method::kReport,     Method::kTrapRepress,  Method::kGetTable,
                              Method::kGetMulti,   Method::kDelete,       Method::kGetResp,
                              Method::kReportResp, Method::kGetTableResp, Method::kDeleteResp};

class Inner final : public Transport {
 public:
  absl::Status Start(Sink given) override {
    sink = std::move(given);
    return absl::OkStatus();
  }
  void Stop() override {}
  absl::Status Send(const OutgoingMad&) override {
    ++sent;
    return absl::OkStatus();
  }
  absl::Status SetIsSm(bool is_sm) override {
    is_sm_set |= is_sm;
    return absl::OkStatus();
  }
  absl::Status PortStatus() const override { return loss; }
  LocalPort local_port() const override { return {}; }
  Sink sink;
  absl::Status loss;
  int sent = 0;
  bool is_sm_set = false;
};

TEST(ReadOnly, GetsMayBeSentButThoseOfSubnetAdministration) {
  for (const SmMode mode : {SmMode::kObserve, SmMode::kStandby})
    for (const ManagementClass each : kClasses) {
      const std::string fault = ReadOnlyFault(Mad(each, Method::kGet), mode);
      EXPECT_EQ(fault.empty(), each != ManagementClass::kSubnAdm) << fault;
    }
}

TEST(ReadOnly, NoOtherMethodOfAnyClassMayBeSent) {
  for (const SmMode mode : {SmMode::kObserve, SmMode::kStandby})
    for (const ManagementClass each : kClasses)
      for (const Method method : kOthers)
        EXPECT_NE(ReadOnlyFault(Mad(each, method), mode), "")
            << wire::MethodName(method) << " of " << static_cast<int>(each);
}

TEST(ReadOnly, OnlyAStandbyAnswersForSmInfoAndOnlyThatItIsNotActive) {
  EXPECT_EQ(ReadOnlyFault(SmInfoResponse(wire::SmState::kNotActive), SmMode::kStandby), "");
  EXPECT_NE(ReadOnlyFault(SmInfoResponse(wire::SmState::kNotActive), SmMode::kObserve), "");
  for (const auto state :
       {wire::SmState::kDiscovering, wire::SmState::kStandby, wire::SmState::kMaster})
    EXPECT_NE(ReadOnlyFault(SmInfoResponse(state), SmMode::kStandby), "");
}

TEST(ReadOnly, AManagerMaySendAnything) {
  for (const ManagementClass each : kClasses)
    for (const Method method : kOthers)
      EXPECT_EQ(ReadOnlyFault(Mad(each, method), SmMode::kManage), "");
}

TEST(ReadOnlyTransport, PassesOnGets) {
  Inner wire;
  ReadOnlyTransport transport(wire, SmMode::kObserve);
  EXPECT_TRUE(transport.Send(Mad(ManagementClass::kPerf, Method::kGet)).ok());
  EXPECT_TRUE(transport.SetIsSm(false).ok());
  EXPECT_EQ(wire.sent, 1);
}

// A waiting fabricd keeps a port open that was registered for a manager.
TEST(ReadOnlyTransport, DeliversOnlyTheRequestsOfItsMode) {
  const auto arriving = [](Agent agent, ManagementClass management_class, Method method) {
    IncomingMad mad;
    mad.agent = agent;
    mad.payload = Mad(management_class, method).payload;
    return Incoming(std::move(mad));
  };
  const auto all = [&] {
    std::vector<Incoming> burst;
    burst.push_back(arriving(Agent::kSmpLid, ManagementClass::kSubnLidRouted, Method::kTrap));
    burst.push_back(arriving(Agent::kSmpLid, ManagementClass::kSubnLidRouted, Method::kGet));
    burst.push_back(arriving(Agent::kSubnAdm, ManagementClass::kSubnAdm, Method::kGet));
    burst.push_back(arriving(Agent::kPerf, ManagementClass::kPerf, Method::kGetResp));
    burst.push_back(LocalPortEvent{});
    return burst;
  };
  const auto delivered = [&](SmMode mode, std::vector<Incoming> burst) {
    Inner wire;
    ReadOnlyTransport transport(wire, mode);
    size_t count = 0;
    EXPECT_TRUE(transport.Start([&](std::span<Incoming> some) { count += some.size(); }).ok());
    wire.sink(burst);
    return count;
  };
  EXPECT_EQ(delivered(SmMode::kStandby, all()), 3u);
  EXPECT_EQ(delivered(SmMode::kObserve, all()), 2u);
}

TEST(ReadOnlyTransport, ABurstOfWhichNothingIsLeftIsNotDelivered) {
  Inner wire;
  ReadOnlyTransport transport(wire, SmMode::kObserve);
  int calls = 0;
  ASSERT_TRUE(transport.Start([&](std::span<Incoming>) { ++calls; }).ok());
  IncomingMad trap;
  trap.payload = Mad(ManagementClass::kSubnLidRouted, Method::kTrap).payload;
  Incoming burst[] = {trap};
  wire.sink(burst);
  EXPECT_EQ(calls, 0);
}

TEST(ReadOnlyTransport, ALostPortIsReported) {
  Inner wire;
  ReadOnlyTransport transport(wire, SmMode::kObserve);
  EXPECT_TRUE(transport.PortStatus().ok());
  wire.loss = absl::UnavailableError("gone");
  EXPECT_EQ(transport.PortStatus(), wire.loss);
}

TEST(ReadOnlyTransportDeathTest, EndsTheProcessBeforeASet) {
  Inner wire;
  ReadOnlyTransport transport(wire, SmMode::kObserve);
  EXPECT_DEATH((void)transport.Send(Mad(ManagementClass::kSubnDirectedRoute, Method::kSet)),
               "Set PortInfo of class 0x81 in observe mode");
  EXPECT_DEATH((void)transport.Send(Mad(ManagementClass::kSubnLidRouted, Method::kTrapRepress)),
               "in observe mode");
  EXPECT_DEATH((void)transport.Send(OutgoingMad{}), "a MAD of 0 bytes in observe mode");
}

TEST(ReadOnlyTransportDeathTest, OnlyAStandbySetsIsSm) {
  Inner wire;
  ReadOnlyTransport observer(wire, SmMode::kObserve);
  EXPECT_DEATH((void)observer.SetIsSm(true), "IsSM in observe mode");
  ReadOnlyTransport standby(wire, SmMode::kStandby);
  EXPECT_TRUE(standby.SetIsSm(true).ok());
  EXPECT_TRUE(wire.is_sm_set);
}

}  // namespace
}  // namespace fabricd::mad
