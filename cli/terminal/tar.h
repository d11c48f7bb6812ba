// SPDX-License-Identifier: Apache-2.0
// TarWriter: a tar archive (POSIX ustar), a file at a time.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace fabricd::cli {

// The header block of one file: 512 bytes. `name` of at most 100 bytes, `seconds` since 1970. Pure.
std::string TarHeader(const std::string& name, uint64_t size, int64_t seconds);

class TarWriter {
 public:
  explicit TarWriter(const std::string& path) : out_(path, std::ios::binary | std::ios::trunc) {}

  void Add(const std::string& name, const std::string& content, int64_t seconds);
  // False: something could not be written.
  bool Close();

 private:
  std::ofstream out_;
};

}  // namespace fabricd::cli
