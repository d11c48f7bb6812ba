// SPDX-License-Identifier: Apache-2.0
#include "cli/hostlist.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace fabricd::cli {
namespace {

using Names = std::vector<std::string>;

// Splits at commas outside of brackets.
Names SplitList(const std::string& text) {
  Names parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += (c == '[') - (c == ']');
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

bool IsNumber(const std::string& text) {
  return !text.empty() && text.size() <= 9 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

// "01-03,7" → "01", "02", "03", "7".
bool ExpandRanges(const std::string& text, Names* out, std::string* error) {
  for (const std::string& range : SplitList(text)) {
    const size_t dash = range.find('-');
    const std::string first = range.substr(0, dash);
    const std::string last = dash == std::string::npos ? first : range.substr(dash + 1);
    if (!IsNumber(first) || !IsNumber(last) || std::stoul(first) > std::stoul(last)) {
      *error = fmt::format("\"{}\" in [{}] is no range of numbers", range, text);
      return false;
    }
    for (unsigned long number = std::stoul(first); number <= std::stoul(last); ++number) {
      out->push_back(fmt::format("{:0{}}", number, first.size()));
      if (out->size() > kMostNames) {
        *error = fmt::format("[{}] is more than {} names", text, kMostNames);
        return false;
      }
    }
  }
  return true;
}

// One name with any number of brackets.
bool ExpandName(const std::string& text, bool ports, Names* out, std::string* error) {
  Names heads = {""};
  for (size_t at = 0; at < text.size();) {
    const size_t open = text.find('[', at);
    const std::string plain = text.substr(at, open == std::string::npos ? open : open - at);
    for (std::string& head : heads) head += plain;
    if (open == std::string::npos) break;
    const size_t close = text.find(']', open);
    if (close == std::string::npos) {
      *error = fmt::format("\"{}\" has a [ without its ]", text);
      return false;
    }
    Names numbers, longer;
    if (!ExpandRanges(text.substr(open + 1, close - open - 1), &numbers, error)) return false;
    if (heads.size() * numbers.size() > kMostNames) {
      *error = fmt::format("\"{}\" is more than {} names", text, kMostNames);
      return false;
    }
    const bool port = ports && close + 1 == text.size();
    for (const std::string& head : heads)
      for (const std::string& number : numbers) longer.push_back(head + (port ? "/" : "") + number);
    heads = std::move(longer);
    at = close + 1;
  }
  out->insert(out->end(), heads.begin(), heads.end());
  return true;
}

}  // namespace

std::optional<Names> ExpandHostlist(const std::string& text, bool ports, std::string* error) {
  Names names;
  for (const std::string& part : SplitList(text)) {
    if (part.empty()) {
      *error = fmt::format("\"{}\" has an empty name", text);
      return std::nullopt;
    }
    if (!ExpandName(part, ports, &names, error)) return std::nullopt;
    if (names.size() > kMostNames) {
      *error = fmt::format("\"{}\" is more than {} names", text, kMostNames);
      return std::nullopt;
    }
  }
  return names;
}

}  // namespace fabricd::cli
