// SPDX-License-Identifier: Apache-2.0
// cli/terminal: what commands print and read of files, and how they end.
// All that is printed passes here: no text of a device or user reaches a terminal as a control
// sequence (terminal_text.h; tools/layers).
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>

namespace fabricd::cli {

void Print(const std::string& text);
void PrintErrorText(const std::string& text);
template <typename... Args>
void PrintError(fmt::format_string<Args...> format, Args&&... args) {
  PrintErrorText(fmt::format(format, std::forward<Args>(args)...));
}
// In place of what the terminal shows.
void PrintScreen(const std::string& text);
// Of the terminal; 0: standard output is none.
size_t ScreenLines();
size_t ScreenColumns();
// Through $PAGER where the text is longer than the screen.
void PrintPaged(const std::string& text);

}  // namespace fabricd::cli
