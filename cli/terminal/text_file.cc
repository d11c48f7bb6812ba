// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/text_file.h"

#include <fstream>
#include <iostream>
#include <iterator>

#include <fmt/format.h>

namespace fabricd::cli {

Result ReadTextFile(const std::string& path, std::string* text) {
  const auto read = [&](std::istream& in) {
    text->assign(std::istreambuf_iterator<char>(in), {});
    return !in.bad();
  };
  if (path == "-")
    return read(std::cin) ? Result() : Result{kFailure, "standard input cannot be read"};
  std::ifstream in(path, std::ios::binary);
  if (!in || !read(in)) return {kFailure, fmt::format("{} cannot be read", path)};
  return {};
}

}  // namespace fabricd::cli
