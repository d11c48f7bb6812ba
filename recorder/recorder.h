// SPDX-License-Identifier: Apache-2.0
// Recorder: turns the inputs and outputs of the core into batches of records. On the core's thread
// it only copies. The sink compresses and writes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "recorder/format.h"
#include "recorder/key_aliases.h"
#include "shell/ports.h"
#include "sweep/core.h"

namespace fabricd::recorder {

using shell::CoreInputs;

class Recorder final : public shell::Tap {
 public:
  // Receives a batch. False: it cannot take it now, and the batch is lost.
  using Sink = std::function<bool(PackedBatch batch)>;
  explicit Recorder(Sink sink) : sink_(std::move(sink)) {}

  void OnStart(const CoreInputs& inputs) override;
  void OnStep(const sweep::Event& event, Instant now) override;
  void OnEffects(const sweep::Effects& effects, Instant now) override;
  // Passes on the current batch. Call from time to time, and at the end.
  void Flush();

  uint64_t records() const { return records_; }
  uint64_t lost() const { return lost_in_all_; }

 private:
  // Appends a record. `field`: which one of pb::Record `content` is.
  void Add(int field, const google::protobuf::MessageLite& content);
  int64_t After(Instant now);
  void PutMad(const mad::IncomingMad& mad, pb::Mad& out);
  // All but MADs.
  void PutEvent(const sweep::Event& event, pb::Step& step);

  const Sink sink_;
  KeyAliases aliases_;
  PackedBatch batch_;
  pb::Step mad_step_;  // Used again for each MAD, so that none allocates.
  int64_t last_ns_ = 0;
  uint64_t records_ = 0;
  uint64_t lost_ = 0, lost_in_all_ = 0;  // lost_: since the last accepted batch.
  std::vector<uint8_t> scratch_;
};

// Decode a record.
absl::StatusOr<CoreInputs> InputsOf(const pb::Start& start);
// All events except computed answers, which are computed again. kDataLoss: not an event.
absl::StatusOr<sweep::Event> EventOf(const pb::Step& step);
inline constexpr size_t kAnswerEvent = 5, kMadEvent = 3;  // Indices in sweep::Event.

}  // namespace fabricd::recorder
