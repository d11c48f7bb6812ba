// SPDX-License-Identifier: Apache-2.0
// Segments of recordings, as the input says: read to their end, or refused. What is in their
// records becomes inputs and events of a core, or is refused.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "recorder/format.h"
#include "recorder/recorder.h"

namespace fabricd::recorder {
namespace {

void Look(const pb::Record& record) {
  if (record.has_start()) (void)InputsOf(record.start());
  if (record.has_step() && !record.step().has_answer()) (void)EventOf(record.step());
}

}  // namespace
}  // namespace fabricd::recorder

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fabricd::recorder;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // As a file.
  if (auto reader = SegmentReader::Open(bytes); reader.ok())
    for (pb::Batch batch;;) {
      const auto more = reader->Next(batch);
      if (!more.ok() || !*more) break;
      for (const pb::Record& record : batch.records()) Look(record);
    }
  // As what a chunk holds: the checksum would hide it from the fuzzer.
  pb::Batch batch;
  if (batch.ParseFromArray(data, static_cast<int>(size)))
    for (const pb::Record& record : batch.records()) Look(record);
  return 0;
}
