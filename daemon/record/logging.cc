// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/logging.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/systemd_sink.h>
#include <spdlog/spdlog.h>

#include "daemon/record/log_writer.h"

namespace fabricd::daemon {
namespace {

// systemd names the device and inode of the journal's socket; only if stderr is still that one do
// messages go there (systemd.exec(5), $JOURNAL_STREAM).
bool StderrIsJournal() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  if (stream == nullptr || fstat(STDERR_FILENO, &status) != 0) return false;
  return fmt::format("{}:{}", status.st_dev, status.st_ino) == stream;
}

spdlog::level::level_enum ToSpdlog(config::LogLevel level) {
  switch (level) {
    case config::LogLevel::kDebug: return spdlog::level::debug;
    case config::LogLevel::kInfo: return spdlog::level::info;
    case config::LogLevel::kWarning: return spdlog::level::warn;
    case config::LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::info;
}

// Null before SetUpLogging() and in tests.
LogWriter* Writer() {
  const auto& sinks = spdlog::default_logger_raw()->sinks();
  return sinks.size() == 1 ? dynamic_cast<LogWriter*>(sinks[0].get()) : nullptr;
}

}  // namespace

void SetUpLogging(config::LogLevel level) {
  spdlog::sink_ptr out;
  if (StderrIsJournal()) {
    out = std::make_shared<spdlog::sinks::systemd_sink_mt>();
    out->set_pattern("%v");
  } else {
    out = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    out->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  }
  const auto logger =
      std::make_shared<spdlog::logger>("fabricd", std::make_shared<LogWriter>(std::move(out)));
  spdlog::set_default_logger(logger);
  SetLogLevel(level);
}

void EndLogging() {
  if (LogWriter* const writer = Writer()) writer->End();
}

void SetLogLevel(config::LogLevel level) {
  spdlog::set_level(ToSpdlog(level));
  if (LogWriter* const writer = Writer()) writer->SetGated(level != config::LogLevel::kDebug);
}

void Write(const sweep::LogRecord& record) {
  switch (record.level) {
    case sweep::LogLevel::kDebug: spdlog::debug("{}", record.text); break;
    case sweep::LogLevel::kInfo: spdlog::info("{}", record.text); break;
    case sweep::LogLevel::kWarning: spdlog::warn("{}", record.text); break;
    case sweep::LogLevel::kError: spdlog::error("{}", record.text); break;
  }
}

void ShowProgress(const std::string& text) {
  static const bool is_terminal = isatty(STDERR_FILENO) == 1;
  if (!is_terminal) return;
  if (LogWriter* const writer = Writer()) writer->ShowProgress(text);
}

}  // namespace fabricd::daemon
