// SPDX-License-Identifier: Apache-2.0
#include "daemon/logging.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/systemd_sink.h>
#include <spdlog/spdlog.h>

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

}  // namespace

void SetUpLogging(config::LogLevel level) {
  std::shared_ptr<spdlog::logger> logger;
  if (StderrIsJournal()) {
    logger = std::make_shared<spdlog::logger>("fabricd",
                                              std::make_shared<spdlog::sinks::systemd_sink_mt>());
    logger->set_pattern("%v");
  } else {
    logger = std::make_shared<spdlog::logger>(
        "fabricd", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  }
  logger->set_level(ToSpdlog(level));
  logger->flush_on(spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

void SetLogLevel(config::LogLevel level) { spdlog::set_level(ToSpdlog(level)); }

void Write(const sweep::LogRecord& record) {
  switch (record.level) {
    case sweep::LogLevel::kDebug: spdlog::debug("{}", record.text); break;
    case sweep::LogLevel::kInfo: spdlog::info("{}", record.text); break;
    case sweep::LogLevel::kWarning: spdlog::warn("{}", record.text); break;
    case sweep::LogLevel::kError: spdlog::error("{}", record.text); break;
  }
}

ProgressLine::ProgressLine() : is_terminal_(isatty(STDERR_FILENO) == 1) {}

void ProgressLine::Show(const std::string& text) {
  if (!is_terminal_) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::Clear() {
  if (!shown_) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace fabricd::daemon
