// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/print.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "cli/terminal/terminal_text.h"

namespace fabricd::cli {
namespace {

winsize ScreenSize() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size : winsize{};
}

const char* Pager() {
  const char* pager = std::getenv("PAGER");
  return pager ? pager : "less";
}

}  // namespace

size_t ScreenLines() { return ScreenSize().ws_row; }
size_t ScreenColumns() { return ScreenSize().ws_col; }

void PrintScreen(const std::string& text) {
  // Each line is cleared behind its text, and the screen below the last: nothing flickers.
  std::string shown = "\x1b[H";
  for (const char c : ForTerminal(text)) {
    if (c == '\n') shown += "\x1b[K";
    shown += c;
  }
  shown += "\x1b[J";
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);
}

void Print(const std::string& text) {
  const std::string shown = ForTerminal(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);
}

void PrintErrorText(const std::string& text) {
  const std::string shown = ForTerminal(text);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

void PrintPaged(const std::string& text) {
  const size_t screen = ScreenLines();
  const auto lines = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  const std::string pager = Pager();
  if (screen == 0 || lines < screen || pager.empty()) return Print(text);
  setenv("LESS", "FRSX", /*overwrite=*/0);
  // Leaving the pager early is no failure.
  std::signal(SIGPIPE, SIG_IGN);
  FILE* pipe = popen(pager.c_str(), "w");
  if (!pipe) return Print(text);
  const std::string shown = ForTerminal(text);
  std::fwrite(shown.data(), 1, shown.size(), pipe);
  constexpr int kNoSuchCommand = 127 << 8;
  if (pclose(pipe) == kNoSuchCommand) Print(text);
}

}  // namespace fabricd::cli
