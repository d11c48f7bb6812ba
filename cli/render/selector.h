// SPDX-License-Identifier: Apache-2.0
// Selectors: which of the things listed are shown. "KEY=VALUE", "KEY==VALUE", "KEY!=VALUE", "KEY"
// (it has a value) and "!KEY", with commas between what all must hold. Pure.
#pragma once

#include <string>
#include <vector>

#include <google/protobuf/message.h>

#include "cli/render/fields.h"
#include "cli/terminal/exit_code.h"

namespace fabricd::cli {

// A word that things of one kind are told apart by.
struct Label {
  const char* name;                // "role"
  std::vector<const char*> paths;  // Where its values stand.
  // All that there are, of a text field that has few; empty: enums and truth tell theirs
  // themselves, names can be anything.
  std::vector<const char*> values = {};
};
// Of a message of the API; empty: such things have none.
const std::vector<Label>& LabelsOf(const google::protobuf::Descriptor* item);
// The values of one label, with commas.
std::string LabelText(const google::protobuf::Message& item, const Label& label);

class Selector {
 public:
  enum class By { kLabels, kFields };
  // kUsage: `text` is no selector, or things of this type have no such label or field. An empty
  // text selects all.
  static Result Parse(const std::string& text, const google::protobuf::Descriptor* item, By by,
                      Selector* selector);
  // Values match whatever their case, enums also without their prefix ("drain" for
  // HOLD_KIND_DRAIN); of several values one must match.
  bool Matches(const google::protobuf::Message& item) const;

 private:
  struct Requirement {
    std::vector<FieldPath> paths;
    bool any_value = false;  // Has one that is not its default.
    bool wanted = true;      // Or unwanted.
    std::string value;
  };
  static bool Meets(const Requirement& requirement, const google::protobuf::Message& item);

  std::vector<Requirement> requirements_;
};

}  // namespace fabricd::cli
