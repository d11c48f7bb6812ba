// SPDX-License-Identifier: Apache-2.0
#include "shell/sharing_ports.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/breakage.h"
#include "common/number_text.h"
#include "shell/statement_lines.h"

namespace fabricd::shell {
namespace {

constexpr std::string_view kPort = "port";
// Named value of the node's own store.
constexpr char kKey[] = "sharing_ports";

}  // namespace

std::string PortLine(Guid port) { return fmt::format("{} {}\n", kPort, port); }

std::string SharingPortsWatch::TextOf(const Ports& ports) {
  return fmt::format("{}", fmt::join(ports, " "));
}

SharingPortsWatch::Ports SharingPortsWatch::ReadText(std::string_view text) {
  Ports ports;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const uint64_t port = ParseHex<uint64_t>(word).value_or(0);
    if (port != 0 && ports.size() < kMost) ports.push_back(Guid(port));
  }
  return ports;
}

absl::Status SharingPortsWatch::Keep(store::Store& store, const Ports& ports) {
  return store.PutMeta(kKey, TextOf(ports));
}

SharingPortsWatch::Ports SharingPortsWatch::ports() const {
  Ports ports;
  for (const Known& known : known_) ports.push_back(known.port);
  return ports;
}

void SharingPortsWatch::Add(Guid port, Instant now) {
  for (Known& known : known_)
    if (known.port == port) return void(known.named = now);
  if (known_.size() >= kMost)
    known_.erase(std::min_element(known_.begin(), known_.end(), [](const Known& a, const Known& b) {
      return a.named < b.named;
    }));
  known_.push_back({port, now});
}

void SharingPortsWatch::Update(const store::etcd::SharedStore& shared, Instant now) {
  const std::vector<store::etcd::Node> nodes = shared.nodes();
  // Empty: etcd has not answered yet, or this is the first node and has not said anything.
  bool is_complete = !nodes.empty();
  for (const store::etcd::Node& node : nodes) {
    if (node.instance == shared.instance()) continue;
    others_seen_ = now;
    const auto port = ParseHex<uint64_t>(FindValue(node.statement.about, kPort));
    if (port && *port != 0)
      Add(Guid(*port), now);
    else
      is_complete = false;
  }
  // Later a node that has not named its port yet cannot be the master.
  is_complete_ = is_complete_ || is_complete;
  std::erase_if(known_, [&](const Known& known) { return now - known.named >= kRemember; });
}

std::optional<SharingPortsWatch::Ports> SharingPortsWatch::Begin(store::etcd::SharedStore& shared,
                                                                 Instant now) {
  if (IsBroken(Breakage::kPortsNotSaid)) return std::nullopt;
  // Where they cannot be read they are learnt again.
  if (const auto text = shared.GetMeta(kKey); text.ok() && *text)
    for (const Guid port : ReadText(**text)) Add(port, now);
  is_complete_ = !known_.empty();
  Update(shared, now);
  return is_complete_ ? std::optional(ports()) : std::nullopt;
}

std::optional<SharingPortsWatch::Ports> SharingPortsWatch::Look(
    const store::etcd::SharedStore& shared, Instant now) {
  if (now < next_ || IsBroken(Breakage::kPortsNotSaid)) return std::nullopt;
  next_ = now + kInterval;
  Update(shared, now);
  if (!is_complete_ || said_ == ports()) return std::nullopt;
  said_ = ports();
  return said_;
}

}  // namespace fabricd::shell
