// SPDX-License-Identifier: Apache-2.0
// Streams over the event log: from a version on, then what happens.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>

#include <absl/status/statusor.h>
#include <google/protobuf/repeated_field.h>

#include "daemon/base/models.h"
#include "daemon/record/event_log.h"
#include "daemon/rpc/streams/watch_stream.h"
#include "fabric/event.h"

namespace fabricd::rpc {

// What a request is about.
struct EventNames {
  fabric::EventSubjects about;
  // The first that is nowhere on the fabric: events may still know it.
  absl::Status absent = absl::OkStatus();
};
// Nodes and hosts, also such that are gone. Errors carry their ErrorInfo.
absl::StatusOr<EventNames> SubjectsNamed(
    daemon::Models& models, const google::protobuf::RepeatedPtrField<std::string>& names);

// The number after which a stream begins; of an empty version the last one. INVALID_ARGUMENT: it is
// no version. OUT_OF_RANGE, RESOURCE_VERSION_TOO_OLD: the log's ring does not go back so far.
// NOT_FOUND: neither the fabric nor the ring knows what is named.
absl::StatusOr<uint64_t> BeginAt(const daemon::EventLog& log, const EventNames& names,
                                 const std::string& version);

// A place in the log's ring, and at most one batch of it. `Response` has a `synced` and a
// `bookmark`, each with a resource_version.
template <typename Response>
class LogStream : public WatchStream<Response> {
 protected:
  // `log` outlives the stream. `after`: of BeginAt().
  LogStream(const daemon::EventLog& log, uint64_t after) : log_(log), seen_(after) {}

  const daemon::EventLog& log() const { return log_; }

  // What is to be sent before anything of the log. False: there is nothing more.
  virtual bool FillFirst(Response*) { return false; }
  // False: the event is left out. An error ends the stream.
  virtual absl::StatusOr<bool> Fill(const store::EventRecord& record, Response* out) = 0;

 private:
  // Events read from the log in one go.
  static constexpr size_t kBatch = 64;

  absl::StatusOr<bool> Next(bool beat, Response* out) override {
    if (!synced_ && FillFirst(out)) return true;
    while (true) {
      if (batch_.empty()) {
        auto more = log_.After(seen_, kBatch);
        if (!more.ok()) {
          return MakeError(absl::StatusCode::kResourceExhausted, "SLOW_WATCHER",
                           "this watcher has fallen too far behind");
        }
        if (more->empty()) return Quiet(beat, out);
        batch_.assign(more->begin(), more->end());
      }
      const daemon::EventLog::Record record = std::move(batch_.front());
      batch_.pop_front();
      seen_ = record->number;
      const absl::StatusOr<bool> filled = Fill(*record, out);
      if (!filled.ok() || *filled) return filled;
    }
  }
  // All is sent: says so once, and later that the stream lives.
  bool Quiet(bool beat, Response* out) {
    if (!synced_)
      out->mutable_synced()->set_resource_version(log_.VersionOf(seen_));
    else if (beat)
      out->mutable_bookmark()->set_resource_version(log_.VersionOf(seen_));
    return !std::exchange(synced_, true) || beat;
  }

  const daemon::EventLog& log_;
  uint64_t seen_;  // Number of the last event sent or left out.
  std::deque<daemon::EventLog::Record> batch_;
  bool synced_ = false;
};

}  // namespace fabricd::rpc
