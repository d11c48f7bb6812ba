// SPDX-License-Identifier: Apache-2.0
#include "sa/view/prefix_routes.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace fabricd::sa {
namespace {

constexpr std::string_view kSpace = " \t\r";

std::string_view TakeWord(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kSpace), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(" \t\r#"));
  line.remove_prefix(word.size());
  return word;
}

// 0 for "*". nullopt: neither that nor a number; 0 as a number would mean the same.
std::optional<uint64_t> NumberOf(std::string_view word) {
  if (word == "*") return 0;
  if (word.substr(0, 2) == "0x" || word.substr(0, 2) == "0X") word.remove_prefix(2);
  uint64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number, 16);
  if (word.empty() || error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace

ParsedPrefixRoutes ParsePrefixRoutes(std::string_view text) {
  ParsedPrefixRoutes parsed;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view prefix = TakeWord(line);
    if (prefix.empty()) continue;
    const std::string_view router = TakeWord(line);
    const auto fault = [&](std::string reason) {
      parsed.faults.push_back({number, std::move(reason)});
    };
    const std::optional<uint64_t> prefix_number = NumberOf(prefix), guid = NumberOf(router);
    if (!prefix_number)
      fault(fmt::format("{} is neither * nor a subnet prefix of 64 bits", prefix));
    else if (!guid)
      fault(router.empty() ? std::string("no GUID of a router's port")
                           : fmt::format("{} is neither * nor a GUID", router));
    else if (parsed.routes.size() >= ParsedPrefixRoutes::kMost)
      fault(fmt::format("more than {} routes", ParsedPrefixRoutes::kMost));
    else
      parsed.routes.push_back({*prefix_number, Guid(*guid)});
    if (parsed.faults.size() >= ParsedPrefixRoutes::kMost) break;
  }
  return parsed;
}

}  // namespace fabricd::sa
