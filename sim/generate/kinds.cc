// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/kinds.h"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "common/status.h"
#include "sim/generate/directors.h"
#include "sim/generate/dragonfly_plus.h"
#include "sim/generate/fat_tree.h"
#include "sim/generate/hypercube.h"
#include "sim/generate/random_regular.h"
#include "sim/generate/superpod.h"
#include "sim/generate/torus.h"

namespace fabricd::sim {
namespace {

template <typename Spec>
using Describe = std::vector<Parameter> (*)(Spec&);
template <typename Spec>
using Generate = SnapshotOr (*)(const Spec&);

template <typename Spec>
class GeneratorOf : public Generator {
 public:
  GeneratorOf(Describe<Spec> describe, Generate<Spec> generate)
      : describe_(describe), generate_(generate) {}

 private:
  std::vector<Parameter> KindParameters() override { return describe_(spec_); }
  SnapshotOr MakePlain() const override { return generate_(spec_); }

  Spec spec_;
  Describe<Spec> describe_;
  Generate<Spec> generate_;
};

template <typename Spec>
Kind KindOf(std::string name, std::string help, Describe<Spec> describe, Generate<Spec> generate) {
  return {std::move(name), std::move(help),
          [=] { return std::make_unique<GeneratorOf<Spec>>(describe, generate); }};
}

bool HasKey(const Parameter& parameter, const std::string& key) {
  return parameter.key == key || (!key.empty() && parameter.alias == key);
}

}  // namespace

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind>& kinds = *new std::vector<Kind>{
      KindOf("fat-tree", "A k-level folded Clos", FatTreeParameters, GenerateFatTree),
      KindOf("superpod", "Rail-optimised scalable units", SuperPodParameters, GenerateSuperPod),
      KindOf("torus", "A torus of two or three dimensions", TorusParameters, GenerateTorus),
      KindOf("dragonfly-plus", "Groups of leaves and spines, every two of them joined",
             DragonflyPlusParameters, GenerateDragonflyPlus),
      KindOf("hypercube", "A hypercube", HypercubeParameters, GenerateHypercube),
      KindOf("directors", "Directors, trees themselves, as leaves and spines of a tree",
             DirectorsParameters, GenerateDirectors),
      KindOf("random", "A random regular graph of switches", RandomParameters, GenerateRandom),
  };
  return kinds;
}

const Kind* FindKind(const std::string& name) {
  const auto found = std::find_if(Kinds().begin(), Kinds().end(),
                                  [&](const Kind& kind) { return kind.name == name; });
  return found == Kinds().end() ? nullptr : &*found;
}

std::vector<Parameter> Generator::Parameters() {
  std::vector<Parameter> all = KindParameters();
  for (Parameter& common : DecorationParameters(decoration_)) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const Parameter& parameter) {
      return HasKey(parameter, common.key);
    });
    if (!known) all.push_back(std::move(common));
  }
  return all;
}

absl::Status Generator::Set(const std::string& key, const std::string& value) {
  bool known = false;
  for (const auto& parameters : {KindParameters(), DecorationParameters(decoration_)}) {
    for (const Parameter& parameter : parameters) {
      if (!HasKey(parameter, key)) continue;
      known = true;
      FABRICD_RETURN_IF_ERROR(Assign(parameter, value));
    }
  }
  if (known) return absl::OkStatus();
  std::vector<std::string> keys;
  for (const Parameter& parameter : Parameters()) keys.push_back(parameter.key);
  return InvalidArgument("no parameter '{}' (it has {})", key, fmt::join(keys, ", "));
}

SnapshotOr Generator::Make() const {
  SnapshotOr plain = MakePlain();
  return plain.ok() ? Decorate(*std::move(plain), decoration_) : plain;
}

}  // namespace fabricd::sim
