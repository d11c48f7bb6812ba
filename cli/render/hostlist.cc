// SPDX-License-Identifier: Apache-2.0
#include "cli/render/hostlist.h"

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

// "rack1-node07-ib": "rack1-node", 07, "-ib". Without a number all is head.
struct Numbered {
  std::string head, tail;
  size_t digits = 0;  // 0: no number.
  bool padded = false;
  unsigned long number = 0;

  // Whether both can stand in one bracket: equal widths where zeros lead.
  bool IsLike(const Numbered& other) const {
    return digits > 0 && other.digits > 0 && head == other.head && tail == other.tail &&
           (digits == other.digits || (!padded && !other.padded));
  }
};

struct Run {
  Numbered first;
  unsigned long last = 0;

  bool Continues(const Numbered& next) const {
    return first.IsLike(next) && next.number == last + 1 && (first.padded || !next.padded);
  }
  std::string Text() const {
    const std::string begin = fmt::format("{:0{}}", first.number, first.digits);
    if (last == first.number) return begin;
    return fmt::format("{}-{:0{}}", begin, last, first.digits);
  }
};

Numbered SplitNumber(const std::string& name) {
  Numbered split;
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto last = std::find_if(name.rbegin(), name.rend(), is_digit).base();
  auto first = last;
  while (first != name.begin() && is_digit(*(first - 1))) --first;
  const std::string digits(first, last);
  split.head.assign(name.begin(), first);
  if (digits.empty() || digits.size() > 9) return {name, "", 0, false, 0};
  split.tail.assign(last, name.end());
  split.digits = digits.size();
  split.padded = digits.front() == '0' && digits.size() > 1;
  split.number = std::stoul(digits);
  return split;
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

std::string FormatHostlist(const Names& names) {
  std::vector<Run> runs;
  for (const std::string& name : names) {
    const Numbered numbered = SplitNumber(name);
    if (!runs.empty() && runs.back().Continues(numbered)) {
      runs.back().last = numbered.number;
    } else {
      runs.push_back({numbered, numbered.number});
    }
  }
  std::string text;
  for (size_t i = 0; i < runs.size();) {
    size_t end = i + 1;
    while (end < runs.size() && runs[i].first.IsLike(runs[end].first)) ++end;
    if (i > 0) text += ',';
    text += runs[i].first.head;
    if (runs[i].first.digits > 0) {
      std::vector<std::string> ranges;
      for (size_t run = i; run < end; ++run) ranges.push_back(runs[run].Text());
      const bool one = ranges.size() == 1 && runs[i].first.number == runs[i].last;
      text += one ? ranges.front() : fmt::format("[{}]", fmt::join(ranges, ","));
      text += runs[i].first.tail;
    }
    i = end;
  }
  return text;
}

Result ExpandNames(const Names& words, bool ports, Names* names) {
  for (const std::string& word : words) {
    std::string error;
    const auto expanded = ExpandHostlist(word, ports, &error);
    if (!expanded) return {kUsage, error};
    names->insert(names->end(), expanded->begin(), expanded->end());
  }
  return {};
}

}  // namespace fabricd::cli
