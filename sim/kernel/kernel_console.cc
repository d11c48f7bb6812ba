// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel/kernel_console.h"

#include <cstdint>
#include <sstream>

#include <absl/strings/numbers.h>

#include "common/status.h"
#include "fabric/names.h"

namespace fabricd::sim {
namespace {

struct Line {
  std::string verb;
  std::vector<std::string> words;
};

Line Split(const std::string& text) {
  std::istringstream in(text);
  Line line;
  in >> line.verb;
  for (std::string word; in >> word;) line.words.push_back(word);
  return line;
}

// Numbers at the end of a line; false: there are not so many, or one is none.
bool TakeNumbers(Line& line, std::vector<uint64_t>& numbers) {
  if (line.words.size() < numbers.size()) return false;
  const size_t first = line.words.size() - numbers.size();
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!absl::SimpleAtoi(line.words[first + i], &numbers[i])) return false;
  }
  line.words.resize(first);
  return true;
}

// What is left of the words: descriptions of nodes have spaces.
std::string NodeName(const Line& line) {
  std::string name;
  for (const std::string& word : line.words) name += (name.empty() ? "" : " ") + word;
  return name;
}

absl::Status NoCommand(const std::string& text) {
  return InvalidArgument("'{}' is no command of the console", text);
}

absl::Status RunOnPort(Instant now, Line line, SimFabric& fabric) {
  double loss = 0;
  if (line.verb == "loss") {
    if (line.words.empty() || !absl::SimpleAtod(line.words.back(), &loss)) {
      return InvalidArgument("loss takes NODE PORT PROBABILITY");
    }
    line.words.pop_back();
  }
  std::vector<uint64_t> number(1);
  if (!TakeNumbers(line, number)) return InvalidArgument("{} takes NODE PORT", line.verb);
  const absl::StatusOr<NodeIndex> node = fabric.FindNode(NodeName(line));
  if (!node.ok()) return node.status();
  const PortRef port{*node, PortNum(static_cast<uint8_t>(number[0]))};
  if (line.verb == "unlink") return fabric.Unlink(now, port);
  if (line.verb == "link") return fabric.Link(now, port);
  if (!fabric.device(*node)->HasPort(port.port)) return NotFound("no port {}", number[0]);
  fabric.SetLinkLoss(port, loss);
  return absl::OkStatus();
}

absl::Status RunOnHca(const Line& line, uint16_t hca, std::vector<KernelWire::Frame>& frames) {
  if (line.verb == "remove") frames.push_back(KernelWire::Remove(hca));
  if (line.verb == "add") frames.push_back(KernelWire::Add(hca));
  if (line.verb == "fatal") frames.push_back(KernelWire::Fatal(hca));
  return absl::OkStatus();
}

absl::Status ReplaceHca(const Line& line, std::vector<KernelWire::Frame>& frames) {
  uint32_t hca = 0;
  if (line.words.size() != 2 || !absl::SimpleAtoi(line.words[0], &hca) || hca > UINT16_MAX) {
    return InvalidArgument("replace takes HCA GUID");
  }
  const Guid guid = fabric::ParseGuid(line.words[1]);
  if (!guid) return InvalidArgument("'{}' is no GUID", line.words[1]);
  frames.push_back(KernelWire::Add(static_cast<uint16_t>(hca), guid));
  return absl::OkStatus();
}

KernelPort PortOf(const std::vector<uint64_t>& numbers) {
  return {static_cast<uint16_t>(numbers[0]), static_cast<uint8_t>(numbers[1])};
}

}  // namespace

absl::Status RunConsoleLine(Instant now, const std::string& text, SimFabric& fabric,
                            std::vector<KernelWire::Frame>& frames) {
  Line line = Split(text);
  if (line.verb == "unlink" || line.verb == "link" || line.verb == "loss") {
    return RunOnPort(now, line, fabric);
  }
  if (line.verb == "reboot") {
    const absl::StatusOr<NodeIndex> node = fabric.FindNode(NodeName(line));
    return node.ok() ? fabric.Reboot(now, *node) : node.status();
  }
  if (line.verb == "replace") return ReplaceHca(line, frames);
  const bool of_hca = line.verb == "remove" || line.verb == "add" || line.verb == "fatal";
  const size_t wanted = of_hca ? 1 : line.verb == "trap" ? 3 : line.verb == "count" ? 4 : 0;
  std::vector<uint64_t> numbers(wanted);
  if (wanted == 0 || line.words.size() != wanted || !TakeNumbers(line, numbers)) {
    return NoCommand(text);
  }
  if (of_hca) return RunOnHca(line, static_cast<uint16_t>(numbers[0]), frames);
  if (line.verb == "trap") {
    frames.push_back(KernelWire::Trap(PortOf(numbers), static_cast<uint16_t>(numbers[2])));
  } else {
    frames.push_back(
        KernelWire::Count(PortOf(numbers), static_cast<uint32_t>(numbers[2]), numbers[3]));
  }
  return absl::OkStatus();
}

}  // namespace fabricd::sim
