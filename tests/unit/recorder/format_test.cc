// SPDX-License-Identifier: Apache-2.0
#include "recorder/format.h"

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
  const std::string bytes = EncodeHeader(SomeHeader()) +
                            EncodeBatch(SomeBatch(5).SerializeAsString()) +
                            EncodeBatch(SomeBatch(6).SerializeAsString());
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
  const std::string head =
      EncodeHeader(SomeHeader()) + EncodeBatch(SomeBatch(5).SerializeAsString());
  const std::string last = EncodeBatch(SomeBatch(6).SerializeAsString());
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
  const std::string newer = EncodeHeader(SomeHeader(kSchema + 1));
  const auto other = SegmentReader::Open(newer);
  EXPECT_EQ(other.status().code(), Code::kFailedPrecondition);
  EXPECT_THAT(Message(other.status()), HasSubstr("schema 2"));
  EXPECT_THAT(Message(other.status()), HasSubstr("0.9"));
}

TEST(RecordingFormat, RefusesADamagedChunk) {
  const std::string head = EncodeHeader(SomeHeader());
  const std::string batch_bytes = EncodeBatch(SomeBatch(5).SerializeAsString());
  for (size_t i = 4; i < batch_bytes.size(); ++i) {
    std::string bytes = head + batch_bytes;
    bytes[head.size() + i] ^= 0x20;
    auto reader = SegmentReader::Open(bytes);
    ASSERT_TRUE(reader.ok());
    pb::Batch batch;
    EXPECT_EQ(reader->Next(batch).status().code(), Code::kDataLoss) << i;
  }
}

TEST(RecordingFormat, RefusesAChunkThatClaimsToBeHuge) {
  const std::string bytes = EncodeHeader(SomeHeader()) + std::string(8, '\xFF');
  auto reader = SegmentReader::Open(bytes);
  pb::Batch batch;
  EXPECT_EQ(reader->Next(batch).status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace fabricd::recorder
