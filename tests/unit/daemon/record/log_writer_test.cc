// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/log_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>

namespace fabricd::daemon {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Stands for stderr; hangs until it is released.
class Terminal final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::vector<std::string> lines;
  std::shared_future<void> released;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (released.valid()) released.wait();
    lines.emplace_back(message.payload.data(), message.payload.size());
  }
  void flush_() override {}
};

class LogWriterTest : public ::testing::Test {
 protected:
  void Open() { logger_ = std::make_unique<spdlog::logger>("", MakeWriter()); }
  std::shared_ptr<LogWriter> MakeWriter() {
    auto writer = std::make_shared<LogWriter>(terminal_);
    writer_ = writer.get();
    return writer;
  }
  // Ends the writer; what it has written.
  const std::vector<std::string>& Written() {
    logger_.reset();
    return terminal_->lines;
  }

  std::shared_ptr<Terminal> terminal_ = std::make_shared<Terminal>();
  LogWriter* writer_ = nullptr;
  std::unique_ptr<spdlog::logger> logger_;
};

TEST_F(LogWriterTest, WritesAllInOrderBeforeItEnds) {
  Open();
  logger_->info("a");
  logger_->warn("b");
  EXPECT_THAT(Written(), ::testing::ElementsAre("a", "b"));
}

TEST_F(LogWriterTest, ATerminalThatHangsDelaysNoCallerAndDropsAreCounted) {
  std::promise<void> released;
  terminal_->released = released.get_future().share();
  Open();
  writer_->SetGated(false);
  for (size_t i = 0; i < 3 * LogWriter::kLines; ++i) logger_->info("line {}", i);
  released.set_value();
  const auto& lines = Written();
  EXPECT_LE(lines.size(), 2 * LogWriter::kLines + 2) << "with a notice of drops per batch";
  EXPECT_GE(lines.size(), LogWriter::kLines);
  // Not the last one where the log thread starts late: it then finds drops in its first batch.
  EXPECT_THAT(lines, Contains(HasSubstr("came faster than they could be written")));
}

TEST_F(LogWriterTest, EndsAlthoughTheTerminalHangs) {
  std::promise<void> released;
  terminal_->released = released.get_future().share();
  Open();
  logger_->info("a");
  logger_.reset();
  released.set_value();  // The thread that was left behind ends too.
}

TEST_F(LogWriterTest, FoldsAFloodUnlessUngated) {
  Open();
  for (int i = 0; i < 1000; ++i) logger_->info("trap {} from LID {}", i, i);
  EXPECT_LT(Written().size(), 30u);
  terminal_->lines.clear();
  Open();
  writer_->SetGated(false);
  for (int i = 0; i < 1000; ++i) logger_->info("trap {} from LID {}", i, i);
  EXPECT_EQ(Written().size(), 1000u);
}

TEST_F(LogWriterTest, CutsALineThatIsTooLong) {
  Open();
  logger_->info(std::string(100'000, 'x'));
  EXPECT_EQ(Written().at(0).size(), LogWriter::kLongestLine);
}

}  // namespace
}  // namespace fabricd::daemon
