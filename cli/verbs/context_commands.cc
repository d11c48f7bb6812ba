// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/context_commands.h"

#include <fmt/format.h>

namespace fabricd::cli {
namespace {

Result NoContext(const std::string& name) {
  return {kNotFound, fmt::format("no context \"{}\" (fabricctl config get-contexts)", name)};
}

}  // namespace

Result ShowContexts(const Globals& globals) {
  ContextFile file;
  if (Result result = LoadContexts(&file); !result.ok()) return result;
  Table table({"CURRENT", "NAME", "SERVER", "TLS-CERT", "TIMEOUT"});
  for (const auto& [name, context] : file.contexts) {
    if (globals.format == Format::kName) Print(name + "\n");
    table.AddRow({name == file.current ? "*" : "-", name, context.server, context.tls_cert,
                  context.timeout});
  }
  if (globals.format != Format::kName) Print(table.Render(globals.style));
  return {};
}

Result ShowCurrentContext() {
  ContextFile file;
  if (Result result = LoadContexts(&file); !result.ok()) return result;
  if (file.current.empty()) return {kNotFound, "no context is in use"};
  Print(file.current + "\n");
  return {};
}

Result UseContext(const std::string& name) {
  ContextFile file;
  if (Result result = LoadContexts(&file); !result.ok()) return result;
  if (file.contexts.count(name) == 0) return NoContext(name);
  file.current = name;
  if (Result result = SaveContexts(file); !result.ok()) return result;
  Print(fmt::format("context {} in use\n", name));
  return {};
}

Result DeleteContext(const std::string& name) {
  ContextFile file;
  if (Result result = LoadContexts(&file); !result.ok()) return result;
  if (file.contexts.erase(name) == 0) return NoContext(name);
  if (file.current == name) file.current.clear();
  if (Result result = SaveContexts(file); !result.ok()) return result;
  Print(fmt::format("context {} deleted\n", name));
  return {};
}

Result SetContext(const std::string& name, const Context& typed) {
  if (typed == Context())
    return {kUsage, "one of --server, --tls-cert, --tls-key, --tls-ca, --timeout is needed"};
  ContextFile file;
  if (Result result = LoadContexts(&file); !result.ok()) return result;
  Context& kept = file.contexts[name];
  for (const auto field : {&Context::server, &Context::tls_cert, &Context::tls_key,
                           &Context::tls_ca, &Context::timeout}) {
    if (!(typed.*field).empty()) kept.*field = typed.*field;
  }
  if (Result result = SaveContexts(file); !result.ok()) return result;
  Print(fmt::format("context {} set\n", name));
  return {};
}

}  // namespace fabricd::cli
