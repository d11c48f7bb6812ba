// SPDX-License-Identifier: Apache-2.0
#include "daemon/settings/partitions_file.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "common/status.h"
#include "daemon/base/side_file.h"
#include "policy/partitions_text.h"

namespace fabricd::daemon {
namespace {

// Kept on disk: it may never change (FNV-1a).
std::string DigestOf(const std::string& text) {
  uint64_t hash = 0xCBF29CE484222325;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return fmt::format("{:016x}-{}", hash, text.size());
}

}  // namespace

absl::StatusOr<policy::PartitionRequest> ReadPartitionsFile(const std::string& path) {
  constexpr char kKey[] = "partitions.file";
  const auto text = ReadFileOf(kKey, path, policy::kMaxPartitionsText);
  if (!text.ok()) return text.status();
  policy::ParsedPartitions parsed = policy::ParsePartitions(*text);
  if (!parsed.ok())
    return InvalidArgument("{}: {}: {}", kKey, path,
                           policy::FaultsText(parsed.faults, parsed.faults.size()));
  for (const policy::LineNote& note : parsed.notes)
    spdlog::warn("{}: line {}: {}", path, note.line, note.text);
  policy::PartitionRequest request;
  request.all = std::move(parsed.partitions);
  request.file_digest = DigestOf(*text);
  return request;
}

}  // namespace fabricd::daemon
