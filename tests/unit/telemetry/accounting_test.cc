// SPDX-License-Identifier: Apache-2.0
#include "telemetry/accounting.h"

#include <gtest/gtest.h>

namespace fabricd::telemetry {
namespace {

constexpr ExtendedSupport kAll{.errors = true, .unicast_multicast = true};
constexpr Millis kSecond = 1000;

// 4x NDR.
PortRecord Record() {
  PortRecord record;
  record.facts = {.bytes_per_second = 50'000'000'000, .width = 4, .tick = 7, .knows_tick = true};
  return record;
}

Reading At(Millis at, Millis round_trip = 1) {
  return {.at = at, .round_trip = round_trip, .interval = 30 * kSecond};
}

TEST(AccountingTest, RatesAreDeltasOverTime) {
  PortRecord record = Record();
  wire::PortCountersExtended read;
  EnterExtended(record, read, kAll, At(kSecond));
  EXPECT_EQ(record.rates.window, 0u);
  read.xmit_data = 1'000'000'000;
  read.xmit_pkts = 1'000'000;
  EnterExtended(record, read, kAll, At(11 * kSecond));
  EXPECT_FLOAT_EQ(record.rates.xmit_bytes, 4e8F);
  EXPECT_FLOAT_EQ(record.rates.xmit_pkts, 1e5F);
  EXPECT_EQ(record.rates.window, 10 * kSecond);
}

TEST(AccountingTest, ALateResponseCountsButMakesNoRate) {
  PortRecord record = Record();
  wire::PortCountersExtended read;
  EnterExtended(record, read, kAll, At(kSecond));
  read.xmit_data = 1000;
  read.xmit_pkts = 10;
  EnterExtended(record, read, kAll, At(11 * kSecond, 8 * kSecond));
  EXPECT_EQ(record.rates.window, 0u);
  EXPECT_EQ(record.Total(Counter::kXmitData), 1000u);
}

TEST(AccountingTest, WaitIsAShareOfTheLinkRate) {
  PortRecord record = Record();
  wire::PortCountersExtended read;
  EnterExtended(record, read, kAll, At(kSecond));
  read.xmit_wait = 625'000'000;  // x 8 bytes = a tenth of 50 GB.
  EnterExtended(record, read, kAll, At(2 * kSecond));
  EXPECT_NEAR(record.wait.share, 0.1, 1e-6);
}

TEST(AccountingTest, WaitIsOfEachPhysicalLaneForDevicesThatCount32Bytes) {
  PortRecord record = Record();
  record.facts.tick = 31;
  wire::PortCountersExtended read;
  EnterExtended(record, read, kAll, At(kSecond));
  read.xmit_wait = 39'062'500;  // x 32 x 4
  EnterExtended(record, read, kAll, At(2 * kSecond));
  EXPECT_NEAR(record.wait.share, 0.1, 1e-6);
}

TEST(AccountingTest, WithoutTickThereIsNoShare) {
  PortRecord record = Record();
  record.facts.knows_tick = false;
  wire::PortCountersExtended read;
  EnterExtended(record, read, kAll, At(kSecond));
  read.xmit_wait = 625'000'000;
  EnterExtended(record, read, kAll, At(2 * kSecond));
  EXPECT_EQ(record.wait.window, 0u);
  EXPECT_EQ(record.Total(Counter::kXmitWait), 625'000'000u);
}

TEST(AccountingTest, AReadingBeyondTheLinkRateIsDropped) {
  PortRecord record = Record();
  wire::PortCountersExtended read;
  EnterExtended(record, read, kAll, At(kSecond));
  wire::PortCountersExtended odd = read;
  odd.xmit_data = 100'000'000'000;
  odd.xmit_pkts = 1'000'000'000;
  EXPECT_TRUE(EnterExtended(record, odd, kAll, At(2 * kSecond)).thrown_away);
  EXPECT_EQ(record.Total(Counter::kXmitData), 0u);
  read.xmit_data = 1000;
  read.xmit_pkts = 10;
  EXPECT_FALSE(EnterExtended(record, read, kAll, At(3 * kSecond)).thrown_away);
  EXPECT_EQ(record.Total(Counter::kXmitData), 1000u);
  EXPECT_EQ(record.bad_samples, 1u);
}

TEST(AccountingTest, AfterTwoSuchReadingsTheCountersBeginAgain) {
  PortRecord record = Record();
  wire::PortCountersExtended read;
  EnterExtended(record, read, kAll, At(kSecond));
  read.xmit_data = 1'000'000'000'000;
  EnterExtended(record, read, kAll, At(2 * kSecond));
  EXPECT_EQ(EnterExtended(record, read, kAll, At(3 * kSecond)).epoch, EpochCause::kImplausible);
  read.xmit_data += 100;
  EnterExtended(record, read, kAll, At(4 * kSecond));
  EXPECT_EQ(record.Total(Counter::kXmitData), 100u);
}

TEST(AccountingTest, ADecreaseWhereTheLinkWasDownIsARestart) {
  PortRecord record = Record();
  wire::PortCountersExtended read;
  read.rcv_errors = 5;
  EnterExtended(record, read, kAll, At(kSecond));
  record.down_at = 2 * kSecond;
  read.rcv_errors = 0;
  EXPECT_EQ(EnterExtended(record, read, kAll, At(3 * kSecond)).epoch, EpochCause::kDeviceRestart);
}

TEST(AccountingTest, ACounterAtItsMaximumIsSaturatedAndItsIncreaseALowerBound) {
  PortRecord record = Record();
  wire::PortCounters read;
  read.symbol_error = 65'000;
  read.excessive_buffer_overrun_errors = 14;
  EnterClassic(record, read, {}, At(kSecond));
  read.symbol_error = 65'535;
  read.excessive_buffer_overrun_errors = 15;
  EnterClassic(record, read, {}, At(2 * kSecond));
  EXPECT_EQ(record.Total(Counter::kSymbolErrors), 535u);
  EXPECT_TRUE(record.saturated.Has(Counter::kSymbolErrors));
  EXPECT_TRUE(record.saturated.Has(Counter::kExcessiveBufferOverrunErrors));
  EXPECT_FALSE(record.saturated.Has(Counter::kLinkDowned));
}

TEST(AccountingTest, ACounterIsSaturatedIfTheAttributeOfItsTotalIsAtItsMaximum) {
  PortRecord record = Record();
  const ClassicSupport errors_only{.xmit_wait = false};
  wire::PortCountersExtended wide;
  wire::PortCounters narrow;
  EnterExtended(record, wide, kAll, At(kSecond));
  EnterClassic(record, narrow, errors_only, At(kSecond));
  wide.link_downed = 300;
  narrow.link_downed = 255;
  narrow.symbol_error = 65'535;  // The 64-bit one stays 0.
  EnterExtended(record, wide, kAll, At(2 * kSecond));
  EnterClassic(record, narrow, errors_only, At(2 * kSecond));
  EXPECT_FALSE(record.saturated.Has(Counter::kLinkDowned));
  EXPECT_TRUE(record.saturated.Has(Counter::kSymbolErrors));
  EnterExtended(record, wide, kAll, At(3 * kSecond));
  EXPECT_FALSE(record.saturated.Has(Counter::kLinkDowned));
  EXPECT_TRUE(record.saturated.Has(Counter::kSymbolErrors));
}

TEST(AccountingTest, TwoAttributesOfOneCounterAreNotAddedUp) {
  PortRecord record = Record();
  wire::PortCountersExtended wide;
  wire::PortCounters narrow;
  EnterExtended(record, wide, kAll, At(kSecond));
  EnterClassic(record, narrow, {.xmit_wait = false}, At(kSecond));
  wide.rcv_errors = narrow.rcv_errors = 4;
  const Outcome first = EnterExtended(record, wide, kAll, At(2 * kSecond));
  const Outcome second = EnterClassic(record, narrow, {.xmit_wait = false}, At(2 * kSecond));
  EXPECT_EQ(record.Total(Counter::kRcvErrors), 4u);
  EXPECT_EQ(first.errors.size(), 1u);
  EXPECT_TRUE(second.errors.empty());
}

TEST(AccountingTest, TrafficIsNotCountedAgainWhenTheOtherAttributeTakesOver) {
  PortRecord record = Record();
  wire::PortCountersExtended wide;
  wire::PortCounters narrow;
  const ClassicSupport errors_only{.xmit_wait = false};
  const ClassicSupport all{.traffic = true};
  EnterExtended(record, wide, kAll, At(kSecond));
  EnterClassic(record, narrow, errors_only, At(kSecond));
  wide.xmit_data = narrow.xmit_data = 700;
  EnterExtended(record, wide, kAll, At(2 * kSecond));
  EnterClassic(record, narrow, all, At(3 * kSecond));  // The device refuses the other by now.
  EXPECT_EQ(record.Total(Counter::kXmitData), 700u);
  wide.xmit_data = narrow.xmit_data = 800;
  EnterClassic(record, narrow, all, At(4 * kSecond));
  EXPECT_EQ(record.Total(Counter::kXmitData), 800u);
  EnterExtended(record, wide, kAll, At(5 * kSecond));
  EXPECT_EQ(record.Total(Counter::kXmitData), 800u);
}

TEST(AccountingTest, WaitThatOnlyPortCountersHaveIsTheirs) {
  PortRecord record = Record();
  const ExtendedSupport traffic_only{.errors = false, .unicast_multicast = true};
  wire::PortCountersExtended wide;
  wire::PortCounters narrow;
  narrow.xmit_wait = 5;
  EnterExtended(record, wide, traffic_only, At(kSecond));
  EnterClassic(record, narrow, {}, At(kSecond));
  narrow.xmit_wait = 4'005;
  EnterClassic(record, narrow, {}, At(2 * kSecond));
  EnterExtended(record, wide, traffic_only, At(3 * kSecond));
  EXPECT_EQ(record.Total(Counter::kXmitWait), 4'000u);
  EXPECT_EQ(record.SourceOf(Counter::kXmitWait), Source::kPortCounters);
  EXPECT_EQ(record.Raw(Counter::kXmitWait), 4'005u);
  EXPECT_EQ(record.ReadAt(Counter::kXmitWait), 2 * kSecond);
  EXPECT_EQ(record.SourceOf(Counter::kXmitData), Source::kPortCountersExtended);
}

TEST(AccountingTest, DetailsOfAllOnesFromTheBeginningAreNoValue) {
  PortRecord record = Record();
  wire::PortXmitDiscardDetails read;
  read.inactive_discards = 0xFFFF;
  read.sw_hoq_lifetime_limit_discards = 1;
  EnterDetails(record, read, At(kSecond));
  EXPECT_TRUE(record.invalid.Has(Counter::kXmitInactiveDiscards));
  read.sw_hoq_lifetime_limit_discards = 0xFFFF;
  EnterDetails(record, read, At(2 * kSecond));
  EXPECT_TRUE(record.saturated.Has(Counter::kXmitSwHoqLifetimeDiscards));
  EXPECT_EQ(record.Total(Counter::kXmitSwHoqLifetimeDiscards), 0xFFFEu);
}

TEST(AccountingTest, WithoutErrorsTheRatioIsABound) {
  PortRecord record = Record();
  wire::PpcntStatistical read;
  constexpr Millis kMinute = 60 * kSecond;
  for (Millis at = kMinute; at <= 13 * kMinute; at += kMinute) {
    read.received_bits += 24'000'000'000'000;  // 400 Gb/s.
    EnterStatistical(record, read, At(at));
  }
  const ErrorRatio ratio = SymbolErrorRatio(record);
  ASSERT_TRUE(ratio.known);
  EXPECT_TRUE(ratio.bound);
  EXPECT_TRUE(ratio.by_registers);
  EXPECT_EQ(ratio.window, 12 * kMinute);
  EXPECT_NEAR(ratio.value, 3 / (12 * 24e12), 1e-16);
}

TEST(AccountingTest, TheWindowOfRatiosDropsReadingsOlderThan24Minutes) {
  PortRecord record = Record();
  wire::PpcntStatistical read;
  constexpr Millis kMinute = 60 * kSecond;
  for (Millis at = kMinute; at <= 60 * kMinute; at += kMinute) {
    read.received_bits += 24'000'000'000'000;
    if (at == 10 * kMinute) read.symbol_errors += 1000;
    EnterStatistical(record, read, At(at));
    const ErrorRatio ratio = SymbolErrorRatio(record);
    if (at >= 10 * kMinute && at <= 21 * kMinute) {
      EXPECT_EQ(ratio.errors, 1000u) << at;
    }
    if (at > 35 * kMinute) {
      EXPECT_EQ(ratio.errors, 0u) << at;
      EXPECT_LE(ratio.window, 24 * kMinute);
    }
  }
}

TEST(AccountingTest, WithoutRegistersBitsAreRateTimesTime) {
  PortRecord record = Record();
  wire::PortCountersExtended read;
  EnterExtended(record, read, kAll, At(kSecond));
  read.symbol_error = 4;
  EnterExtended(record, read, kAll, At(101 * kSecond));
  const ErrorRatio ratio = SymbolErrorRatio(record);
  ASSERT_TRUE(ratio.known);
  EXPECT_FALSE(ratio.by_registers);
  EXPECT_NEAR(ratio.value, 4 / (100 * 400e9), 1e-16);
}

}  // namespace
}  // namespace fabricd::telemetry
