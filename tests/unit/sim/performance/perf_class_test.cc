// SPDX-License-Identifier: Apache-2.0
// Counters of simulated devices as a program reads them over the fabric (IBA vol 1 §16.1).
#include <gtest/gtest.h>

#include "tests/unit/sim/performance/gmp_client.h"

namespace fabricd::sim {
namespace {

using std::chrono::milliseconds;
using wire::Method;
using wire::PortCounters;
using wire::PortCountersExtended;
using wire::PortRcvErrorDetails;
using wire::PortXmitDiscardDetails;

class PerfClassTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(gmp.up); }
  void TearDown() override { EXPECT_TRUE(gmp.up); }

  GmpFabric gmp;
  PortRef leaf = gmp.Port("su1-rail0-leaf", 2);
  PortRef hca = gmp.Port("node0002 mlx5_0", 1);
};

TEST_F(PerfClassTest, CountersOfSwitchesAndAdaptersTravelByLid) {
  gmp.Count(leaf, Counter::kSymbolErrors, 7);
  gmp.Count(leaf, Counter::kXmitData, uint64_t{1} << 40);
  gmp.Count(hca, Counter::kRcvErrors, 9);
  const auto of_leaf = gmp.Get<PortCountersExtended>(leaf);
  ASSERT_TRUE(of_leaf);
  EXPECT_EQ(of_leaf->port_select, 2);
  EXPECT_EQ(of_leaf->symbol_error, 7u);
  EXPECT_EQ(of_leaf->xmit_data, uint64_t{1} << 40);
  EXPECT_EQ(of_leaf->rcv_errors, 0u);
  const auto of_hca = gmp.Get<PortCounters>(hca);
  ASSERT_TRUE(of_hca);
  EXPECT_EQ(of_hca->rcv_errors, 9);
  EXPECT_EQ(gmp.Get<PortCounters>({leaf.node, PortNum(3)})->symbol_error, 0);
}

TEST_F(PerfClassTest, TheProgramsOwnPortAnswersItself) {
  gmp.Count(gmp.host, Counter::kRcvErrors, 4);
  const auto counters = gmp.Get<PortCounters>(gmp.host);
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->rcv_errors, 4);
}

TEST_F(PerfClassTest, ClassicCountersStickAtTheirWidth) {
  gmp.Count(leaf, Counter::kSymbolErrors, 70000);
  gmp.Count(leaf, Counter::kLinkDowned, 300);
  gmp.Count(leaf, Counter::kLocalLinkIntegrityErrors, 16);
  gmp.Count(leaf, Counter::kXmitWait, uint64_t{1} << 33);
  const auto classic = gmp.Get<PortCounters>(leaf);
  ASSERT_TRUE(classic);
  EXPECT_EQ(classic->symbol_error, 65535);
  EXPECT_EQ(classic->link_downed, 255);
  EXPECT_EQ(classic->local_link_integrity_errors, 15);
  EXPECT_EQ(classic->xmit_wait, 4294967295u);
  EXPECT_EQ(gmp.Get<PortCountersExtended>(leaf)->symbol_error, 70000u);
}

TEST_F(PerfClassTest, ASetClearsTheSelectedCounters) {
  gmp.Count(leaf, Counter::kSymbolErrors, 5);
  gmp.Count(leaf, Counter::kRcvErrors, 6);
  gmp.Count(leaf, Counter::kXmitWait, 7);
  PortCounters clear;
  clear.port_select = 2;
  clear.counter_select = PortCounters::kSelectSymbolError;
  clear.counter_select2 = PortCounters::kSelect2XmitWait;
  const auto answer = gmp.Send(leaf.node, Method::kSet, clear);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, wire::kStatusOk);
  EXPECT_EQ(answer->method, Method::kGetResp);
  EXPECT_EQ(PortCounters::Decode(answer->data).symbol_error, 0);
  const auto classic = gmp.Get<PortCounters>(leaf);
  EXPECT_EQ(classic->symbol_error, 0);
  EXPECT_EQ(classic->xmit_wait, 0u);
  EXPECT_EQ(classic->rcv_errors, 6);
  EXPECT_EQ(gmp.Get<PortCountersExtended>(leaf)->symbol_error, 5u);

  PortCountersExtended clear_extended;
  clear_extended.port_select = 2;
  clear_extended.counter_select2 = 1u << 3;  // PortRcvErrors: fourth of the errors.
  ASSERT_TRUE(gmp.Send(leaf.node, Method::kSet, clear_extended));
  const auto extended = gmp.Get<PortCountersExtended>(leaf);
  EXPECT_EQ(extended->rcv_errors, 0u);
  EXPECT_EQ(extended->symbol_error, 5u);
  EXPECT_EQ(gmp.Get<PortCounters>(leaf)->rcv_errors, 6);
}

