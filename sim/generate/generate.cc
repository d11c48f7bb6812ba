// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/generate.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "common/status.h"
#include "sim/generate/kinds.h"

namespace fabricd::sim {
namespace {

std::string KindOf(const std::string& spec) { return spec.substr(0, spec.find(':')); }

// "KEY=VALUE", or the KEY of a flag.
absl::Status SetItem(const std::string& item, Generator& generator, std::set<std::string>& given) {
  const size_t equals = item.find('=');
  const std::string key = item.substr(0, equals);
  const std::vector<Parameter> parameters = generator.Parameters();
  const bool flag = std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& one) {
    return one.key == key && one.IsFlag();
  });
  if (key.empty() || (equals == std::string::npos && !flag)) {
    return InvalidArgument("'{}' is not KEY=VALUE", item);
  }
  if (!given.insert(key).second) return InvalidArgument("'{}' is given twice", key);
  return generator.Set(key, equals == std::string::npos ? "true" : item.substr(equals + 1));
}

absl::Status SetAll(const std::string& text, Generator& generator) {
  std::set<std::string> given;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    FABRICD_RETURN_IF_ERROR(SetItem(text.substr(at, end - at), generator, given));
    at = end + 1;
  }
  return absl::OkStatus();
}

}  // namespace

std::string GeneratorNames() {
  std::vector<std::string> names;
  for (const Kind& kind : Kinds()) names.push_back(kind.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool IsGeneratorSpec(const std::string& spec) { return FindKind(KindOf(spec)) != nullptr; }

SnapshotOr Generate(const std::string& spec) {
  const Kind* kind = FindKind(KindOf(spec));
  if (kind == nullptr) {
    return InvalidArgument("no generator '{}' (there are {})", KindOf(spec), GeneratorNames());
  }
  const std::unique_ptr<Generator> generator = kind->make();
  const std::string text =
      spec.size() > kind->name.size() ? spec.substr(kind->name.size() + 1) : "";
  const absl::Status set = SetAll(text, *generator);
  if (!set.ok()) return InvalidArgument("{}: {}", kind->name, Message(set));
  return generator->Make();
}

}  // namespace fabricd::sim
