// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/log_writer.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "common/mutex.h"

namespace fabricd::daemon {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Line = spdlog::details::log_msg_buffer;

constexpr auto kSummaries = std::chrono::seconds(1);
constexpr auto kLongestDrain = std::chrono::seconds(2);
constexpr char kEraseLine[] = "\r\033[K";

// Not the lines' own time: the wall clock may be set back.
Instant Now() {
  return Instant(std::chrono::duration_cast<Duration>(SteadyClock::now().time_since_epoch()));
}

}  // namespace

struct LogWriter::Shared {
  Shared(spdlog::sink_ptr to, LogGate::Limits limits) : out(std::move(to)), gate(limits) {}

  void Write(const Line& line, std::string_view text);
  void WriteGated(const Line& line);
  void WriteSummaries();
  void WriteDropped(size_t count);
  void DrawProgress(const std::string& text);

  Mutex mutex;
  Condition not_empty, ended_changed;
  std::vector<Line> lines FABRICD_GUARDED_BY(mutex);
  size_t dropped FABRICD_GUARDED_BY(mutex) = 0;
  bool gated FABRICD_GUARDED_BY(mutex) = true;
  bool stopping FABRICD_GUARDED_BY(mutex) = false, ended FABRICD_GUARDED_BY(mutex) = false;
  std::string progress FABRICD_GUARDED_BY(mutex);

  // Of the log thread.
  const spdlog::sink_ptr out;
  LogGate gate;
  std::string drawn;
};

LogWriter::LogWriter(spdlog::sink_ptr out, LogGate::Limits limits)
    : shared_(std::make_shared<Shared>(std::move(out), limits)),
      thread_([shared = shared_] { Run(shared); }) {
  pthread_setname_np(thread_.native_handle(), "log");
}

LogWriter::~LogWriter() {
  End();
  MutexLock lock(shared_->mutex);
  const bool ended = shared_->ended;
  lock.Unlock();
  if (ended)
    thread_.join();
  else
    thread_.detach();
}

void LogWriter::End() {
  MutexLock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->not_empty.NotifyOne();
  shared_->ended_changed.WaitFor(
      lock, kLongestDrain, [this]() FABRICD_REQUIRES(shared_->mutex) { return shared_->ended; });
}

void LogWriter::log(const spdlog::details::log_msg& message) {
  spdlog::details::log_msg cut = message;
  if (cut.payload.size() > kLongestLine)
    cut.payload = spdlog::string_view_t(cut.payload.data(), kLongestLine);
  {
    MutexLock lock(shared_->mutex);
    if (shared_->stopping) return;
    if (shared_->lines.size() >= kLines) {
      ++shared_->dropped;
      return;
    }
    shared_->lines.emplace_back(cut);
  }
  shared_->not_empty.NotifyOne();
}

void LogWriter::set_pattern(const std::string& pattern) { shared_->out->set_pattern(pattern); }
void LogWriter::set_formatter(std::unique_ptr<spdlog::formatter> formatter) {
  shared_->out->set_formatter(std::move(formatter));
}

void LogWriter::SetGated(bool gated) {
  MutexLock lock(shared_->mutex);
  shared_->gated = gated;
}

void LogWriter::ShowProgress(std::string text) {
  {
    MutexLock lock(shared_->mutex);
    if (shared_->progress == text) return;
    shared_->progress = std::move(text);
  }
  shared_->not_empty.NotifyOne();
}

void LogWriter::Run(const std::shared_ptr<Shared>& shared) {
  std::vector<Line> lines;
  MutexLock lock(shared->mutex);
  for (bool stopping = false; !stopping;) {
    shared->not_empty.WaitFor(lock, kSummaries, [&]() FABRICD_REQUIRES(shared->mutex) {
      return shared->stopping || !shared->lines.empty() || shared->progress != shared->drawn;
    });
    stopping = shared->stopping;
    lines.clear();
    lines.swap(shared->lines);
    const size_t dropped = std::exchange(shared->dropped, 0);
    const bool gated = shared->gated;
    const std::string progress = stopping ? "" : shared->progress;
    lock.Unlock();
    if (!lines.empty()) shared->DrawProgress("");
    for (const Line& line : lines) {
      if (gated)
        shared->WriteGated(line);
      else
        shared->Write(line, {line.payload.data(), line.payload.size()});
    }
    if (dropped > 0) shared->WriteDropped(dropped);
    shared->WriteSummaries();
    shared->out->flush();
    shared->DrawProgress(progress);
    lock.Lock();
  }
  shared->ended = true;
  shared->ended_changed.NotifyAll();
}

void LogWriter::Shared::Write(const Line& line, std::string_view text) {
  spdlog::details::log_msg message = line;
  message.payload = spdlog::string_view_t(text.data(), text.size());
  out->log(message);
}

void LogWriter::Shared::WriteGated(const Line& line) {
  const std::string_view text(line.payload.data(), line.payload.size());
  const LogGate::Verdict verdict = gate.Admit(line.level, text, Now());
  if (!verdict.write) return;
  if (verdict.left_out == 0)
    Write(line, text);
  else
    Write(line, fmt::format("{} ({} more like it before)", text, verdict.left_out));
}

void LogWriter::Shared::WriteSummaries() {
  for (const LogGate::Summary& summary : gate.TakeSummaries(Now())) {
    DrawProgress("");
    out->log({spdlog::log_clock::now(),
              {},
              "fabricd",
              static_cast<spdlog::level::level_enum>(summary.level),
              summary.left_out == 1 ? summary.last
                                    : fmt::format("{} ({} more like it before)", summary.last,
                                                  summary.left_out - 1)});
  }
}

void LogWriter::Shared::WriteDropped(size_t count) {
  out->log({spdlog::log_clock::now(),
            {},
            "fabricd",
            spdlog::level::warn,
            fmt::format("{} log lines came faster than they could be written", count)});
}

void LogWriter::Shared::DrawProgress(const std::string& text) {
  if (text == drawn) return;
  std::fputs(kEraseLine, stderr);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  drawn = text;
}

}  // namespace fabricd::daemon
