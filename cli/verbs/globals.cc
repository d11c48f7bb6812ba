// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/globals.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "cli/render/output.h"
#include "cli/terminal/terminal_text.h"

namespace fabricd::cli {
namespace {

// Lines of the terminal; 0: unknown.
size_t ScreenLines() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

const char* Pager() {
  const char* pager = std::getenv("PAGER");
  return pager ? pager : "less";
}

}  // namespace

std::optional<Format> ParseFormat(const std::string& word) {
  static const std::map<std::string, Format> kFormats = {{"table", Format::kTable},
                                                         {"wide", Format::kWide},
                                                         {"json", Format::kJson},
                                                         {"yaml", Format::kYaml},
                                                         {"name", Format::kName},
                                                         {"custom-columns", Format::kCustomColumns},
                                                         {"ibnetdiscover", Format::kIbnetdiscover},
                                                         {"ibroute", Format::kIbroute},
                                                         {"ibtracert", Format::kIbtracert},
                                                         {"conf", Format::kConf},
                                                         {"tree", Format::kTree},
                                                         {"dot", Format::kDot},
                                                         {"svg", Format::kSvg},
                                                         {"slurm-conf", Format::kSlurmConf},
                                                         {"slurm-yaml", Format::kSlurmYaml},
                                                         {"topograph", Format::kTopograph},
                                                         {"k8s-labels", Format::kK8sLabels}};
  const auto known = kFormats.find(word.substr(0, word.find('=')));
  if (known == kFormats.end()) return std::nullopt;
  const bool has_value = word.find('=') != std::string::npos;
  if (has_value != (known->second == Format::kCustomColumns)) return std::nullopt;
  return known->second;
}

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
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

void PrintLong(const Globals& globals, const std::string& text) {
  const size_t screen = globals.pager ? ScreenLines() : 0;
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

bool PrintDocument(const Globals& globals, const google::protobuf::Message& message) {
  if (globals.format == Format::kJson) PrintLong(globals, ToJson(message));
  if (globals.format == Format::kYaml) PrintLong(globals, "---\n" + ToYaml(message));
  return globals.format == Format::kJson || globals.format == Format::kYaml;
}

}  // namespace fabricd::cli
