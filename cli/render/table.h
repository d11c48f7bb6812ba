// SPDX-License-Identifier: Apache-2.0
// cli/render: answers as text: tables, JSON, YAML, pictures, schedulers' formats. Pure.
//
// Table: aligned columns in the manner of kubectl. UPPERCASE headers, three blanks between columns,
// no borders, no blanks at the end of a line. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/terminal/terminal_text.h"

namespace fabricd::cli {

enum class Tone : uint8_t { kPlain, kGood, kWarning, kBad };

struct Cell {
  Cell(const std::string& t) : text(OneLine(t)) {}  // NOLINT: cells are written as texts.
  Cell(const char* t) : text(OneLine(t)) {}         // NOLINT
  Cell(const std::string& t, Tone c) : text(OneLine(t)), tone(c) {}
  std::string text;
  Tone tone = Tone::kPlain;
};

// The text in its tone's colour, or just the text.
std::string Colored(const Cell& cell, bool color);

struct TableStyle {
  bool headers = true;
  bool color = false;
};

class Table {
 public:
  explicit Table(std::vector<std::string> headers) : headers_(std::move(headers)) {}
  // REQUIRES: as many cells as there are headers. An empty cell shows as "<none>".
  void AddRow(std::vector<Cell> cells);
  // A column at the right. REQUIRES: as many cells as there are rows.
  void AddColumn(std::string header, std::vector<std::string> cells);
  // The same columns without rows.
  Table EmptyCopy() const { return Table(headers_); }
  size_t size() const { return rows_.size(); }
  const std::vector<std::vector<Cell>>& rows() const { return rows_; }
  bool HasColumn(const std::string& header) const;
  // What every cell of the column with this header shows from now on; nothing without one.
  void SetColumn(const std::string& header, const Cell& cell);
  // Adds a word, behind a comma, to every cell of that column.
  void AddWord(const std::string& header, const Cell& word);
  // Of each column, at least `least`.
  std::vector<size_t> Widths(const TableStyle& style, const std::vector<size_t>& least = {}) const;
  std::string Render(const TableStyle& style) const { return Render(style, Widths(style)); }
  // With columns of these widths.
  std::string Render(const TableStyle& style, const std::vector<size_t>& widths) const;

 private:
  std::vector<std::string> headers_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace fabricd::cli