TEST_F(PerfClassTest, SharedClearClearsBoth) {
  gmp.Quirks(leaf, "shared_clear");
  gmp.Count(leaf, Counter::kSymbolErrors, 5);
  gmp.Count(leaf, Counter::kRcvErrors, 6);
  PortCounters clear;
  clear.port_select = 2;
  clear.counter_select = PortCounters::kSelectSymbolError;
  ASSERT_TRUE(gmp.Send(leaf.node, Method::kSet, clear));
  const auto extended = gmp.Get<PortCountersExtended>(leaf);
  EXPECT_EQ(extended->symbol_error, 0u);
  EXPECT_EQ(extended->rcv_errors, 6u);
}

TEST_F(PerfClassTest, AllPortsOfASwitchAddUp) {
  gmp.Count(leaf, Counter::kRcvErrors, 5);
  gmp.Count({leaf.node, PortNum(3)}, Counter::kRcvErrors, 65533);
  const PortRef all{leaf.node, PortNum(wire::kAllPortSelect)};
  EXPECT_EQ(gmp.Get<PortCounters>(all)->rcv_errors, 65535);
  EXPECT_EQ(gmp.Get<PortCountersExtended>(all)->rcv_errors, 65538u);
  PortCounters clear;
  clear.port_select = wire::kAllPortSelect;
  clear.counter_select = 0xFFFF;
  ASSERT_TRUE(gmp.Send(leaf.node, Method::kSet, clear));
  EXPECT_EQ(gmp.Get<PortCounters>({leaf.node, PortNum(3)})->rcv_errors, 0);
  EXPECT_FALSE(gmp.Get<PortCounters>({hca.node, PortNum(wire::kAllPortSelect)}));
  EXPECT_EQ(gmp.status, wire::kStatusInvalidAttributeValue);
}

TEST_F(PerfClassTest, RefusesPortsThatAreNotThere) {
  EXPECT_FALSE(gmp.Get<PortCounters>({leaf.node, PortNum(99)}));
  EXPECT_EQ(gmp.status, wire::kStatusInvalidAttributeValue);
  EXPECT_FALSE(gmp.Get<PortCounters>({hca.node, PortNum(0)}));
  EXPECT_EQ(gmp.status, wire::kStatusInvalidAttributeValue);
  EXPECT_TRUE(gmp.Get<PortCounters>({leaf.node, PortNum(0)}));
}

