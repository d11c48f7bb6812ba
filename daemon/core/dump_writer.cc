// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/dump_writer.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/status.h"

namespace fabricd::daemon {

DumpWriter::DumpWriter(std::string folder, Dumps make)
    : folder_(std::move(folder)),
      make_(std::move(make)),
      files_(1, [](const std::function<void()>& job) { job(); }) {}

void DumpWriter::Post() {
  // If a job waits already, it will write this view.
  if (!folder_.empty()) (void)files_.Post([this] { Write(); });
}

void DumpWriter::Write() const {
  auto dumps = make_();
  if (!dumps.ok()) {
    spdlog::error("dump: {}", Message(dumps.status()));
    return;
  }
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  for (const auto& [name, text] : *dumps) {
    std::ofstream file(std::filesystem::path(folder_) / name, std::ios::binary);
    file << text;
    if (!file.flush()) spdlog::error("dump: {}/{} cannot be written", folder_, name);
  }
}

}  // namespace fabricd::daemon
