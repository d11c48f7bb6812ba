// SPDX-License-Identifier: Apache-2.0
#include "cli/render/table.h"

#include <algorithm>

namespace fabricd::cli {
namespace {

constexpr size_t kGap = 3;

// Columns on a terminal, taking each code point for one.
size_t Width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

const char* ColorCode(Tone tone) {
  switch (tone) {
    case Tone::kGood: return "\x1b[32m";
    case Tone::kWarning: return "\x1b[33m";
    case Tone::kBad: return "\x1b[31m";
    case Tone::kPlain: break;
  }
  return "";
}

}  // namespace

std::string Colored(const Cell& cell, bool color) {
  if (!color || cell.tone == Tone::kPlain) return cell.text;
  return ColorCode(cell.tone) + cell.text + "\x1b[0m";
}

void Table::AddRow(std::vector<Cell> cells) {
  for (Cell& cell : cells) {
    if (cell.text.empty()) cell.text = "<none>";
  }
  cells.resize(headers_.size(), Cell("<none>"));
  rows_.push_back(std::move(cells));
}

void Table::AddColumn(std::string header, std::vector<std::string> cells) {
  headers_.push_back(std::move(header));
  for (size_t i = 0; i < rows_.size(); ++i)
    rows_[i].emplace_back(cells[i].empty() ? "<none>" : std::move(cells[i]));
}

bool Table::HasColumn(const std::string& header) const {
  return std::find(headers_.begin(), headers_.end(), header) != headers_.end();
}

void Table::SetColumn(const std::string& header, const Cell& cell) {
  for (size_t column = 0; column < headers_.size(); ++column) {
    if (headers_[column] != header) continue;
    for (auto& row : rows_) row[column] = cell;
  }
}

void Table::AddWord(const std::string& header, const Cell& word) {
  for (size_t column = 0; column < headers_.size(); ++column) {
    if (headers_[column] != header) continue;
    for (auto& row : rows_)
      row[column] = {row[column].text.empty() ? word.text : row[column].text + "," + word.text,
                     word.tone};
  }
}

std::vector<size_t> Table::Widths(const TableStyle& style, const std::vector<size_t>& least) const {
  std::vector<size_t> widths = least;
  widths.resize(headers_.size(), 0);
  for (size_t column = 0; column < headers_.size(); ++column) {
    if (style.headers) widths[column] = std::max(widths[column], Width(headers_[column]));
    for (const auto& row : rows_)
      widths[column] = std::max(widths[column], Width(row[column].text));
  }
  return widths;
}

std::string Table::Render(const TableStyle& style, const std::vector<size_t>& widths) const {
  std::string out;
  const auto append_line = [&](const std::vector<Cell>& cells, bool color) {
    for (size_t column = 0; column < cells.size(); ++column) {
      out += Colored(cells[column], color);
      if (column + 1 == cells.size()) break;
      out.append(widths[column] - Width(cells[column].text) + kGap, ' ');
    }
    out += '\n';
  };
  if (style.headers) append_line({headers_.begin(), headers_.end()}, false);
  for (const auto& row : rows_) append_line(row, style.color);
  return out;
}

}  // namespace fabricd::cli
