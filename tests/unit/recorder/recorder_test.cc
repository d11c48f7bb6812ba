// SPDX-License-Identifier: Apache-2.0
#include "recorder/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"
#include "recorder/fields.h"
#include "recorder/replay.h"

namespace fabricd::recorder {
namespace {

using testing::IsEmpty;

Instant At(int ms) { return Instant(std::chrono::milliseconds(ms)); }

class RecorderTest : public testing::Test {
 protected:
  RecorderTest() {
    std::string name = testing::TempDir() + "recorder_XXXXXX";
    directory_ = mkdtemp(name.data());
    inputs_.local = {"sim", PortNum(1), Guid(0x100), Guid(0x101)};
    inputs_.options.sm.m_key = MKey(0x5EC2E7);
    core_ = inputs_.MakeCore();
    recorder_.OnStart(inputs_);
  }
  ~RecorderTest() override { std::filesystem::remove_all(directory_); }

  void Step(sweep::Event event, Instant now) {
    recorder_.OnStep(event, now);
    core_->Step(std::move(event), now);
    recorder_.OnEffects(last_ = core_->TakeEffects(now), now);
  }
  // As a device that does not answer: each MAD that was sent comes back as timed out.
  void TimeOut(Instant now) {
    for (const mad::OutgoingMad& sent : sweep::Effects(last_).send)
      Step(mad::IncomingMad{mad::IncomingMad::Kind::kTimedOut, sent.agent, sent.to, sent.payload},
           now);
  }
  // What was recorded, after `change`.
  absl::StatusOr<ReplayResult> Replayed(const std::function<void(pb::Batch&)>& change = {},
                                        ReplayOptions options = {}) {
    recorder_.Flush();
    if (change) change(batch_);
    pb::Header header;
    header.set_life(1);
    std::filesystem::remove_all(directory_);
    auto writer = SegmentWriter::Open(directory_, {}, header);
    EXPECT_TRUE(
        writer->Write({batch_.SerializeAsString(), static_cast<uint64_t>(batch_.records_size())})
            .ok());
    const auto recording = Recording::Open(directory_);
    if (!recording.ok()) return recording.status();
    return Replay(*recording, options, [this](const std::string& line) { said_.push_back(line); });
  }

