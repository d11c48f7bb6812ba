// SPDX-License-Identifier: Apache-2.0
// LogWriter: the sink of all log lines. Who logs only hands over; a thread of its own writes, so
// that a slow disk, journal or terminal holds up neither the core nor a receive thread. It also
// owns the progress line of a terminal.
//
//   any thread ── lines (8,192) ──► log thread ── LogGate ──► stderr or the journal
//       full: dropped and counted; the next line written says how many
//
// A line is cut at 16 KiB. End() writes what waits, for at most two seconds.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <spdlog/details/log_msg_buffer.h>
#include <spdlog/sinks/sink.h>

#include "daemon/record/log_gate.h"

namespace fabricd::daemon {

class LogWriter final : public spdlog::sinks::sink {
 public:
  static constexpr size_t kLines = 8192, kLongestLine = 16384;

  // `out` is used by the log thread alone.
  explicit LogWriter(spdlog::sink_ptr out, LogGate::Limits limits = {});
  ~LogWriter() override;

  // What is logged afterwards goes nowhere. Any thread, once or more.
  void End();

  void log(const spdlog::details::log_msg& message) override;
  // Lines are flushed when none waits.
  void flush() override {}
  void set_pattern(const std::string& pattern) override;
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override;

  // Whether LogGate holds lines back; not where the operator wants to see everything.
  void SetGated(bool gated);
  // The line that a terminal shows below the log; empty: none.
  void ShowProgress(std::string text);

 private:
  struct Shared;  // Of this and the thread, which may outlive it: `out` may hang.
  static void Run(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace fabricd::daemon
