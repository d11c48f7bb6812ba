// SPDX-License-Identifier: Apache-2.0
#include "daemon/store/node_about.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "common/number_text.h"
#include "common/stable_hash.h"
#include "config/settings.h"
#include "daemon/base/side_file.h"
#include "shell/sharing_ports.h"

namespace fabricd::daemon {
namespace {

// Of one node. A trailing dot: all keys below.
constexpr std::string_view kOwn[] = {
    "fabric",       "mode",        "state_dir",          "listen",         "http_listen",
    "log.",         "sm.priority", "etcd.endpoints",     "etcd.tls_ca",    "etcd.tls_cert",
    "etcd.tls_key", "etcd.user",   "etcd.password_file", "etcd.advertise", "security.",
    "recorder.",
};

bool IsOwn(const std::string& path) {
  return std::any_of(std::begin(kOwn), std::end(kOwn), [&](std::string_view own) {
    return own.ends_with('.') ? path.starts_with(own) : path == own;
  });
}

uint64_t HashOf(std::string_view text) {
  StableHash hash;
  hash.Add(text);
  return hash.value();
}

bool NamesFile(const std::string& path) {
  return path.ends_with("file") || path.ends_with("node_name_map") ||
         path.ends_with("prefix_routes");
}

}  // namespace

std::string AboutText(const NodeAbout& about) {
  std::string text =
      fmt::format("name {}\nendpoint {}\nversion {}\nstate {}\n{}", about.name, about.endpoint,
                  about.version, about.state, shell::PortLine(about.sm_port));
  for (const auto& [path, digest] : about.config) text += fmt::format("key {} {}\n", path, digest);
  return text;
}

NodeAbout ReadAbout(const std::string& text) {
  NodeAbout about;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    const std::string_view word = line.substr(0, space), value = line.substr(space + 1);
    if (word == "name") about.name = value;
    if (word == "endpoint") about.endpoint = value;
    if (word == "version") about.version = value;
    if (word == "state") about.state = value;
    if (word == "port") about.sm_port = Guid(ParseHex<uint64_t>(value).value_or(0));
    const size_t second = value.find(' ');
    if (word == "key" && second != std::string_view::npos)
      about.config[std::string(value.substr(0, second))] = value.substr(second + 1);
  }
  return about;
}

std::map<std::string, std::string> ConfigDigests(const config::Config& config) {
  std::map<std::string, std::string> digests;
  const auto masked = config::Settings(config, config::Secrets::kMask);
  const auto shown = config::Settings(config, config::Secrets::kShow);
  for (size_t i = 0; i < shown.size(); ++i) {
    const std::string& path = shown[i].path;
    if (IsOwn(path)) continue;
    std::string value = shown[i].value;
    bool is_secret = masked[i].value != value;
    if (NamesFile(path) && !value.empty()) {
      is_secret = true;  // Perhaps of keys.
      if (auto text = ReadFileOf(path.c_str(), value); text.ok()) value = *std::move(text);
    }
    const uint64_t digest = HashOf(value);
    digests[path] = is_secret ? fmt::format("{:04x}", digest & 0xFFFF)
                              : fmt::format("{:08x}", digest & 0xFFFF'FFFF);
  }
  return digests;
}

std::vector<std::string> DifferentKeys(const std::map<std::string, std::string>& a,
                                       const std::map<std::string, std::string>& b) {
  std::set<std::string> paths;
  for (const auto& [path, digest] : a) {
    const auto other = b.find(path);
    if (other == b.end() || other->second != digest) paths.insert(path);
  }
  for (const auto& [path, digest] : b)
    if (!a.contains(path)) paths.insert(path);
  return {paths.begin(), paths.end()};
}

std::vector<SharingNode> SharingNodes(const std::vector<store::etcd::Node>& nodes,
                                      const std::string& instance) {
  const auto own = std::find_if(nodes.begin(), nodes.end(),
                                [&](const auto& node) { return node.instance == instance; });
  std::vector<SharingNode> sharing;
  for (const store::etcd::Node& node : nodes) {
    NodeAbout about = ReadAbout(node.statement.about);
    SharingNode& added = sharing.emplace_back(
        SharingNode{std::move(about.name), std::move(about.endpoint), std::move(about.version),
                    std::move(about.state), about.sm_port, node.instance == instance});
    if (own != nodes.end())
      added.different_keys = DifferentKeys(ReadAbout(own->statement.about).config, about.config);
  }
  return sharing;
}

OtherMaster FindMaster(const store::etcd::EpochOwner& owner, const std::vector<SharingNode>& nodes,
                       const sweep::SmStatus& sm) {
  OtherMaster other{owner.name, owner.endpoint};
  const auto said = std::find_if(nodes.begin(), nodes.end(),
                                 [&](const auto& node) { return node.name == owner.name; });
  if (said == nodes.end() || said->state != wire::SmStateName(wire::SmState::kStandby))
    return other;
  for (const sweep::RemoteSm& remote : sm.remote) {
    const bool shares_state = std::any_of(
        nodes.begin(), nodes.end(), [&](const auto& node) { return node.sm_port == remote.guid; });
    if (remote.state == wire::SmState::kMaster && !shares_state)
      other.foreign = OtherMaster::Foreign{remote.guid, remote.priority};
  }
  return other;
}

}  // namespace fabricd::daemon
