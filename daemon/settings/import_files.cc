// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/import_files.h"

#include <filesystem>
#include <utility>

#include "common/status.h"
#include "daemon/base/side_file.h"

namespace fabricd::daemon {
namespace {

// What a result may refer to, and where OpenSM's packages keep it when it is not beside the
// configuration.
constexpr const char* kBeside[] = {"partitions.conf", "guid2lid", "guid2mkey", "neighbors",
                                   "prefix-routes.conf"};
constexpr char kConf[] = "opensm.conf";
// OpenSM's conf without a key for it reads this one all the same.
constexpr char kPartitionsLine[] = "partition_config_file ";

}  // namespace

absl::StatusOr<config::OpensmFiles> ReadOpensmFiles(const std::string& path) {
  std::error_code error;
  const std::filesystem::path given = std::filesystem::absolute(path, error);
  const bool is_directory = std::filesystem::is_directory(given, error);
  const std::filesystem::path directory = is_directory ? given : given.parent_path();
  const std::filesystem::path conf = is_directory ? given / kConf : given;
  config::OpensmFiles files;
  files.directory = directory.string();
  while (files.directory.size() > 1 && files.directory.back() == '/') files.directory.pop_back();
  for (const char* name : kBeside) {
    auto text = ReadText((directory / name).string());
    if (text.ok() && std::filesystem::is_regular_file(directory / name, error))
      files.files[name] = *std::move(text);
  }
  auto text = ReadText(conf.string());
  const bool has_conf = text.ok() && std::filesystem::is_regular_file(conf, error);
  if (!has_conf && (!is_directory || files.files.empty()))
    return NotFound("{}: no configuration of OpenSM", conf.string());
  if (has_conf) files.conf = *std::move(text);
  if (files.files.contains("partitions.conf") &&
      ("\n" + files.conf).find("\n" + std::string(kPartitionsLine)) == std::string::npos)
    files.conf += "\n" + std::string(kPartitionsLine) + "partitions.conf\n";
  return files;
}

}  // namespace fabricd::daemon
