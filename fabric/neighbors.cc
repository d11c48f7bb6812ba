// SPDX-License-Identifier: Apache-2.0
#include "fabric/neighbors.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "common/number_text.h"

namespace fabricd::fabric {
namespace {

// The GUID by which M_Keys go.
Guid EndPortGuid(const Node& node, PortNum port) {
  return node.port(node.IsSwitch() ? PortNum(0) : port).guid;
}

// visit(GUID here, port here, GUID there, port there)
template <typename Visit>
void ForEachLink(const FabricSnapshot& snapshot, Visit visit) {
  snapshot.ForEachNode([&](const Node& node) {
    for (const auto& [ref, port] : node.LinkPorts()) {
      const Node* const peer = port.peer.IsNone() ? nullptr : snapshot.node(port.peer.node);
      if (peer == nullptr) continue;
      const Guid here = EndPortGuid(node, ref.port), there = EndPortGuid(*peer, port.peer.port);
      if (here && there) visit(here, ref.port, there, port.peer.port);
    }
  });
}

struct End {
  Guid guid;
  PortNum port;
};

std::optional<End> ParseEnd(std::string_view word) {
  const size_t colon = word.find(':');
  if (colon == word.npos) return std::nullopt;
  const auto guid = ParseDecimalOrHex<uint64_t>(word.substr(0, colon));
  const auto port = ParseNumber<uint8_t>(word.substr(colon + 1));
  if (!guid || *guid == 0 || !port) return std::nullopt;
  return End{Guid(*guid), PortNum(*port)};
}

// The next word of the line, taken from it.
std::string_view TakeWord(std::string_view& line) {
  constexpr std::string_view kBlank = " \t\r\v\f";
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlank));
  line.remove_prefix(word.size());
  return word;
}

}  // namespace

Neighbors NeighborsOf(const FabricSnapshot& snapshot) {
  Neighbors neighbors;
  ForEachLink(snapshot, [&](Guid here, PortNum port, Guid there, PortNum) {
    neighbors[{here, port}] = there;
  });
  return neighbors;
}

std::string NeighborsText(const FabricSnapshot& snapshot) {
  std::vector<std::string> lines;
  ForEachLink(snapshot, [&](Guid here, PortNum port, Guid there, PortNum there_port) {
    lines.push_back(fmt::format("{}:{} {}:{}\n\n", here, port, there, there_port));
  });
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

Neighbors ParseNeighbors(std::string_view text, size_t* skipped) {
  Neighbors neighbors;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    const std::string_view first = TakeWord(line);
    if (first.empty()) continue;
    const auto here = ParseEnd(first), there = ParseEnd(TakeWord(line));
    if (here && there && TakeWord(line).empty())
      neighbors[{here->guid, here->port}] = there->guid;
    else if (skipped != nullptr)
      ++*skipped;
  }
  return neighbors;
}

}  // namespace fabricd::fabric
