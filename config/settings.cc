// SPDX-License-Identifier: Apache-2.0
#include "config/settings.h"

#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "config/keys.h"
#include "config/yaml_text.h"

namespace fabricd::config {
namespace {

struct Item {
  Setting setting;
  std::string yaml;
  bool is_secret = false;
};

// Visitor of keys.h: every value as an operator would write it.
class Printer {
 public:
  void Text(const char* path, ReloadClass reload, const std::string& value) {
    Put(path, reload, value, YamlText(value));
  }
  void List(const char* path, ReloadClass reload, const std::vector<std::string>& value) {
    std::vector<std::string> quoted;
    for (const std::string& item : value) quoted.push_back(YamlText(item));
    Put(path, reload, fmt::format("[{}]", fmt::join(value, ", ")),
        fmt::format("[{}]", fmt::join(quoted, ", ")));
  }
  void Level(const char* path, ReloadClass reload, const LogLevel& value) {
    constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
    Put(path, reload, kNames[static_cast<int>(value)]);
  }
  void Flag(const char* path, ReloadClass reload, const bool& value) {
    Put(path, reload, value ? "true" : "false");
  }
  template <typename T>
  void Number(const char* path, ReloadClass reload, const T& value, NumberRange) {
    Put(path, reload, fmt::format("{}", static_cast<uint32_t>(value)));
  }
  template <typename T>
  void Hex(const char* path, ReloadClass reload, const T& value) {
    uint64_t number = 0;
    if constexpr (std::is_integral_v<T>)
      number = value;
    else
      number = value.value();
    Put(path, reload, fmt::format("0x{:016x}", number), fmt::format("\"0x{:016x}\"", number));
  }
  template <typename T>
  void Secret(const char* path, ReloadClass reload, const T& value) {
    Hex(path, reload, value);
    items_.back().is_secret = true;
  }
  void Time(const char* path, ReloadClass reload, const Duration& value, TimeRange) {
    Put(path, reload, DurationText(value));
  }
  const std::vector<Item>& items() const { return items_; }

 private:
  void Put(const char* path, ReloadClass reload, const std::string& value) {
    Put(path, reload, value, value);
  }
  void Put(const char* path, ReloadClass reload, const std::string& value, std::string yaml) {
    items_.push_back({{path, value, reload}, std::move(yaml), false});
  }
  std::vector<Item> items_;
};

std::vector<Item> ItemsOf(const Config& config) {
  Printer printer;
  VisitKeys(printer, config);
  return printer.items();
}

const std::vector<Item>& Defaults() {
  static const auto* const kItems = new std::vector<Item>(ItemsOf(Config{}));
  return *kItems;
}

// A default is in the documentation: no secret.
bool IsHidden(const Item& item, size_t index) {
  return item.is_secret && item.setting.value != Defaults()[index].setting.value;
}

// Visitor of keys.h: where each member is.
class Places {
 public:
  template <typename T, typename... Rest>
  void Put(const char*, ReloadClass, const T& member, const Rest&...) {
    places_.push_back(&member);
  }
  template <typename... Args>
  void Text(const Args&... args) {
    Put(args...);
  }
  template <typename... Args>
  void List(const Args&... args) {
    Put(args...);
  }
  template <typename... Args>
  void Level(const Args&... args) {
    Put(args...);
  }
  template <typename... Args>
  void Flag(const Args&... args) {
    Put(args...);
  }
  template <typename... Args>
  void Number(const Args&... args) {
    Put(args...);
  }
  template <typename... Args>
  void Hex(const Args&... args) {
    Put(args...);
  }
  template <typename... Args>
  void Secret(const Args&... args) {
    Put(args...);
  }
  template <typename... Args>
  void Time(const Args&... args) {
    Put(args...);
  }
  const void* operator[](size_t index) const { return places_[index]; }

