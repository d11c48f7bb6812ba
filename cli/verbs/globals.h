// SPDX-License-Identifier: Apache-2.0
// What holds for every command, and how commands print.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <google/protobuf/message.h>

#include "cli/client/client.h"
#include "cli/render/table.h"

namespace fabricd::cli {

enum class Format {
  kTable,
  kWide,
  kJson,
  kYaml,
  kName,
  kCustomColumns,
  kIbnetdiscover,
  kIbroute,
  kIbtracert,
  kConf,
  kTree,
  kDot,
  kSvg,
  kSlurmConf,
  kSlurmYaml,
  kTopograph,
  kK8sLabels
};
// By its word; "custom-columns=…" is custom-columns.
std::optional<Format> ParseFormat(const std::string& word);

struct Globals {
  Endpoint endpoint;
  std::optional<Timeout> timeout;
  Format format = Format::kTable;
  bool format_given = false;
  std::string columns;  // Of custom-columns: what follows the '='.
  TableStyle style;
  bool pager = false;  // Long texts may be shown page by page.

  bool IsTable() const { return format == Format::kTable || format == Format::kWide; }
  // Whether all that there is to know is shown.
  bool wide() const { return format != Format::kTable && format != Format::kName; }
};

// Milliseconds since 1970.
int64_t NowMs();

// Writes a message as JSON or YAML, whichever globals ask for. False: neither.
bool PrintDocument(const Globals& globals, const google::protobuf::Message& message);
// All that is printed passes here, or PrintError(): no text of a device or user reaches a terminal
// as a control sequence (terminal_text.h; tools/layers).
void Print(const std::string& text);
void PrintErrorText(const std::string& text);
template <typename... Args>
void PrintError(fmt::format_string<Args...> format, Args&&... args) {
  PrintErrorText(fmt::format(format, std::forward<Args>(args)...));
}
// Through $PAGER where globals allow it and it is longer than the screen.
void PrintLong(const Globals& globals, const std::string& text);

}  // namespace fabricd::cli