TEST_F(PerfClassTest, FamiliesDifferInTheirAttributesAndCounters) {
  const auto of_switch = gmp.GetClassPortInfo(leaf.node);
  ASSERT_TRUE(of_switch);
  EXPECT_NE(of_switch->capability_mask & wire::kPerfAllPortSelect, 0);
  EXPECT_NE(of_switch->capability_mask & wire::kPerfExtendedWidth, 0);
  EXPECT_NE(of_switch->capability_mask2 & wire::kPerf2ExtendedErrors, 0u);
  EXPECT_FALSE(of_switch->IsRedirected());

  // ConnectX-7 has the field and leaves it 0.
  gmp.Count(hca, Counter::kSymbolErrors, 3);
  gmp.Count(hca, Counter::kUnintentionalDowns, 2);
  gmp.Count(hca, Counter::kXmitWait, 5);
  const auto of_hca = gmp.Get<PortCountersExtended>(hca);
  EXPECT_EQ(of_hca->symbol_error, 0u);
  EXPECT_EQ(of_hca->link_downed, 0u);
  EXPECT_EQ(of_hca->xmit_wait, 5u);
  const auto classic = gmp.Get<PortCounters>(hca);
  EXPECT_EQ(classic->symbol_error, 3);
  EXPECT_EQ(classic->link_downed, 2);

  gmp.Quirks(leaf, "plain");
  gmp.Count(leaf, Counter::kRcvErrors, 3);
  gmp.Count(leaf, Counter::kRcvData, 8);
  EXPECT_EQ(gmp.GetClassPortInfo(leaf.node)->capability_mask2, 0u);
  EXPECT_EQ(gmp.Get<PortCountersExtended>(leaf)->rcv_errors, 0u);
  EXPECT_EQ(gmp.Get<PortCountersExtended>(leaf)->rcv_data, 8u);
}

TEST_F(PerfClassTest, DetailsSplitErrorsAndDiscards) {
  gmp.Count(leaf, Counter::kRcvBufferOverrunErrors, 2);
  gmp.Count(leaf, Counter::kXmitSwHoqLifetimeDiscards, 70000);
  EXPECT_EQ(gmp.Get<PortRcvErrorDetails>(leaf)->buffer_overrun_errors, 2);
  EXPECT_EQ(gmp.Get<PortXmitDiscardDetails>(leaf)->sw_hoq_lifetime_limit_discards, 65535);
  EXPECT_EQ(gmp.Get<PortCounters>(leaf)->rcv_errors, 2);
  gmp.Quirks(leaf, "sentinels");
  EXPECT_EQ(gmp.Get<PortRcvErrorDetails>(leaf)->looping_errors, 0xFFFF);
  EXPECT_EQ(gmp.Get<PortXmitDiscardDetails>(leaf)->inactive_discards, 0xFFFF);
}

TEST_F(PerfClassTest, UnderflowReturnsAValueBelowZero) {
  gmp.Quirks(hca, "underflow");
  EXPECT_EQ(static_cast<int64_t>(gmp.Get<PortCountersExtended>(hca)->rcv_errors), -40);
  gmp.Count(hca, Counter::kRcvErrors, 41);
  EXPECT_EQ(gmp.Get<PortCountersExtended>(hca)->rcv_errors, 1u);
}

TEST_F(PerfClassTest, QuirksMakeAttributesUnsupported) {
  EXPECT_EQ(gmp.Get<wire::PortSamplesControl>(leaf)->tick, PerformanceAgent::kTick);
  gmp.Quirks(leaf, "no_extended");
  EXPECT_EQ(gmp.GetClassPortInfo(leaf.node)->capability_mask & wire::kPerfExtendedWidth, 0);
  EXPECT_FALSE(gmp.Get<PortCountersExtended>(leaf));
  EXPECT_EQ(gmp.status, wire::kStatusUnsupportedMethodAttribute);
  EXPECT_TRUE(gmp.Get<PortRcvErrorDetails>(leaf));
  gmp.Quirks(leaf, "classic_only");
  EXPECT_TRUE(gmp.Get<PortCounters>(leaf));
  EXPECT_FALSE(gmp.Get<PortRcvErrorDetails>(leaf));
  EXPECT_FALSE(gmp.Get<wire::PortSamplesControl>(leaf));
  gmp.Quirks(leaf, "no_tick");
  EXPECT_FALSE(gmp.Get<wire::PortSamplesControl>(leaf));
  EXPECT_EQ(gmp.status, 0xFFFF);  // No answer at all.
  EXPECT_TRUE(gmp.Get<PortCounters>(leaf));
}

