// SPDX-License-Identifier: Apache-2.0
// What holds for every command, and how commands print.
#pragma once

#include <optional>
#include <string>

#include <google/protobuf/message.h>

#include "cli/client/client.h"
#include "cli/render/table.h"
#include "cli/terminal/print.h"

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
  kIbqueryerrors,
  kPerfquery,
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
// Through $PAGER where globals allow it and it is longer than the screen.
void PrintLong(const Globals& globals, const std::string& text);

}  // namespace fabricd::cli