 private:
  std::vector<const void*> places_;
};

// Visitor of keys.h: puts the members of another Config in the place of those that want a restart.
class Restorer {
 public:
  explicit Restorer(const Places& from) : from_(from) {}

  template <typename T, typename... Rest>
  void Put(const char*, ReloadClass reload, T& member, const Rest&...) {
    const void* place = from_[at_++];
    if (reload == ReloadClass::kRestart) member = *static_cast<const T*>(place);
  }
  template <typename... Args>
  void Text(Args&&... args) {
    Put(args...);
  }
  template <typename... Args>
  void List(Args&&... args) {
    Put(args...);
  }
  template <typename... Args>
  void Level(Args&&... args) {
    Put(args...);
  }
  template <typename... Args>
  void Flag(Args&&... args) {
    Put(args...);
  }
  template <typename... Args>
  void Number(Args&&... args) {
    Put(args...);
  }
  template <typename... Args>
  void Hex(Args&&... args) {
    Put(args...);
  }
  template <typename... Args>
  void Secret(Args&&... args) {
    Put(args...);
  }
  template <typename... Args>
  void Time(Args&&... args) {
    Put(args...);
  }

 private:
  const Places& from_;
  size_t at_ = 0;
};

}  // namespace

std::string DurationText(Duration value) {
  using namespace std::chrono;
  if (value % seconds(1) == Duration::zero()) return fmt::format("{}s", value / seconds(1));
  if (value % milliseconds(1) == Duration::zero()) {
    return fmt::format("{}ms", value / milliseconds(1));
  }
  return fmt::format("{}us", value / microseconds(1));
}

const char* ReloadClassName(ReloadClass reload) {
  switch (reload) {
    case ReloadClass::kLive: return "live";
    case ReloadClass::kResweep: return "resweep";
    case ReloadClass::kRestart: return "restart";
  }
  return "restart";
}

std::vector<Setting> Settings(const Config& config, Secrets secrets) {
  std::vector<Setting> settings;
  for (const Item& item : ItemsOf(config)) {
    settings.push_back(item.setting);
    if (secrets == Secrets::kMask && IsHidden(item, settings.size() - 1))
      settings.back().value = kMasked;
  }
  return settings;
}

std::vector<Change> Diff(const Config& from, const Config& to) {
  const std::vector<Item> before = ItemsOf(from), after = ItemsOf(to);
  std::vector<Change> changes;
  for (size_t i = 0; i < before.size(); ++i) {
    const Setting& a = before[i].setting;
    const Setting& b = after[i].setting;
    if (a.value == b.value) continue;
    changes.push_back(Change{a.path, IsHidden(before[i], i) ? kMasked : a.value,
                             IsHidden(after[i], i) ? kMasked : b.value, a.reload});
  }
  return changes;
}

std::string ToYaml(const Config& config, Secrets secrets, const WantedKey& wanted,
                   const KeyComment& comment) {
  std::string yaml, section;
  const std::vector<Item> items = ItemsOf(config);
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string& path = items[i].setting.path;
    if (wanted && !wanted(path)) continue;
    const size_t dot = path.find('.');
    const std::string here = dot == std::string::npos ? "" : path.substr(0, dot);
    if (here != section && !here.empty()) yaml += here + ":\n";
    section = here;
    const std::string indent = here.empty() ? "" : "  ";
    if (const std::string text = comment ? comment(path) : ""; !text.empty())
      yaml += fmt::format("{}# {}\n", indent, text);
    const bool hide = secrets == Secrets::kMask && IsHidden(items[i], i);
    yaml += fmt::format("{}{}: {}\n", indent, path.substr(here.empty() ? 0 : dot + 1),
                        hide ? YamlText(kMasked) : items[i].yaml);
  }
  return yaml;
}

Config WithoutRestarts(Config wanted, const Config& running) {
  Places places;
  VisitKeys(places, running);
  Restorer restorer(places);
  VisitKeys(restorer, wanted);
  return wanted;
}

}  // namespace fabricd::config
