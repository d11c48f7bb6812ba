// SPDX-License-Identifier: Apache-2.0
#include "cli/client/contexts.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

namespace fabricd::cli {
namespace {

struct Key {
  const char* name;
  std::string Context::*field;
};
constexpr Key kKeys[] = {{"server", &Context::server},
                         {"tls-cert", &Context::tls_cert},
                         {"tls-key", &Context::tls_key},
                         {"tls-ca", &Context::tls_ca},
                         {"timeout", &Context::timeout}};

Result ReadContext(const std::string& name, const YAML::Node& node, Context* context) {
  if (!node.IsMap()) return {kUsage, fmt::format("contexts.{} is no map", name)};
  for (const auto& entry : node) {
    const auto key = entry.first.as<std::string>();
    const Key* known = nullptr;
    for (const Key& each : kKeys) known = key == each.name ? &each : known;
    if (!known || !entry.second.IsScalar())
      return {kUsage, fmt::format("contexts.{}.{} is no text that a context has", name, key)};
    context->*(known->field) = entry.second.as<std::string>();
  }
  return {};
}

Result ReadContextFile(const YAML::Node& root, ContextFile* file) {
  if (root.IsNull()) return {};
  if (!root.IsMap()) return {kUsage, "not a map"};
  for (const auto& entry : root) {
    const auto key = entry.first.as<std::string>();
    if (key == "current-context" && entry.second.IsScalar()) {
      file->current = entry.second.as<std::string>();
    } else if (key == "contexts" && entry.second.IsMap()) {
      for (const auto& context : entry.second) {
        const auto name = context.first.as<std::string>();
        if (Result result = ReadContext(name, context.second, &file->contexts[name]); !result.ok())
          return result;
      }
    } else {
      return {kUsage, fmt::format("{} is neither current-context nor a map of contexts", key)};
    }
  }
  return {};
}

}  // namespace

Result ParseContexts(const std::string& text, ContextFile* file) {
  *file = ContextFile();
  try {
    return ReadContextFile(YAML::Load(text), file);
  } catch (const YAML::Exception& error) {
    return {kUsage, error.what()};
  }
}

std::string FormatContexts(const ContextFile& file) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  if (!file.current.empty()) out << YAML::Key << "current-context" << YAML::Value << file.current;
  out << YAML::Key << "contexts" << YAML::Value << YAML::BeginMap;
  for (const auto& [name, context] : file.contexts) {
    out << YAML::Key << name << YAML::Value << YAML::BeginMap;
    for (const Key& key : kKeys) {
      if (const std::string& value = context.*(key.field); !value.empty())
        out << YAML::Key << key.name << YAML::Value << value;
    }
    out << YAML::EndMap;
  }
  out << YAML::EndMap << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

std::string ContextPath() {
  const auto set = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  if (const std::string path = set("FABRICCTL_CONFIG"); !path.empty()) return path;
  std::string base = set("XDG_CONFIG_HOME");
  if (base.empty() && !set("HOME").empty()) base = set("HOME") + "/.config";
  return base.empty() ? "" : base + "/fabricctl/config.yaml";
}

Result LoadContexts(ContextFile* file) {
  *file = ContextFile();
  const std::string path = ContextPath();
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return {};
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return {kUsage, fmt::format("{} cannot be read", path)};
  Result result = ParseContexts(text.str(), file);
  if (!result.ok()) result.message = fmt::format("{}: {}", path, result.message);
  return result;
}

Result SaveContexts(const ContextFile& file) {
  const std::string path = ContextPath();
  if (path.empty()) return {kUsage, "no HOME and no FABRICCTL_CONFIG: nowhere to keep contexts"};
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const std::string fresh = path + ".new";
  std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
  out << FormatContexts(file);
  out.close();
  if (!out || std::rename(fresh.c_str(), path.c_str()) != 0)
    return {kFailure, fmt::format("cannot write {}: {}", path, std::strerror(errno))};
  return {};
}

}  // namespace fabricd::cli
