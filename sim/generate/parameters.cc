// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/parameters.h"

#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/number_text.h"
#include "common/status.h"

namespace fabricd::sim {
namespace {

using wire::LinkSpeed;

constexpr LinkSpeed kSpeeds[] = {LinkSpeed::kSdr, LinkSpeed::kDdr, LinkSpeed::kQdr,
                                 LinkSpeed::kFdr, LinkSpeed::kEdr, LinkSpeed::kHdr,
                                 LinkSpeed::kNdr, LinkSpeed::kXdr};
constexpr const char kNoNumber[] = "a number";

// Each Read: null, or what `text` should have been.
template <typename Number>
const char* Read(std::string_view text, Number& value) {
  const auto read = ParseNumber<Number>(text);
  if (!read) return kNoNumber;
  value = *read;
  return nullptr;
}

const char* Read(std::string_view text, bool& value) {
  value = text == "1" || text == "true";
  return value || text == "0" || text == "false" ? nullptr : "true or false";
}

const char* Read(std::string_view text, std::vector<int>& value) {
  std::vector<int> numbers;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('x', at), text.size());
    if (Read(text.substr(at, end - at), numbers.emplace_back()) != nullptr) {
      return "numbers with an x between them";
    }
    at = end + 1;
  }
  value = std::move(numbers);
  return nullptr;
}

}  // namespace

std::string Parameter::Value() const {
  struct Show {
    std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
    std::string operator()(const LinkSpeed* value) const {
      return std::string(wire::SpeedName(*value));
    }
    std::string operator()(const std::vector<int>* value) const {
      return fmt::format("{}", fmt::join(*value, "x"));
    }
    std::string operator()(const int* value) const { return fmt::format("{}", *value); }
    std::string operator()(const uint64_t* value) const { return fmt::format("{}", *value); }
    std::string operator()(const double* value) const { return fmt::format("{}", *value); }
  };
  return std::visit(Show(), field);
}

std::string Parameter::TypeName() const {
  struct Name {
    std::string operator()(const bool*) const { return ""; }
    std::string operator()(const LinkSpeed*) const { return "SPEED"; }
    std::string operator()(const std::vector<int>*) const { return "NxN…"; }
    std::string operator()(const double*) const { return "NUMBER"; }
    std::string operator()(const void*) const { return "N"; }
  };
  return std::visit(Name(), field);
}

absl::Status Assign(const Parameter& parameter, const std::string& text) {
  if (LinkSpeed* const* speed = std::get_if<LinkSpeed*>(&parameter.field)) {
    const absl::StatusOr<LinkSpeed> parsed = ParseSpeed(text);
    if (!parsed.ok()) return parsed.status();
    **speed = *parsed;
    return absl::OkStatus();
  }
  const char* wanted = std::visit(
      [&](auto* field) -> const char* {
        if constexpr (std::is_same_v<decltype(field), LinkSpeed*>)
          return nullptr;
        else
          return Read(text, *field);
      },
      parameter.field);
  if (wanted == nullptr) return absl::OkStatus();
  return InvalidArgument("{}={} is not {}", parameter.key, text, wanted);
}

absl::Status CheckRange(const char* key, int value, int least, int most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return InvalidArgument("{} {}: from {} to {}", key, value, least, most);
}

absl::StatusOr<LinkSpeed> ParseSpeed(const std::string& name) {
  for (LinkSpeed speed : kSpeeds) {
    if (name == wire::SpeedName(speed)) return speed;
  }
  return InvalidArgument("speed '{}': SDR, DDR, QDR, FDR, EDR, HDR, NDR or XDR", name);
}

Parameter SpeedParameter(LinkSpeed& speed) {
  return {"speed", "Link speed: SDR, DDR, QDR, FDR, EDR, HDR, NDR or XDR", &speed};
}

}  // namespace fabricd::sim
