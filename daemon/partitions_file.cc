// SPDX-License-Identifier: Apache-2.0
#include "daemon/partitions_file.h"

#include <fstream>
#include <iterator>
#include <utility>

#include <spdlog/spdlog.h>

#include "common/status.h"
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
  std::ifstream in(path, std::ios::binary);
  if (!in) return NotFound("{}: cannot be read", path);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) return Unavailable("{}: cannot be read to its end", path);
  if (text.size() > policy::kMaxPartitionsText)
    return InvalidArgument("{}: more than {} MiB", path, policy::kMaxPartitionsText >> 20);
  policy::ParsedPartitions parsed = policy::ParsePartitions(text);
  if (!parsed.ok())
    return InvalidArgument("{}: {}", path, policy::FaultsText(parsed.faults, parsed.faults.size()));
  for (const policy::LineNote& note : parsed.notes)
    spdlog::warn("{}: line {}: {}", path, note.line, note.text);
  policy::PartitionRequest request;
  request.all = std::move(parsed.partitions);
  request.file_digest = DigestOf(text);
  return request;
}

}  // namespace fabricd::daemon
