// SPDX-License-Identifier: Apache-2.0
// The table of generators. To add a kind, add its entry: the KEY=VALUE form, the command line and
// their help and errors follow from it. Pure.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/generate/decorate.h"
#include "sim/generate/fabric_builder.h"
#include "sim/generate/parameters.h"

namespace fabricd::sim {

// The parameters of one fabric to be made, and its maker.
class Generator {
 public:
  virtual ~Generator() = default;
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  // Of the kind, then of the decoration; a key that is in both is given once. Valid as long as the
  // generator.
  std::vector<Parameter> Parameters();
  // kInvalidArgument: no such key, or no such value.
  absl::Status Set(const std::string& key, const std::string& value);
  // kInvalidArgument names the parameter that does not fit and what would.
  SnapshotOr Make() const;

 protected:
  Generator() = default;
  virtual std::vector<Parameter> KindParameters() = 0;
  virtual SnapshotOr MakePlain() const = 0;

 private:
  Decoration decoration_;
};

struct Kind {
  std::string name;
  std::string help;
  std::function<std::unique_ptr<Generator>()> make;
};

const std::vector<Kind>& Kinds();
// nullptr: none of that name.
const Kind* FindKind(const std::string& name);

}  // namespace fabricd::sim
