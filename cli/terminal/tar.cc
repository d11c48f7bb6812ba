// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/tar.h"

#include <numeric>

#include <fmt/format.h>

namespace fabricd::cli {
namespace {

constexpr size_t kBlock = 512;

}  // namespace

std::string TarHeader(const std::string& name, uint64_t size, int64_t seconds) {
  std::string header(kBlock, '\0');
  const auto put = [&](size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  put(0, name.substr(0, 100));
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", size));
  put(136, fmt::format("{:011o}", seconds));
  put(148, "        ");  // The checksum counts as blanks in itself.
  put(156, "0");
  put(257, "ustar");
  put(263, "00");
  const uint32_t sum = std::accumulate(header.begin(), header.end(), 0u, [](uint32_t all, char c) {
    return all + static_cast<unsigned char>(c);
  });
  put(148, fmt::format("{:06o}", sum) + '\0' + ' ');
  return header;
}

void TarWriter::Add(const std::string& name, const std::string& content, int64_t seconds) {
  out_ << TarHeader(name, content.size(), seconds) << content;
  if (const size_t rest = content.size() % kBlock; rest > 0)
    out_ << std::string(kBlock - rest, '\0');
}

bool TarWriter::Close() {
  out_ << std::string(2 * kBlock, '\0');
  out_.close();
  return out_.good();
}

}  // namespace fabricd::cli
