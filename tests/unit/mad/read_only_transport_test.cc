// SPDX-License-Identifier: Apache-2.0
#include "mad/read_only_transport.h"

#include <memory>
#include <utility>

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
  absl::Status Start(Sink) override { return absl::OkStatus(); }
  void Stop() override {}
  absl::Status Send(const OutgoingMad&) override {
    ++sent;
    return absl::OkStatus();
  }
  absl::Status SetIsSm(bool is_sm) override {
    is_sm_set |= is_sm;
    return absl::OkStatus();
  }
  LocalPort local_port() const override { return {}; }
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
  auto inner = std::make_unique<Inner>();
  const Inner& wire = *inner;
  ReadOnlyTransport transport(std::move(inner), SmMode::kObserve);
  EXPECT_TRUE(transport.Send(Mad(ManagementClass::kPerf, Method::kGet)).ok());
  EXPECT_TRUE(transport.SetIsSm(false).ok());
  EXPECT_EQ(wire.sent, 1);
}

TEST(ReadOnlyTransportDeathTest, EndsTheProcessBeforeASet) {
  ReadOnlyTransport transport(std::make_unique<Inner>(), SmMode::kObserve);
  EXPECT_DEATH((void)transport.Send(Mad(ManagementClass::kSubnDirectedRoute, Method::kSet)),
               "Set PortInfo of class 0x81 in observe mode");
  EXPECT_DEATH((void)transport.Send(Mad(ManagementClass::kSubnLidRouted, Method::kTrapRepress)),
               "in observe mode");
  EXPECT_DEATH((void)transport.Send(OutgoingMad{}), "a MAD of 0 bytes in observe mode");
}

TEST(ReadOnlyTransportDeathTest, OnlyAStandbySetsIsSm) {
  ReadOnlyTransport observer(std::make_unique<Inner>(), SmMode::kObserve);
  EXPECT_DEATH((void)observer.SetIsSm(true), "IsSM in observe mode");
  auto inner = std::make_unique<Inner>();
  const Inner& wire = *inner;
  ReadOnlyTransport standby(std::move(inner), SmMode::kStandby);
  EXPECT_TRUE(standby.SetIsSm(true).ok());
  EXPECT_TRUE(wire.is_sm_set);
}

}  // namespace
}  // namespace fabricd::mad