TEST_F(PerfClassTest, UnresponsiveAndRefusingAgents) {
  gmp.Quirks(leaf, "unresponsive");
  EXPECT_FALSE(gmp.Get<PortCounters>(leaf));
  EXPECT_EQ(gmp.status, 0xFFFF);
  EXPECT_EQ(gmp.fabric.stats().gmps_dropped, 1u);
  gmp.Quirks(leaf, "refusing_pma");
  EXPECT_FALSE(gmp.Get<PortCounters>(leaf));
  EXPECT_EQ(gmp.status, wire::kStatusUnsupportedMethodAttribute);
}

TEST_F(PerfClassTest, RedirectionLeadsToAnotherQueuePair) {
  gmp.Quirks(leaf, "redirect");
  gmp.Count(leaf, Counter::kRcvErrors, 6);
  const auto info = gmp.GetClassPortInfo(leaf.node);
  ASSERT_TRUE(info);
  EXPECT_EQ(gmp.status, wire::kStatusRedirect);
  ASSERT_TRUE(info->IsRedirected());
  EXPECT_EQ(info->redirect.lid, gmp.LidOf(leaf.node));
  EXPECT_FALSE(gmp.Get<PortCounters>(leaf));
  EXPECT_EQ(gmp.status, wire::kStatusRedirect);

  wire::PerfMad get;
  get.attribute = wire::PerfAttribute::kPortCounters;
  get.data[1] = 2;
  get.transaction_id = 77;
  mad::OutgoingMad mad = EncodePerf(get, info->redirect.lid, kTestTimeout);
  mad.to.qpn = info->redirect.qpn;
  mad.to.qkey = info->redirect.q_key;
  const auto answer = gmp.Exchange(mad);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->from.qpn, info->redirect.qpn);
  EXPECT_EQ(PortCounters::Decode(wire::PerfMad::Decode(BytesOf(*answer))->data).rcv_errors, 6);
  // A device that does not redirect has no such QP, and no QP takes another Q_Key.
  mad.to.lid = gmp.LidOf(hca.node);
  EXPECT_FALSE(gmp.Exchange(mad));
  mad.to.qpn = 1;
  mad.to.qkey = 0;
  EXPECT_FALSE(gmp.Exchange(mad));
}

TEST_F(PerfClassTest, SlowAgentsAnswerLateAndInOrder) {
  gmp.Quirks(leaf, "slow=30");
  const Instant sent = gmp.client.now;
  for (uint32_t tid : {1u, 2u}) {
    wire::PerfMad get;
    get.attribute = wire::PerfAttribute::kClassPortInfo;
    get.transaction_id = tid;
    ASSERT_TRUE(
        gmp.fabric.Send(sent, gmp.host, EncodePerf(get, gmp.LidOf(leaf.node), kTestTimeout)).ok());
  }
  std::vector<std::pair<Instant, uint32_t>> arrived;
  for (const Delivery& delivery : gmp.client.Wait(sent + milliseconds(90))) {
    const auto* mad = std::get_if<mad::IncomingMad>(&delivery.what);
    if (mad == nullptr || mad->agent != mad::Agent::kPerf) continue;
    arrived.emplace_back(delivery.at, wire::PerfMad::Decode(BytesOf(*mad))->tid().value());
  }
  const Instant late = sent + milliseconds(30);
  EXPECT_EQ(arrived, (std::vector<std::pair<Instant, uint32_t>>{{late, 1}, {late, 2}}));
}

TEST_F(PerfClassTest, ADeviceWithoutPowerAnswersNothingAndForgets) {
  gmp.Count(hca, Counter::kRcvErrors, 5);
  ASSERT_TRUE(gmp.fabric.PowerOff(gmp.client.now, hca.node).ok());
  EXPECT_FALSE(gmp.Get<PortCounters>(hca));
  EXPECT_EQ(gmp.fabric.CounterTotal(gmp.client.now, hca, Counter::kRcvErrors), 0u);
  // Its leaf saw the link go, its own port did not live to count it.
  const PortRef peer = leaf;
  const auto counters = gmp.Get<PortCounters>(peer);
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->link_downed, 1);
  EXPECT_EQ(counters->xmit_discards, 1);
  EXPECT_EQ(gmp.fabric.CounterTotal(gmp.client.now, hca, Counter::kLinkDowned), 0u);
}

