// SPDX-License-Identifier: Apache-2.0
#include "recorder/segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"

namespace fabricd::recorder {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Code = absl::StatusCode;

class SegmentsTest : public testing::Test {
 protected:
  SegmentsTest() {
    std::string name = testing::TempDir() + "segments_XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~SegmentsTest() override { std::filesystem::remove_all(directory_); }

  SegmentWriter Writer(uint64_t life, SegmentLimits limits = {}) {
    pb::Header header;
    header.set_life(life);
    auto writer = SegmentWriter::Open(directory_, limits, header);
    EXPECT_TRUE(writer.ok()) << writer.status();
    return *std::move(writer);
  }
  // A batch of about `bytes` that do not compress.
  static PackedBatch Batch(size_t bytes) {
    pb::Batch batch;
    std::string noise;
    for (uint64_t x = 88172645463325252; noise.size() < bytes;) {
      x ^= x << 13, x ^= x >> 7, x ^= x << 17;
      noise.push_back(static_cast<char>(x >> 56));
    }
    batch.add_records()->mutable_step()->set_value(noise);
    return {batch.SerializeAsString(), 1};
  }
  std::vector<uint32_t> Numbers() const {
    std::vector<uint32_t> numbers;
    for (const SegmentFile& file : ListSegments(directory_)) numbers.push_back(file.number);
    return numbers;
  }
  size_t Records(const Recording& recording, bool beyond_gap) const {
    size_t count = 0;
    EXPECT_TRUE(recording
                    .ForEach(beyond_gap,
                             [&](uint64_t, const pb::Record&) {
                               ++count;
                               return true;
                             })
                    .ok());
    return count;
  }

  std::filesystem::path directory_;
};

TEST_F(SegmentsTest, ANewSegmentBeginsWhenOneIsFull) {
  SegmentWriter writer = Writer(1, {size_t{1} << 20, 1000});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(writer.Write(Batch(600)).ok());
  EXPECT_THAT(Numbers(), ElementsAre(0u, 1u, 2u));
  const auto recording = Recording::Open(directory_);
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_EQ(recording->gap(), "");
  EXPECT_EQ(Records(*recording, false), 5u);
}

TEST_F(SegmentsTest, TheBeginningAndTheNewestSegmentsAreKept) {
  SegmentWriter writer = Writer(1, {8000, 1000});
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(writer.Write(Batch(1000)).ok());
  const std::vector<uint32_t> kept = Numbers();
  EXPECT_EQ(kept.front(), 0u);
  EXPECT_EQ(kept.back(), 39u);
  EXPECT_LE(kept.size(), 9u);
  const auto recording = Recording::Open(directory_);
  ASSERT_TRUE(recording.ok());
  EXPECT_THAT(recording->gap(), HasSubstr("are gone"));
  EXPECT_LT(Records(*recording, false), Records(*recording, true));
}

TEST_F(SegmentsTest, EarlierLivesMakeRoom) {
  {
    SegmentWriter writer = Writer(1, {8000, 1000});
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(writer.Write(Batch(1000)).ok());
  }
  SegmentWriter writer = Writer(2, {8000, 1000});
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(writer.Write(Batch(1000)).ok());
  for (const SegmentFile& file : ListSegments(directory_)) EXPECT_EQ(file.life, 2u);
}

TEST_F(SegmentsTest, ADirectoryStandsForItsNewestLifeAndASegmentForItsOwn) {
  ASSERT_TRUE(Writer(1).Write(Batch(10)).ok());
  ASSERT_TRUE(Writer(2).Write(Batch(10)).ok());
  EXPECT_EQ(Recording::Open(directory_)->header().life(), 2u);
  EXPECT_EQ(Recording::Open(ListSegments(directory_).front().path)->header().life(), 1u);
}

TEST_F(SegmentsTest, RefusesADirectoryWithoutRecordingsAndSegmentsWithoutTheFirst) {
  EXPECT_EQ(Recording::Open(directory_).status().code(), Code::kNotFound);
  EXPECT_EQ(Recording::Open(directory_ / "absent").status().code(), Code::kNotFound);
  SegmentWriter writer = Writer(1, {size_t{1} << 20, 1000});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer.Write(Batch(1000)).ok());
  std::filesystem::remove(ListSegments(directory_).front().path);
  const auto headless = Recording::Open(directory_);
  EXPECT_EQ(headless.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(Message(headless.status()), HasSubstr("begins with segment 0"));
}

TEST_F(SegmentsTest, ARenamedSegmentIsReadByItself) {
  ASSERT_TRUE(Writer(1).Write(Batch(10)).ok());
  std::filesystem::rename(ListSegments(directory_).front().path, directory_ / "incident.rec");
  EXPECT_TRUE(Recording::Open(directory_ / "incident.rec").ok());
}

}  // namespace
}  // namespace fabricd::recorder
