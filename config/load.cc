// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>

#include "common/check.h"
#include "common/number_text.h"
#include "common/status.h"
#include "config/faults.h"
#include "config/keys.h"
#include "config/mode.h"
#include "config/settings.h"
#include "config/validate.h"
#include "config/yaml_walk.h"

namespace fabricd::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// A field by its dotted path, and the message that has it; null when a section on the way is
// absent.
struct Place {
  const Message* message;
  const FieldDescriptor* field;
};
Place Find(const Message& root, std::string_view path) {
  const Message* message = &root;
  for (;;) {
    const size_t dot = path.find('.');
    const std::string key(path.substr(0, dot));
    const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(key);
    FABRICD_CHECK(field != nullptr, "keys.h names {}, which the schema has not", key);
    if (dot == std::string_view::npos) return {message, field};
    if (!message->GetReflection()->HasField(*message, field)) return {nullptr, nullptr};
    message = &message->GetReflection()->GetMessage(*message, field);
    path.remove_prefix(dot + 1);
  }
}

// Visitor of keys.h: moves what the message has into the Config, range by range.
class Reader {
 public:
  Reader(const Message& root, FaultList& faults) : root_(root), faults_(faults) {}

  void Text(const char* path, ReloadClass, std::string& out) {
    if (const Place at = Present(path); at.field) {
      out = at.message->GetReflection()->GetString(*at.message, at.field);
    }
  }
  void List(const char* path, ReloadClass, std::vector<std::string>& out) {
    const Place at = Find(root_, path);
    if (at.field == nullptr || !faults_.HasKey(path)) return;
    out.clear();  // An explicit empty list is not the default.
    const auto& reflection = *at.message->GetReflection();
    for (int i = 0; i < reflection.FieldSize(*at.message, at.field); ++i) {
      out.push_back(reflection.GetRepeatedString(*at.message, at.field, i));
    }
  }
  void Level(const char* path, ReloadClass, LogLevel& out) {
    if (const Place at = Present(path); at.field) {
      const int number = at.message->GetReflection()->GetEnumValue(*at.message, at.field);
      out = static_cast<LogLevel>(number - ::fabric::config::v1::LOG_LEVEL_DEBUG);
    }
  }
  void Flag(const char* path, ReloadClass, bool& out) {
    if (const Place at = Present(path); at.field) {
      out = at.message->GetReflection()->GetBool(*at.message, at.field);
    }
  }
  template <typename T>
  void Number(const char* path, ReloadClass, T& out, NumberRange range) {
    const Place at = Present(path);
    if (at.field == nullptr) return;
    const uint32_t value = at.message->GetReflection()->GetUInt32(*at.message, at.field);
    if (value < range.min || value > range.max) {
      faults_.Add(path, fmt::format("expected {}-{}, got {}", range.min, range.max, value));
      return;
    }
    out = static_cast<T>(value);
  }
  template <typename T>
  void Hex(const char* path, ReloadClass, T& out, bool is_secret = false) {
    const Place at = Present(path);
    if (at.field == nullptr) return;
    const std::string text = at.message->GetReflection()->GetString(*at.message, at.field);
    const auto value = HasHexPrefix(text) ? ParseHex(text) : std::nullopt;
    if (!value) {
      // What was meant for a key is not told: faults go to logs and over the API.
      const std::string got = is_secret ? "" : fmt::format(", got '{}'", text);
      faults_.Add(path, "expected up to 16 hexadecimal digits after 0x" + got);
      return;
    }
    out = T(*value);
  }
  template <typename T>
  void Secret(const char* path, ReloadClass reload, T& out) {
    Hex(path, reload, out, true);
  }
  void Time(const char* path, ReloadClass, Duration& out, TimeRange range) {
    const Place at = Present(path);
    if (at.field == nullptr) return;
    const auto& message = static_cast<const google::protobuf::Duration&>(
        at.message->GetReflection()->GetMessage(*at.message, at.field));
    const Duration value =
        std::chrono::seconds(message.seconds()) + std::chrono::nanoseconds(message.nanos());
    const bool off = range.zero_allowed && value == Duration::zero();
    if (!off && (value < range.min || value > range.max)) {
      faults_.Add(
          path, fmt::format("expected {}{} to {}, got {}", range.zero_allowed ? "0 or " : "",
                            DurationText(range.min), DurationText(range.max), DurationText(value)));
      return;
    }
    out = value;
  }

 private:
  Place Present(const char* path) {
    const Place at = Find(root_, path);
    if (at.field == nullptr || at.message->GetReflection()->HasField(*at.message, at.field)) {
      return at;
    }
    return {nullptr, nullptr};
  }

  const Message& root_;
  FaultList& faults_;
};

}  // namespace

std::string FaultsText(const std::string& filename, const std::vector<Fault>& faults) {
  std::string report;
  for (const Fault& fault : faults) {
    if (!report.empty()) report += '\n';
    report += filename;
    if (fault.line > 0) report += fmt::format(":{}", fault.line);
    if (!fault.path.empty()) report += ": " + fault.path;
    report += ": " + fault.message;
  }
  return report;
}

absl::StatusOr<Config> LoadYaml(const std::string& text, const std::string& filename,
                                std::vector<Fault>* faults, std::string_view mode_option) {
  ::fabric::config::v1::FabricdConfig message;
  FaultList found;
  Config config;
  WalkYaml(text, message, found);
  Reader reader(message, found);
  VisitKeys(reader, config);
  if (!mode_option.empty() && ModeFault(config.mode).empty()) config.mode = mode_option;
  Validate(config, found);
  const std::vector<Fault> all = found.Take();
  if (faults != nullptr) *faults = all;
  if (!all.empty()) return absl::InvalidArgumentError(FaultsText(filename, all));
  return config;
}

absl::StatusOr<Config> LoadFile(const std::string& path, std::vector<Fault>* faults,
                                std::string_view mode_option) {
  if (faults != nullptr) faults->clear();
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file.is_open() || file.bad()) {
    const int error = errno;
    const auto code =
        error == ENOENT ? absl::StatusCode::kNotFound : absl::StatusCode::kUnavailable;
    return MakeStatus(code, "{}: {}", path, std::strerror(error));
  }
  return LoadYaml(text.str(), path, faults, mode_option);
}

}  // namespace fabricd::config
