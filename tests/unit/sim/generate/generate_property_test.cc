// SPDX-License-Identifier: Apache-2.0
// Whatever the parameters are, a generator makes a whole fabric or says which one does not fit.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <string>

#include "fabric/ibnetdiscover_text.h"
#include "sim/generate/kinds.h"
#include "tests/unit/sim/generate/generated.h"

namespace fabricd::sim {
namespace {

// Small values of the parameters that shape a fabric of a kind, as text, most of which fit
// together.
std::string DrawValue(const std::string& key) {
  static const auto& ranges = *new std::map<std::string, std::pair<int, int>>{
      {"levels", {2, 4}},    {"pods", {0, 6}},   {"parallel", {1, 3}},     {"sus", {1, 6}},
      {"rails", {1, 4}},     {"hosts", {1, 5}},  {"uplinks", {0, 5}},      {"groups", {2, 6}},
      {"leaves", {1, 5}},    {"spines", {1, 5}}, {"global-links", {0, 7}}, {"dimensions", {1, 5}},
      {"switches", {2, 24}}, {"degree", {1, 7}}, {"fail-links", {0, 12}},  {"swap-cables", {0, 2}},
      {"seed", {0, 1000000}}};
  const auto number = [](int least, int most) { return *rc::gen::inRange(least, most + 1); };
  if (key == "dims") {
    std::string dims = fmt::format("{}x{}", number(2, 5), number(2, 5));
    return *rc::gen::arbitrary<bool>() ? dims + fmt::format("x{}", number(2, 4)) : dims;
  }
  if (key == "radix") return *rc::gen::element<std::string>("0", "8", "9", "16", "24");
  if (key == "speed") return *rc::gen::element<std::string>("DDR", "EDR", "NDR", "XDR");
  if (key == "fill") return fmt::format("{}", number(1, 10) / 10.0);
  if (key == "missing-hcas") return fmt::format("{}", number(0, 3) / 10.0);
  if (key == "mixed-speeds") return fmt::format("{}", number(0, 10) / 10.0);
  if (key == "oversubscription") return fmt::format("{}", number(1, 8) / 2.0);
  if (key == "permute-ports") return *rc::gen::element<std::string>("true", "false");
  const auto [least, most] = ranges.at(key);  // A new parameter needs a range.
  return std::to_string(number(least, most));
}

// Every parameter of the kind, without decorations if `plain`.
std::string DrawSpec(const Kind& kind, bool plain) {
  std::string spec = kind.name;
  char separator = ':';
  for (const Parameter& parameter : kind.make()->Parameters()) {
    const bool decorates = parameter.key == "fill" || parameter.key == "fail-links" ||
                           parameter.key == "mixed-speeds" || parameter.key == "missing-hcas" ||
                           parameter.key == "swap-cables" || parameter.IsFlag();
    if (plain && decorates) continue;
    spec += fmt::format("{}{}={}", separator, parameter.key, DrawValue(parameter.key));
    separator = ',';
  }
  return spec;
}

class Generators : public testing::TestWithParam<size_t> {};

TEST_P(Generators, MakeWholeFabricsOrRefuse) {
  const Kind& kind = Kinds()[GetParam()];
  int made_count = 0;
  EXPECT_TRUE(rc::check([&] {
    const std::string spec = DrawSpec(kind, /*plain=*/true);
    const auto made = Generate(spec);
    if (!made.ok()) {
      RC_ASSERT(made.status().code() == absl::StatusCode::kInvalidArgument);
      return;
    }
    ++made_count;
    RC_LOG() << spec;
    RC_ASSERT(Fault(**made) == "");
    RC_ASSERT(IsConnected(**made));
    const fabric::ReadResult read = fabric::ReadTopology(fabric::WriteIbnetdiscover(**made, {}));
    RC_ASSERT(read.status.ok());
    RC_ASSERT(TellOf(*read.snapshot) == TellOf(**made));
  }));
  EXPECT_GE(made_count, 5) << "too many of the parameters do not fit to say anything";
}

TEST_P(Generators, AreDecoratedWithoutAFault) {
  const Kind& kind = Kinds()[GetParam()];
  int made_count = 0;
  EXPECT_TRUE(rc::check([&] {
    const std::string spec = DrawSpec(kind, /*plain=*/false);
    const auto made = Generate(spec), again = Generate(spec);
    RC_ASSERT(made.ok() == again.ok());
    if (!made.ok()) return;
    ++made_count;
    RC_LOG() << spec;
    RC_ASSERT(Fault(**made) == "");
    RC_ASSERT(TellOf(**made) == TellOf(**again));
  }));
  EXPECT_GE(made_count, 5) << "too many of the parameters do not fit to say anything";
}

INSTANTIATE_TEST_SUITE_P(Kinds, Generators, testing::Range(size_t{0}, Kinds().size()),
                         [](const auto& test) {
                           std::string name = Kinds()[test.param].name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace fabricd::sim