  std::filesystem::path directory_;
  CoreInputs inputs_;
  std::unique_ptr<sweep::Core> core_;
  sweep::Effects last_;
  pb::Batch batch_;
  bool accepts_ = true;
  Recorder recorder_{
      [this](const PackedBatch& batch) { return accepts_ && batch_.MergeFromString(batch.bytes); }};
  std::vector<std::string> said_;
};

TEST_F(RecorderTest, AReplayEndsWithTheDigestThatWasRecorded) {
  Step(sweep::StartEvent{}, At(1));
  TimeOut(At(201));
  Step(sweep::SweepCommand{4, true}, At(300));
  Step(sweep::TimerEvent{}, At(2000));
  const auto result = Replayed();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->difference);
  EXPECT_EQ(result->recorded_digest, result->replayed_digest);
  EXPECT_EQ(result->records, recorder_.records());
  EXPECT_EQ(result->stopped, "");
}

TEST_F(RecorderTest, RecordsNoKeys) {
  Step(sweep::StartEvent{}, At(1));
  TimeOut(At(201));
  recorder_.Flush();
  const std::string bytes = batch_.SerializeAsString();
  EXPECT_EQ(bytes.find("\x5E\xC2\xE7"), std::string::npos);
  EXPECT_NE(bytes.find("\xA1\x1A\x50"), std::string::npos);
}

TEST_F(RecorderTest, NamesTheFirstRecordThatComesOutOtherwise) {
  Step(sweep::StartEvent{}, At(1));
  TimeOut(At(201));
  const auto result = Replayed([](pb::Batch& batch) {
    auto& taken = *batch.mutable_records(2)->mutable_taken();
    taken.set_digest(taken.digest() + 1);
    taken.set_sends(taken.sends() + 4);
  });
  ASSERT_TRUE(result.ok());
  ASSERT_TRUE(result->difference);
  EXPECT_EQ(result->difference->record, 2u);
  EXPECT_EQ(result->difference->counts, "5 sends recorded, 1 now");
  EXPECT_THAT(result->difference->lines, testing::Contains(testing::HasSubstr("Get NodeInfo")));
  EXPECT_NE(result->recorded_digest, result->replayed_digest);
}

TEST_F(RecorderTest, StopsWhereRecordsWereLost) {
  Step(sweep::StartEvent{}, At(1));
  recorder_.Flush();
  accepts_ = false;
  TimeOut(At(201));
  recorder_.Flush();
  EXPECT_GT(recorder_.lost(), 0u);
  accepts_ = true;
  Step(sweep::TimerEvent{}, At(2000));
  const auto result = Replayed();
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(result->stopped, testing::HasSubstr("records are missing"));
  EXPECT_FALSE(result->difference);
}

TEST_F(RecorderTest, EndsWhereItIsAskedTo) {
  Step(sweep::StartEvent{}, At(1));
  TimeOut(At(201));
  ReplayOptions options;
  options.until = 2;
  EXPECT_EQ(Replayed({}, options)->records, 2u);
  options = {};
  options.break_at = 1;
  EXPECT_TRUE(Replayed({}, options).ok());
  EXPECT_THAT(said_, testing::Contains(testing::HasSubstr("start")));
}

TEST_F(RecorderTest, RefusesRecordsThatCannotBe) {
  Step(sweep::StartEvent{}, At(1));
  using Change = std::function<void(pb::Batch&)>;
  const Change changes[] = {
      [](pb::Batch& batch) { batch.mutable_records()->DeleteSubrange(0, 1); },
      [](pb::Batch& batch) { batch.mutable_records(0)->mutable_start()->set_options("x"); },
      [](pb::Batch& batch) { batch.mutable_records(0)->mutable_start()->set_state(""); },
      [](pb::Batch& batch) { batch.mutable_records(1)->mutable_step()->set_event(77); },
      [](pb::Batch& batch) { batch.mutable_records(1)->mutable_step()->set_value("\xFF"); },
      [](pb::Batch& batch) {
        batch.mutable_records(1)->mutable_step()->mutable_answer()->set_question(99);
      },
      [](pb::Batch& batch) { batch.mutable_records(1)->Clear(); },
  };
  const pb::Batch whole = (recorder_.Flush(), batch_);
  for (const Change& change : changes) {
    batch_ = whole;
    EXPECT_EQ(Replayed(change).status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(RecordedEvents, EachKindIsReadBack) {
  std::vector<sweep::Event> events = {sweep::StartEvent{5},
                                      sweep::WallClockSet{6},
                                      sweep::TimerEvent{},
                                      mad::IncomingMad{{}, {}, {}, std::vector<uint8_t>(256, 3)},
                                      mad::LocalPortEvent{},
                                      sweep::SweepCommand{1, false},
                                      sweep::OptionsChanged{},
                                      sweep::CreateHold{2},
                                      sweep::DeleteHold{3},
                                      sweep::AckHold{4},
                                      sweep::GroupsChanged{},
                                      sweep::ChangePartitions{5},
                                      sweep::AliasesChanged{},
                                      sweep::ReadLanes{{NodeIndex(3)}},
                                      sweep::SetPriority{6, 7},
                                      sweep::StepDown{8},
                                      sweep::AcceptTakeover{9, "id"},
                                      sweep::ClearDamping{10},
                                      sweep::StoredStateChanged{},
                                      sweep::SharingPorts{{Guid(11)}},
                                      sweep::StoreTakesWrites{}};
  pb::Batch batch;
  Recorder recorder([&](const PackedBatch& full) {
    EXPECT_EQ(full.records, events.size());
    return batch.MergeFromString(full.bytes);
  });
  for (const sweep::Event& event : events) recorder.OnStep(event, At(1));
  recorder.Flush();
  ASSERT_EQ(static_cast<size_t>(batch.records_size()), events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    const auto back = EventOf(batch.records(static_cast<int>(i)).step());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->index(), events[i].index());
  }
}

TEST(RecordedEvents, AMadKeepsItsAddress) {
  mad::IncomingMad mad;
  mad.from = {Lid(7),
              1,
              0x80010000,
              ServiceLevel(3),
              2,
              4,
              mad::GlobalRoute{{0xFE80000000000000, 0xA1}, 5, 64, 6, 0xABCDE}};
  mad.payload.resize(256, 3);
  pb::Batch batch;
  Recorder recorder([&](const PackedBatch& full) { return batch.MergeFromString(full.bytes); });
  recorder.OnStep(mad, At(1));
  const mad::Address whole = std::exchange(mad.from, {});
  recorder.OnStep(mad, At(1));
  recorder.Flush();
  ASSERT_EQ(batch.records_size(), 2);
  const auto address = [&](int record) {
    return std::get<mad::IncomingMad>(*EventOf(batch.records(record).step())).from;
  };
  EXPECT_EQ(address(0), whole);
  EXPECT_EQ(address(1), mad::Address()) << "nothing of the one before";
}

}  // namespace
}  // namespace fabricd::recorder
