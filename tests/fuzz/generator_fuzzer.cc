// SPDX-License-Identifier: Apache-2.0
// The text form of the topology generators: any text is refused with a reason, or gives one whole
// fabric, the same each time, that survives being written and read.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "common/check.h"
#include "common/status.h"
#include "fabric/ibnetdiscover_text.h"
#include "sim/generate/generate.h"
#include "sim/generate/kinds.h"

namespace fabricd::sim {
namespace {

// Fabrics of more switches or hosts than about this take too long here.
constexpr double kMaxNodes = 600;

// As a factor of a fabric's size. Numbers that no fabric has count as 1, so that they get through
// to where they are refused.
double Factor(int number) { return number > 0 && number <= 200'000 ? number : 1; }

double SizeOf(const Parameter& parameter) {
  static const std::set<std::string> kFactors = {"sus",    "hosts",  "rails",    "groups",
                                                 "leaves", "spines", "switches", "degree"};
  if (const auto* numbers = std::get_if<std::vector<int>*>(&parameter.field)) {
    double size = 1;
    for (int number : **numbers) size *= Factor(number);
    return size;
  }
  const auto* number = std::get_if<int*>(&parameter.field);
  if (number == nullptr) return 1;
  if (parameter.key == "dimensions") return std::exp2(Factor(**number));
  return kFactors.contains(parameter.key) ? Factor(**number) : 1;
}

// Guesses the size from the parameters as they are typed, those that will be refused too.
bool IsSmall(const std::string& spec) {
  const Kind* kind = FindKind(spec.substr(0, spec.find(':')));
  if (kind == nullptr) return true;
  const auto generator = kind->make();
  for (size_t at = kind->name.size() + 1; at < spec.size();) {
    const size_t end = std::min(spec.find(',', at), spec.size());
    const size_t equals = std::min(spec.find('=', at), end);
    (void)generator->Set(spec.substr(at, equals - at),
                         spec.substr(std::min(equals + 1, end), end - equals - 1));
    at = end + 1;
  }
  double size = 1, radix = 1, levels = 0;
  for (const Parameter& parameter : generator->Parameters()) {
    size *= SizeOf(parameter);
    const auto* number = std::get_if<int*>(&parameter.field);
    if (parameter.key == "radix") radix = Factor(**number);
    if (parameter.key == "levels") levels = Factor(**number);
  }
  return size * (levels > 0 ? 2 * std::pow(radix / 2, levels) : 1) <= kMaxNodes;
}

void CheckWhole(const fabric::FabricSnapshot& snapshot) {
  FABRICD_CHECK(snapshot.switch_count() > 0);
  std::map<std::string, int> names;
  snapshot.ForEachNode([&](const fabric::Node& node) {
    FABRICD_CHECK(++names[node.description] == 1, "two nodes are {}", node.description);
    FABRICD_CHECK(snapshot.FindNode(node.guid()) == &node);
    FABRICD_CHECK(node.ports.size() == size_t{node.info.num_ports} + 1);
    size_t linked = 0;
    for (size_t i = 0; i < node.ports.size(); ++i) {
      const PortRef peer = node.ports[i].peer;
      if (peer.IsNone()) continue;
      const PortRef self{node.index, PortNum(static_cast<uint8_t>(i))};
      FABRICD_CHECK(snapshot.port(peer) && snapshot.port(peer)->peer == self && i > 0);
      ++linked;
    }
    FABRICD_CHECK(linked > 0 || node.IsSwitch(), "{} has no cable", node.description);
  });
}

}  // namespace
}  // namespace fabricd::sim

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fabricd;
  const std::string spec(reinterpret_cast<const char*>(data), size);
  const auto speed = sim::ParseSpeed(spec);
  FABRICD_CHECK(!speed.ok() || wire::SpeedName(*speed) == spec);
  if (!sim::IsSmall(spec)) return 0;
  const auto topology = sim::Generate(spec);
  if (!topology.ok()) {
    FABRICD_CHECK(absl::IsInvalidArgument(topology.status()) &&
                  !Message(topology.status()).empty());
    return 0;
  }
  FABRICD_CHECK(sim::IsGeneratorSpec(spec));
  sim::CheckWhole(**topology);
  const std::string text = fabric::WriteIbnetdiscover(**topology, {});
  FABRICD_CHECK(text == fabric::WriteIbnetdiscover(**sim::Generate(spec), {}));
  const fabric::ReadResult read = fabric::ReadTopology(text);
  FABRICD_CHECK(read.snapshot && read.skipped.empty());
  FABRICD_CHECK(fabric::WriteIbnetdiscover(*read.snapshot, {}) == text);
  return 0;
}
