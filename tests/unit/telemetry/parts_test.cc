// SPDX-License-Identifier: Apache-2.0
// The collector's parts that hold no rule of accounting: names, windows, rings, logs, turns.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "telemetry/counters.h"
#include "telemetry/device.h"
#include "telemetry/error_log.h"
#include "telemetry/history.h"
#include "telemetry/request_window.h"
#include "telemetry/schedule.h"

namespace fabricd::telemetry {
namespace {

constexpr Millis kMinute = 60'000, kHour = 60 * kMinute;

TEST(CountersTest, EachHasAKeyOfItsOwnByWhichItIsFound) {
  std::set<std::string_view> keys, names;
  ForEachCounter([&](Counter counter) {
    keys.insert(InfoOf(counter).key);
    names.insert(InfoOf(counter).name);
    EXPECT_EQ(FindCounter(InfoOf(counter).key), counter);
    EXPECT_EQ(FindCounter(InfoOf(counter).name), counter);
  });
  EXPECT_EQ(keys.size(), kCounters);
  EXPECT_EQ(names.size(), kCounters);
  EXPECT_EQ(FindCounter("nonsense"), std::nullopt);
}

TEST(PackedValueTest, IsWithinHalfAUnitOrA4096th) {
  for (double value : {0.0, 1.0, 17.0, 2047.0, 2048.0, 2049.0, 5e4, 1e7, 5e10, 2e11}) {
    const double back = PackedValue::Unpack(PackedValue::Pack(value, 1), 1);
    EXPECT_NEAR(back, value, std::max(0.5, value / 4096)) << value;
  }
  EXPECT_NE(PackedValue::Pack(1e300, 1), PackedValue::kNone);
}

TEST(PackedValueTest, GreaterValuesHaveGreaterCodes) {
  uint16_t last = 0;
  for (double value = 1; value < 1e9; value *= 1.01) {
    const uint16_t code = PackedValue::Pack(value, 1);
    EXPECT_GE(code, last);
    last = code;
  }
}

TEST(HistoryTest, AStepWithoutAReadingIsNotKnown) {
  History history({}, 1);
  Rates rates{.xmit_bytes = 1e6F, .at = 30'000, .window = 30'000};
  history.Enter(0, rates, {});
  rates.at = 150'000;
  history.Enter(0, rates, {});
  const auto samples = history.Read(0, 150'000, std::chrono::minutes(3));
  int known = 0;
  for (const HistorySample& sample : samples) known += sample.known;
  EXPECT_EQ(known, 2);
  EXPECT_FALSE(samples.back().knows_wait);
}

TEST(HistoryTest, AReadingIsOfAllStepsThatItsWindowHolds) {
  History history({}, 1);
  for (Millis at = 65'000; at <= 600'000; at += 60'000) {
    history.Enter(0, {.xmit_bytes = 1e6F, .at = at, .window = 60'000}, {0.5F, at, 60'000});
  }
  const auto samples = history.Read(0, 560'000, std::chrono::minutes(8));
  ASSERT_GE(samples.size(), 14u);
  for (const HistorySample& sample : samples) {
    EXPECT_TRUE(sample.known) << sample.at;
    EXPECT_TRUE(sample.knows_wait) << sample.at;
  }
  EXPECT_EQ(history.StepOf(std::chrono::minutes(8)), 30'000u);
  EXPECT_EQ(history.StepOf(std::chrono::hours(2)), 300'000u);
}

TEST(HistoryTest, OldSamplesLeaveTheRing) {
  History history({}, 1);
  for (Millis at = 30'000; at <= 3 * kHour; at += 30'000) {
    history.Enter(0, {.xmit_bytes = static_cast<float>(at), .at = at, .window = 30'000}, {});
  }
  const auto fine = history.Read(0, 3 * kHour, std::chrono::hours(1));
  EXPECT_EQ(fine.size(), 120u);
  for (const HistorySample& sample : fine) {
    ASSERT_TRUE(sample.known);
    EXPECT_NEAR(sample.xmit_bytes, sample.at, 31'000 + sample.at / 100);
  }
  const auto coarse = history.Read(0, 3 * kHour, std::chrono::hours(24));
  int known = 0;
  for (const HistorySample& sample : coarse) known += sample.known;
  EXPECT_NEAR(known, 36, 1);
}

TEST(HistoryTest, ALongPauseLeavesNothingOld) {
  History history({}, 1);
  history.Enter(0, {.xmit_bytes = 1e6F, .at = 30'000, .window = 30'000}, {});
  history.Enter(0, {.xmit_bytes = 1e6F, .at = 10 * kHour, .window = 30'000}, {});
  int known = 0;
  for (const HistorySample& sample : history.Read(0, 10 * kHour, std::chrono::hours(1))) {
    known += sample.known;
  }
  EXPECT_EQ(known, 1);
}

TEST(ErrorLogTest, IncreasesOfOneMinuteAreOneEntry) {
  ErrorLog log(16);
  log.Add({kMinute + 1, 2, PortNum(1), Counter::kRcvErrors, 1});
  log.Add({kMinute + 2, 1, PortNum(2), Counter::kRcvErrors, 1});
  log.Add({kMinute + 3, 5, PortNum(1), Counter::kRcvErrors, 1});
  log.Add({2 * kMinute + 40'000, 1, PortNum(1), Counter::kRcvErrors, 1});
  ASSERT_EQ(log.entries().size(), 3u);
  EXPECT_EQ(log.entries()[0].readings, 1u);
  EXPECT_EQ(log.entries()[1].readings, 2u);
  EXPECT_EQ(log.Sum(PortNum(1), Counter::kRcvErrors, 0), 8u);
  EXPECT_EQ(log.Sum(PortNum(1), Counter::kRcvErrors, kMinute + 30'000), 1u);
}

TEST(ErrorLogTest, EntriesOfTwoEpochsAreNotJoined) {
  ErrorLog log(16);
  log.Add({kMinute, 2, PortNum(1), Counter::kRcvErrors, 1});
  log.Add({kMinute, 2, PortNum(1), Counter::kRcvErrors, 2});
  EXPECT_EQ(log.entries().size(), 2u);
}

TEST(ErrorLogTest, ReadingsOfAnEntryStickAtTheirMaximum) {
  ErrorLog log(16);
  for (int i = 0; i < 40; ++i) log.Add({kMinute, 1, PortNum(1), Counter::kRcvErrors, 1});
  ASSERT_EQ(log.entries().size(), 1u);
  EXPECT_EQ(log.entries()[0].count, 40u);
  EXPECT_EQ(log.entries()[0].readings, ErrorEntry::kMostReadings);
}

TEST(ErrorLogTest, AFullLogJoinsOldEntriesBeforeItDropsAny) {
  ErrorLog log(120);
  uint64_t sum = 0;
  for (Millis minute = 1; minute <= 20 * 60; ++minute) {
    log.Add({minute * kMinute, 1, PortNum(1), Counter::kSymbolErrors, 1});
    ++sum;
  }
  EXPECT_LE(log.entries().size(), 120u);
  EXPECT_EQ(log.Sum(PortNum(1), Counter::kSymbolErrors, 0), sum);
  EXPECT_EQ(log.covered_since(), 0u);
}

TEST(ErrorLogTest, DroppedEntriesMoveTheStartOfTheCoveredTime) {
  ErrorLog log(8);
  for (uint8_t port = 1; port <= 40; ++port) {
    log.Add({port * kMinute, 1, PortNum(port), Counter::kSymbolErrors, 1});
  }
  EXPECT_LE(log.entries().size(), 8u);
  EXPECT_GT(log.covered_since(), 0u);
  for (const ErrorEntry& entry : log.entries()) EXPECT_GT(entry.at, log.covered_since());
}

Request To(uint32_t device) {
  Request request;
  request.device = device;
  request.deadline = Instant(std::chrono::seconds(5));
  return request;
}

TEST(RequestWindowTest, IdsHaveTheBitOfTelemetry) {
  RequestWindow window(16, 0);
  const TransactionId first = window.Open(To(1));
  EXPECT_NE(first.value() & RequestWindow::kIdBit, 0u);
  ASSERT_TRUE(window.Close(first).has_value());
  EXPECT_FALSE(window.Close(first).has_value());  // A second response.
  EXPECT_NE(window.Open(To(1)), first);
}

TEST(RequestWindowTest, DoesNotKnowTheIdsOfAWindowWithAnotherFirstRound) {
  RequestWindow before(16, 7), window(16, 0x12345678);
  const TransactionId late = before.Open({});
  const TransactionId id = window.Open({});
  EXPECT_EQ(window.Find(late), nullptr);
  EXPECT_EQ(window.Close(late), std::nullopt);
  EXPECT_NE(window.Close(id), std::nullopt);
}

TEST(RequestWindowTest, GrowsWithResponsesAndHalvesOncePerRoundOfLoss) {
  RequestWindow window(1024, 0);
  const uint32_t start = window.size();
  std::vector<TransactionId> ids;
  for (uint32_t i = 0; i < start; ++i) ids.push_back(window.Open(To(i)));
  EXPECT_FALSE(window.HasRoom());
  window.OnLoss();
  window.OnLoss();
  EXPECT_EQ(window.size(), start / 2);
  for (TransactionId id : ids) {
    (void)window.Close(id);
    window.OnResponse();
  }
  EXPECT_GT(window.size(), start / 2);
  EXPECT_TRUE(window.HasRoom());
}

TEST(RequestWindowTest, ReportsRequestsThatTheTransportDidNotEnd) {
  RequestWindow window(16, 0);
  const TransactionId id = window.Open(To(1));
  EXPECT_TRUE(window.Expired(Instant(std::chrono::seconds(4))).empty());
  EXPECT_EQ(window.Expired(Instant(std::chrono::seconds(5))), std::vector<TransactionId>{id});
}

TEST(ScheduleTest, EachPortHasOneTurnInAPassAtAPlaceOfItsOwn) {
  std::vector<PortRef> ports;
  for (uint32_t node = 0; node < 10; ++node) {
    for (uint8_t port = 1; port <= 36; ++port) ports.push_back({NodeIndex(node), PortNum(port)});
  }
  Schedule schedule(7);
  schedule.SetPorts(ports, 1);
  schedule.Start(1, 30'000);
  std::map<PortRef, int> turns;
  size_t in_first_half = 0;
  for (Millis now = 1; now < 30'001; now += 10) {
    schedule.TakeDue(now, [&](PortRef port, uint32_t) {
      ++turns[port];
      if (port.node.value() == 0 && now < 15'000) ++in_first_half;
    });
  }
  EXPECT_EQ(turns.size(), ports.size());
  for (const auto& [port, count] : turns) EXPECT_EQ(count, 1);
  // The ports of one switch are spread.
  EXPECT_GT(in_first_half, 8u);
  EXPECT_LT(in_first_half, 28u);
}

TEST(ScheduleTest, AfterALongPauseMissedPassesAreSkipped) {
  const std::vector<PortRef> ports = {{NodeIndex(0), PortNum(1)}};
  Schedule schedule(7);
  schedule.SetPorts(ports, 1);
  schedule.Start(1, 30'000);
  int turns = 0;
  schedule.TakeDue(40 * 30'000, [&](PortRef, uint32_t) { ++turns; });
  EXPECT_LE(turns, 2);
}

TEST(DeviceTest, ReadsNoPortBeforeTheCapabilitiesAreKnown) {
  Device device;
  device.Fit(2);
  AskSet asks;
  asks.Add(Ask::kExtended);
  device.Want(PortNum(1), asks);
  EXPECT_FALSE(device.Next(1).has_value());
  device.Want(Ask::kClassPortInfo);
  EXPECT_EQ(device.Next(1)->ask, Ask::kClassPortInfo);
  device.knows_capabilities = true;
  EXPECT_EQ(device.Next(1)->ask, Ask::kExtended);
}

TEST(DeviceTest, DoesNotProbeThreeOptionalAttributesInARow) {
  Device device;
  device.vendor = Absence::kNone;
  device.Fit(2);
  device.vendor = Absence::kNone;
  device.knows_capabilities = true;
  for (Ask ask : {Ask::kTick, Ask::kVendorInfo, Ask::kVendorKey}) device.Want(ask);
  EXPECT_TRUE(device.Next(1).has_value());
  EXPECT_TRUE(device.Next(1).has_value());
  EXPECT_FALSE(device.Next(1).has_value());
  AskSet asks;
  asks.Add(Ask::kExtended);
  device.Want(PortNum(1), asks);
  EXPECT_EQ(device.Next(1)->ask, Ask::kExtended);
  EXPECT_EQ(device.Next(1)->ask, Ask::kVendorKey);
}

TEST(DeviceTest, SendsNoRequestTwiceAtATime) {
  Device device;
  device.Fit(2);
  device.knows_capabilities = true;
  AskSet asks;
  asks.Add(Ask::kExtended);
  device.Want(PortNum(1), asks);
  const NextAsk first = *device.Next(1);
  device.Begin(first);
  device.Want(PortNum(1), asks);
  EXPECT_FALSE(device.Next(1).has_value());
  device.End(first.ask, first.port);
  device.Want(PortNum(1), asks);
  EXPECT_TRUE(device.Next(1).has_value());
}

TEST(DeviceTest, AnUnansweredAttributeIsProbedAtDoublingIntervals) {
  Device device;
  device.SetAbsent(Ask::kTick, Absence::kNoAnswer, 1);
  EXPECT_EQ(device.absence(Ask::kTick, kHour), Absence::kNoAnswer);
  EXPECT_EQ(device.absence(Ask::kTick, kHour + 2), Absence::kNone);
  device.SetAbsent(Ask::kTick, Absence::kNoAnswer, kHour);
  EXPECT_EQ(device.absence(Ask::kTick, 3 * kHour - 1), Absence::kNoAnswer);
  EXPECT_EQ(device.absence(Ask::kTick, 3 * kHour + 1), Absence::kNone);
}

}  // namespace
}  // namespace fabricd::telemetry
