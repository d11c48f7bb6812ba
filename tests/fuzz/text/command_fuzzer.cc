// SPDX-License-Identifier: Apache-2.0
// What is typed after fabricctl, its file of contexts and Slurm's topology, of any bytes: what is
// read has a meaning, and what is not is refused with a reason.
#include <cstddef>
#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/client/contexts.h"
#include "cli/render/fields.h"
#include "cli/render/selector.h"
#include "cli/render/slurm_tree.h"
#include "cli/shell/completion.h"
#include "cli/shell/grammar.h"
#include "cli/verbs/globals.h"
#include "cli/verbs/listing.h"
#include "cli/verbs/resource.h"
#include "cli/verbs/sim_commands.h"
#include "common/check.h"
#include "common/utf8.h"
#include "fabric/v1/topology_service.pb.h"
#include "tests/fuzz/bytes.h"

namespace fabricd::cli {
namespace {

void CheckRefusal(const Result& result) {
  FABRICD_CHECK(result.ok() || (result.code == kUsage && !result.message.empty()));
}

void CheckFields(const std::string& text) {
  ::fabric::v1::Port port;
  port.set_name("leaf1/3");
  port.mutable_id()->set_number(3);
  const auto* type = ::fabric::v1::Port::descriptor();
  std::string reason;
  if (const auto path = FieldPath::Parse(text, type, &reason))
    FABRICD_CHECK(path->Text(port).find('\0') == std::string::npos);
  else
    FABRICD_CHECK(!reason.empty());
  std::vector<Column> columns;
  CheckRefusal(ParseColumns(text, type, &columns));
  for (const auto by : {Selector::By::kLabels, Selector::By::kFields}) {
    Selector selector;
    const Result read = Selector::Parse(text, type, by, &selector);
    CheckRefusal(read);
    if (read.ok() && text.empty()) FABRICD_CHECK(selector.Matches(port));
  }
}

void CheckWords(const std::string& first, const std::string& second) {
  std::optional<Timeout> timeout;
  CheckRefusal(ReadTimeout("--timeout", first, &timeout));
  FABRICD_CHECK(!timeout || ParseTimeout(first).has_value());
  if (const auto format = ParseFormat(first)) FABRICD_CHECK(ParseFormat(first) == format);
  Resource resource{};
  std::vector<std::string> names;
  CheckRefusal(ReadResource(first, {second}, &resource, &names));
  simpb::SetErrorsRequest errors;
  CheckRefusal(ReadSimErrors({first, second}, &errors));
  CLI::App app;
  app.add_subcommand("get")->add_option("-o,--output");
  (void)ReadWords(app, {first, "get", second});
}

void CheckContexts(const std::string& text) {
  ContextFile file;
  const Result read = ParseContexts(text, &file);
  CheckRefusal(read);
  if (!read.ok() || Utf8(text) != text) return;  // YAML is UTF-8, and written as that.
  ContextFile again;
  FABRICD_CHECK(ParseContexts(FormatContexts(file), &again).ok());
  FABRICD_CHECK(again == file);
}

void CheckSlurm(const std::string& text) {
  for (const auto read : {ReadSlurmConf, ReadSlurmYaml}) {
    SlurmTree tree;
    const Result result = read(text, &tree);
    FABRICD_CHECK(result.ok() || (result.code == kFailure && !result.message.empty()));
    SlurmTree same = tree, none;
    FABRICD_CHECK(KeepAbsent(tree, &same).empty());
    FABRICD_CHECK(same.size() == tree.size());
    (void)KeepAbsent(tree, &none);
    FABRICD_CHECK(KeepAbsent(tree, &none).empty());
  }
}

}  // namespace
}  // namespace fabricd::cli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fabricd::test::FuzzBytes input(data, size);
  const std::string first = input.Line(), second = input.Line(), rest = input.Rest();
  fabricd::cli::CheckFields(first);
  fabricd::cli::CheckWords(first, second);
  fabricd::cli::CheckContexts(rest);
  fabricd::cli::CheckSlurm(rest);
  return 0;
}
