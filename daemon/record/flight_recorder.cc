// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/flight_recorder.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/status.h"

namespace fabricd::daemon {
namespace {

constexpr size_t kMostBatches = 64;
constexpr int kWriterNiceness = 10;
// What is recorded is on disk so much later: an incident may end with the process.
constexpr Duration kFlushPeriod = std::chrono::seconds(1);
constexpr uint64_t kSegmentsInAll = 32;

}  // namespace

absl::StatusOr<std::unique_ptr<FlightRecorder>> FlightRecorder::Open(
    std::filesystem::path directory, uint64_t max_bytes, const std::string& version,
    uint64_t wall_ms) {
  recorder::pb::Header header;
  header.set_version(version);
  header.set_life(wall_ms);
  auto writer = recorder::SegmentWriter::Open(
      std::move(directory), {max_bytes, max_bytes / kSegmentsInAll}, std::move(header));
  if (!writer.ok()) return writer.status();
  return std::unique_ptr<FlightRecorder>(new FlightRecorder(*std::move(writer)));
}

FlightRecorder::FlightRecorder(recorder::SegmentWriter writer)
    : writer_(std::move(writer)),
      writing_(
          kMostBatches, [this](const recorder::PackedBatch& batch) { Write(batch); },
          kWriterNiceness),
      recorder_([this](recorder::PackedBatch batch) {
        return !failed_.load(std::memory_order_relaxed) && writing_.Post(std::move(batch));
      }) {}

void FlightRecorder::Write(const recorder::PackedBatch& batch) {
  if (failed_.load(std::memory_order_relaxed)) return;
  const absl::Status written = writer_.Write(batch);
  if (written.ok()) return;
  failed_.store(true, std::memory_order_relaxed);
  spdlog::error("the flight recorder has stopped: {}", Message(written));
}

void FlightRecorder::OnEffects(const sweep::Effects& effects, Instant now) {
  recorder_.OnEffects(effects, now);
  if (now < next_flush_) return;
  next_flush_ = now + kFlushPeriod;
  recorder_.Flush();
}

void FlightRecorder::Stop() {
  recorder_.Flush();
  writing_.Stop();
}

}  // namespace fabricd::daemon