TEST_F(PerfClassTest, BothEndsCountALinkThatGoesDown) {
  ASSERT_TRUE(gmp.fabric.Unlink(gmp.client.now, hca).ok());
  for (PortRef end : {leaf, hca}) {
    EXPECT_EQ(gmp.fabric.CounterTotal(gmp.client.now, end, Counter::kLinkDowned), 1u);
    EXPECT_EQ(gmp.fabric.CounterTotal(gmp.client.now, end, Counter::kUnintentionalDowns), 1u);
  }
  ASSERT_TRUE(gmp.fabric.Link(gmp.client.now, hca).ok());
  EXPECT_EQ(gmp.fabric.CounterTotal(gmp.client.now, leaf, Counter::kLinkDowned), 1u);
  // What a manager asks for is intended.
  ASSERT_TRUE(
      gmp.client
          .ChangePort({1}, 2,
                      [](wire::PortInfo& info) { info.port_state = wire::PortState::kDown; })
          .ok());
  gmp.client.Wait(gmp.client.now);
  EXPECT_EQ(gmp.fabric.CounterTotal(gmp.client.now, leaf, Counter::kIntentionalDowns), 1u);
}

TEST_F(PerfClassTest, AnotherToolClearsAllRegisters) {
  gmp.Count(leaf, Counter::kSymbolErrors, 5);
  ASSERT_TRUE(gmp.fabric.ClearCounters(gmp.client.now, leaf).ok());
  EXPECT_EQ(gmp.Get<PortCounters>(leaf)->symbol_error, 0);
  EXPECT_EQ(gmp.Get<PortCountersExtended>(leaf)->symbol_error, 0u);
  EXPECT_EQ(gmp.fabric.ClearCounters(gmp.client.now, {leaf.node, PortNum(99)}).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(PerfClassTest, BitErrorsOccurAtTheirRate) {
  // 4x NDR: 4e11 bit/s. In 1000 s 4e14 bits: 40 symbol errors on average, 4e8 raw ones.
  ASSERT_TRUE(
      gmp.fabric.SetBitErrorRates(gmp.client.now, leaf, {.raw = 1e-6, .symbol = 1e-13}).ok());
  const Instant later = gmp.client.now + std::chrono::seconds(1000);
  const uint64_t symbols = gmp.fabric.CounterTotal(later, leaf, Counter::kSymbolErrors);
  EXPECT_GE(symbols, 10u);
  EXPECT_LE(symbols, 80u);
  const uint64_t raw = gmp.fabric.CounterTotal(later, leaf, Counter::kRawErrors);
  EXPECT_GE(raw, 399'000'000u);
  EXPECT_LE(raw, 401'000'000u);
  EXPECT_EQ(gmp.fabric.CounterTotal(later, leaf, Counter::kEffectiveErrors), 0u);
  EXPECT_EQ(gmp.fabric.CounterTotal(later, hca, Counter::kSymbolErrors), 0u);
  EXPECT_EQ(gmp.fabric.SetBitErrorRates(later, leaf, {.raw = 1.5}).code(),
            absl::StatusCode::kInvalidArgument);
  // A link that is down receives nothing.
  ASSERT_TRUE(gmp.fabric.Unlink(later, leaf).ok());
  EXPECT_EQ(gmp.fabric.CounterTotal(later + std::chrono::hours(1), leaf, Counter::kSymbolErrors),
            symbols);
}

TEST_F(PerfClassTest, GmpFaultsDoNotAffectSmps) {
  MadFaults faults;
  faults.gmp_loss = 1;
  gmp.fabric.SetMadFaults(faults);
  EXPECT_FALSE(gmp.Get<PortCounters>(leaf));
  EXPECT_TRUE(gmp.client.Get({1}, wire::AttributeId::kNodeInfo).ok());
  faults.gmp_loss = 0;
  faults.gmp_delay = milliseconds(20);
  gmp.fabric.SetMadFaults(faults);
  const Instant sent = gmp.client.now;
  wire::PerfMad get;
  get.attribute = wire::PerfAttribute::kClassPortInfo;
  get.transaction_id = 5;
  ASSERT_TRUE(
      gmp.fabric.Send(sent, gmp.host, EncodePerf(get, gmp.LidOf(leaf.node), kTestTimeout)).ok());
  std::vector<Instant> arrived;
  for (const Delivery& delivery : gmp.client.Wait(sent + milliseconds(90))) {
    const auto* mad = std::get_if<mad::IncomingMad>(&delivery.what);
    if (mad != nullptr && mad->agent == mad::Agent::kPerf) arrived.push_back(delivery.at);
  }
  EXPECT_EQ(arrived, std::vector<Instant>{sent + milliseconds(40)});  // There and back.
}

TEST_F(PerfClassTest, TheFateOfSmpsDoesNotDependOnGmps) {
  MadFaults faults;
  faults.loss = 0.5;
  const auto arrived = [&](bool read_counters) {
    GmpFabric other;
    other.fabric.SetMadFaults(faults);
    std::vector<bool> answered;
    for (int i = 0; i < 40; ++i) {
      if (read_counters) other.Get<PortCounters>(leaf);
      answered.push_back(other.client.Get({1}, wire::AttributeId::kNodeInfo).ok());
    }
    return answered;
  };
  EXPECT_EQ(arrived(true), arrived(false));
}

TEST_F(PerfClassTest, DuplicatesOfGmpsAreDrawnApart) {
  MadFaults faults;
  faults.gmp_duplicate = 1;
  gmp.fabric.SetMadFaults(faults);
  gmp.fabric.ResetStats();
  EXPECT_TRUE(gmp.client.Get({1}, wire::AttributeId::kNodeInfo).ok());
  EXPECT_EQ(gmp.fabric.stats().duplicated, 0u);
  EXPECT_TRUE(gmp.Get<PortCounters>(leaf));
  EXPECT_GE(gmp.fabric.stats().duplicated, 1u);
}

TEST_F(PerfClassTest, ErrorsAreSetTogether) {
  gmp.Count(leaf, Counter::kSymbolErrors, 5);
  PortErrors errors;
  errors.clear = true;
  errors.counts = {{Counter::kRcvErrors, 3}, {Counter::kXmitWait, 4}};
  ASSERT_TRUE(gmp.fabric.SetErrors(gmp.client.now, leaf, errors).ok());
  const auto counters = gmp.Get<PortCountersExtended>(leaf);
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->symbol_error, 0u);
  EXPECT_EQ(counters->rcv_errors, 3u);
  EXPECT_EQ(counters->xmit_wait, 4u);
  errors.rates = BitErrorRates{.symbol = -1};
  EXPECT_FALSE(gmp.fabric.SetErrors(gmp.client.now, leaf, errors).ok());
  EXPECT_EQ(gmp.Get<PortCountersExtended>(leaf)->rcv_errors, 3u);
}

TEST(PerfDefaultsTest, AFabricWideDefaultHoldsForAllDevices) {
  SimOptions options;
  options.performance.With(PerformanceQuirk::kUnresponsive);
  GmpFabric gmp("superpod:sus=1,hosts=4,rails=2,radix=8", options);
  ASSERT_TRUE(gmp.up);
  const PortRef leaf = gmp.Port("su1-rail0-leaf", 2);
  EXPECT_FALSE(gmp.Get<PortCounters>(leaf));
  gmp.Quirks(leaf, "default");
  EXPECT_TRUE(gmp.Get<PortCounters>(leaf));
  EXPECT_FALSE(gmp.Get<PortCounters>(gmp.host));
  gmp.fabric.SetPerformanceOfAll(PerformanceOptions());
  EXPECT_TRUE(gmp.Get<PortCounters>(gmp.host));
}

}  // namespace
}  // namespace fabricd::sim
