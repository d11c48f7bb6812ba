// SPDX-License-Identifier: Apache-2.0
#include "recorder/format.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status.h"

namespace fabricd::recorder {
namespace {

using testing::HasSubstr;
using Code = absl::StatusCode;

pb::Header SomeHeader(uint32_t schema = kSchema) {
  pb::Header header;
  header.set_schema(schema);
  header.set_version("0.9");
  header.set_life(12);
  return header;
}
pb::Batch SomeBatch(int64_t ns) {
  pb::Batch batch;
  batch.add_records()->mutable_step()->set_after_ns(ns);
  return batch;
}

TEST(RecordingFormat, ReadsBackTheBatchesInOrder) {
  const std::string bytes = SegmentEncoder().Begin(SomeHeader()) +
                            SegmentEncoder().Chunk(SomeBatch(5).SerializeAsString()) +
                            SegmentEncoder().Chunk(SomeBatch(6).SerializeAsString());
  auto reader = SegmentReader::Open(bytes);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->header().life(), 12u);
  for (int64_t ns : {5, 6}) {
    pb::Batch batch;
    ASSERT_TRUE(*reader->Next(batch));
    EXPECT_EQ(batch.records(0).step().after_ns(), ns);
  }
  pb::Batch batch;
  EXPECT_FALSE(*reader->Next(batch));
  EXPECT_FALSE(reader->is_cut());
}

TEST(RecordingFormat, EndsAtAChunkThatIsNotWhole) {
  const std::string head = SegmentEncoder().Begin(SomeHeader()) +
                           SegmentEncoder().Chunk(SomeBatch(5).SerializeAsString());
  const std::string last = SegmentEncoder().Chunk(SomeBatch(6).SerializeAsString());
  for (size_t size = 1; size < last.size(); ++size) {
    const std::string bytes = head + last.substr(0, size);
    auto reader = SegmentReader::Open(bytes);
    pb::Batch batch;
    ASSERT_TRUE(*reader->Next(batch));
    EXPECT_FALSE(*reader->Next(batch));
    EXPECT_TRUE(reader->is_cut()) << size;
  }
}

TEST(RecordingFormat, RefusesForeignFilesAndOtherSchemasWithTheReason) {
  const auto foreign = SegmentReader::Open("#!/bin/sh\n");
  EXPECT_EQ(foreign.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(Message(foreign.status()), HasSubstr("no recording"));
  const std::string newer = SegmentEncoder().Begin(SomeHeader(kSchema + 1));
  const auto other = SegmentReader::Open(newer);
  EXPECT_EQ(other.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(Message(other.status()), HasSubstr(fmt::format("schema {}", kSchema)));
  EXPECT_THAT(Message(other.status()), HasSubstr("0.9"));
}

TEST(RecordingFormat, RefusesAChunkWithAnyDamagedBit) {
  const std::string head = SegmentEncoder().Begin(SomeHeader());
  const std::string content = SomeBatch(5).SerializeAsString();
  const std::string chunk = SegmentEncoder().Chunk(content);
  for (size_t bit = 4 * 8; bit < chunk.size() * 8; ++bit) {
    std::string bytes = head + chunk;
    bytes[head.size() + bit / 8] ^= static_cast<char>(1 << bit % 8);
    auto reader = SegmentReader::Open(bytes);
    ASSERT_TRUE(reader.ok());
    pb::Batch batch;
    const auto more = reader->Next(batch);
    // A few bits of a frame's header are unused.
    if (more.ok())
      EXPECT_EQ(batch.SerializeAsString(), content) << bit;
    else
      EXPECT_EQ(more.status().code(), Code::kDataLoss) << bit;
  }
}

TEST(RecordingFormat, RefusesAChunkThatClaimsToBeHuge) {
  const std::string bytes = SegmentEncoder().Begin(SomeHeader()) + std::string(8, '\xFF');
  auto reader = SegmentReader::Open(bytes);
  pb::Batch batch;
  EXPECT_EQ(reader->Next(batch).status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace fabricd::recorder
