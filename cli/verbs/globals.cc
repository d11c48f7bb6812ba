// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/globals.h"

#include <chrono>
#include <map>

#include "cli/render/output.h"

namespace fabricd::cli {
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
                                                         {"ibqueryerrors", Format::kIbqueryerrors},
                                                         {"perfquery", Format::kPerfquery},
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

void PrintLong(const Globals& globals, const std::string& text) {
  if (globals.pager)
    PrintPaged(text);
  else
    Print(text);
}

bool PrintDocument(const Globals& globals, const google::protobuf::Message& message) {
  if (globals.format == Format::kJson) PrintLong(globals, ToJson(message));
  if (globals.format == Format::kYaml) PrintLong(globals, "---\n" + ToYaml(message));
  return globals.format == Format::kJson || globals.format == Format::kYaml;
}

}  // namespace fabricd::cli
