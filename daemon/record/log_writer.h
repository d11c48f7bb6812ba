// SPDX-License-Identifier: Apache-2.0
// LogWriter: the sink of all log lines. Callers only queue lines, and a separate thread writes
// them, so that a slow disk, journal or terminal delays neither the core nor a receive thread. It
// also owns the progress line of a terminal.
//
//   any thread ── lines (8,192) ──► log thread ── LogGate ──► stderr or the journal
//       full: dropped and counted; the next line written has their number
//
// A line is cut at 16 KiB. End() writes the queued lines, for at most two seconds.
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

  // Only the log thread uses `out`.
  explicit LogWriter(spdlog::sink_ptr out, LogGate::Limits limits = {});
  ~LogWriter() override;

  // Lines logged afterwards are discarded. Any thread; may be called repeatedly.
  void End();

  void log(const spdlog::details::log_msg& message) override;
  // The thread flushes when no line waits.
  void flush() override {}
  void set_pattern(const std::string& pattern) override;
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override;

  // Whether LogGate limits the lines. Off where the operator wants to see everything.
  void SetGated(bool gated);
  // The line below the log on a terminal. Empty: none.
  void ShowProgress(std::string text);

 private:
  struct Shared;  // Shared with the thread, which may outlive this if `out` hangs.
  static void Run(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace fabricd::daemon
