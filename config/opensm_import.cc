// SPDX-License-Identifier: Apache-2.0
#include "config/opensm_import.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "common/number_text.h"
#include "config/load.h"
#include "config/opensm_keys.h"
#include "config/settings.h"
#include "config/yaml_text.h"
#include "routing/plan/engine_names.h"

namespace fabricd::config {
namespace {

constexpr char kConfName[] = "opensm.conf";
constexpr char kNone[] = "(null)";

std::optional<bool> Truth(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (text == "TRUE") return true;
  return text == "FALSE" ? std::optional(false) : std::nullopt;
}

// "0x12" and "18" are the same; so are "false" and "FALSE".
bool IsSame(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto number = ParseDecimalOrHex<uint64_t>(a);
  if (number && number == ParseDecimalOrHex<uint64_t>(b)) return true;
  const auto truth = Truth(a);
  return truth && truth == Truth(b);
}

// Bytes that are no text would make the result none.
bool IsText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '\t' || (byte >= 0x20 && byte < 0x7F);
  });
}

// OpenSM's engines and ours of the same purpose, in the order in which they are tried.
const std::array<std::pair<std::string_view, std::array<std::string_view, 2>>, 11> kEngines = {{
    {"minhop", {routing::kMinHopEngine}},
    {"updn", {routing::kUpDownEngine}},
    {"dnup", {routing::kUpDownEngine}},
    {"ftree", {routing::kRailEngine, routing::kFatTreeEngine}},
    {"lash", {routing::kLayeredEngine}},
    {"dor", {routing::kLayeredEngine}},
    {"torus-2QoS", {routing::kLayeredEngine}},
    {"dfsssp", {routing::kLayeredEngine}},
    {"sssp", {routing::kMinHopEngine}},
    {"nue", {routing::kLayeredEngine}},
    {"no_fallback", {}},
}};

class Importer {
 public:
  explicit Importer(const OpensmFiles& files) : files_(files) {}

  OpensmImport Run() {
    ReadLines();
    for (const auto& [key, index] : latest_) Import(index);
    SideFiles();
    Build();
    return std::move(out_);
  }

 private:
  struct Value {
    std::string yaml;
    size_t line;  // Index of the line that it came of.
  };

  void ReadLines() {
    size_t begin = 0;
    for (int number = 1; begin < files_.conf.size(); ++number) {
      const size_t end = std::min(files_.conf.find('\n', begin), files_.conf.size());
      ReadLine(number, std::string_view(files_.conf).substr(begin, end - begin));
      begin = end + 1;
    }
  }

  void ReadLine(int number, std::string_view text) {
    const auto trim = [](std::string_view word) {
      const size_t first = word.find_first_not_of(" \t\r");
      if (first == std::string_view::npos) return std::string_view();
      return word.substr(first, word.find_last_not_of(" \t\r") - first + 1);
    };
    text = trim(text);
    if (text.empty() || text.front() == '#') return;
    ImportedLine line{number, kConfName, "", "", Verdict::kNotUnderstood, ""};
    const size_t blank = text.find_first_of(" \t");
    line.key = std::string(text.substr(0, blank));
    if (blank != std::string_view::npos) line.value = std::string(trim(text.substr(blank)));
    if (!IsText(text)) {
      line.message = "not plain text";
      line.key = line.value = "";
    } else if (FindOpensmKey(line.key) == nullptr) {
      line.message = "no key of OpenSM 3.3 that fabricd knows";
    } else {
      if (const auto [before, is_new] = latest_.emplace(line.key, out_.lines.size()); !is_new) {
        out_.lines[before->second].verdict = Verdict::kDropped;
        out_.lines[before->second].message = fmt::format("line {} says it again", number);
        before->second = out_.lines.size();
      }
    }
    out_.lines.push_back(std::move(line));
  }

  ImportedLine& line(size_t index) { return out_.lines[index]; }
  void Say(size_t index, Verdict verdict, std::string message) {
    line(index).verdict = verdict;
    line(index).message = std::move(message);
  }
  void Wrong(size_t index, const char* expected) {
    Say(index, Verdict::kNotUnderstood, fmt::format("expected {}", expected));
  }
  void Put(size_t index, std::string_view path, std::string yaml, Verdict verdict) {
    Say(index, verdict, std::string(path));
    values_[std::string(path)] = {std::move(yaml), index};
  }
  const std::string* ValueOf(const char* key) const {
    const auto found = latest_.find(key);
    return found == latest_.end() ? nullptr : &out_.lines[found->second].value;
  }

  void Import(size_t index) {
    const OpensmKey& key = *FindOpensmKey(line(index).key);
    const std::string value = line(index).value;
    const auto number = ParseDecimalOrHex<uint64_t>(value);
    switch (key.kind) {
      case OpensmKind::kNumber:
        if (!number) return Wrong(index, "a number");
        return Put(index, key.to, fmt::format("{}", *number), Verdict::kTaken);
      case OpensmKind::kHex:
      case OpensmKind::kSecret:
        if (!number) return Wrong(index, "a number of 64 bits");
        return Put(index, key.to, fmt::format("\"{:#018x}\"", *number), Verdict::kTaken);
      case OpensmKind::kFlag: {
        const auto truth = Truth(value);
        if (!truth) return Wrong(index, "TRUE or FALSE");
        return Put(index, key.to, *truth ? "true" : "false", Verdict::kTaken);
      }
      case OpensmKind::kSeconds:
        if (!number) return Wrong(index, "a number of seconds");
        return Put(index, key.to, fmt::format("{}s", *number), Verdict::kTranslated);
      case OpensmKind::kMillis:
        if (!number) return Wrong(index, "a number of milliseconds");
        return Put(index, key.to, fmt::format("{}ms", *number), Verdict::kTranslated);
      case OpensmKind::kPath:
        if (value.empty() || value == kNone)
          return Say(index, Verdict::kImplied, fmt::format("no {}", key.to));
        return Put(index, key.to, YamlText(PathOf(value)), Verdict::kTaken);
      case OpensmKind::kDefault: return Default(index, key);
      case OpensmKind::kSpecial: return Special(index);
    }
  }

  void Default(size_t index, const OpensmKey& key) {
    const std::string& value = line(index).value;
    static constexpr std::string_view kUnset[] = {"0",   "-1",  kNone, "FALSE",
                                                  "0:0", "0 0", "0x0", ""};
    const bool usual = key.to.empty() ? std::find(std::begin(kUnset), std::end(kUnset), value) !=
                                                std::end(kUnset) ||
                                            value.find_first_not_of("0x") == std::string::npos
                                      : IsSame(value, std::string(key.to));
    Say(index, usual ? Verdict::kImplied : Verdict::kDropped, std::string(key.why));
  }

  // Relative names are looked for where opensm.conf is.
  std::string PathOf(const std::string& name) const {
    return name.starts_with('/') ? name : files_.directory + "/" + name;
  }
  bool IsGiven(const std::string& path) const {
    return files_.files.contains(path.substr(path.rfind('/') + 1));
  }

  void Special(size_t index) {
    const std::string& key = line(index).key;
    const std::string value = line(index).value;
    if (key == "guid") return Guid(index, value);
    if (key == "leaf_vl_stall_count")
      return Twin(index, "vl_stall_count", "link.vl_stall is for all ports");
    if (key == "partition_config_file") return PartitionsFile(index, value);
    if (key == "prefix_routes_file") return PrefixRoutesFile(index, value);
    if (key == "part_enforce") return Enforce(index, value);
    if (key == "no_partition_enforcement") return NoEnforcement(index, value);
    if (key == "force_heavy_sweep") return HeavySweeps(index, value);
    if (key == "routing_engine") return Engines(index, value);
    if (key == "babbling_port_policy") return Babbling(index, value);
    return LogFlags(index, value);
  }

  void Guid(size_t index, const std::string& value) {
    const auto guid = ParseDecimalOrHex<uint64_t>(value);
    if (!guid) return Wrong(index, "a GUID");
    if (*guid == 0) return Say(index, Verdict::kImplied, "the only port that is up is taken");
    Say(index, Verdict::kDropped,
        "a port is named by its device: set fabric to umad:DEVICE:PORT (ibstat lists them)");
  }

  void Twin(size_t index, const char* other, const char* why) {
    const std::string* same = ValueOf(other);
    const bool is_same = same != nullptr && IsSame(*same, line(index).value);
    Say(index, is_same ? Verdict::kImplied : Verdict::kDropped, why);
  }

  void PartitionsFile(size_t index, const std::string& value) {
    const std::string path = PathOf(value);
    if (value.empty() || value == kNone || !IsGiven(path))
      return Say(index, Verdict::kImplied,
                 "no such file: every port is a member of the default partition");
    Put(index, "partitions.file", YamlText(path), Verdict::kTaken);
  }

  void PrefixRoutesFile(size_t index, const std::string& value) {
    const std::string path = PathOf(value);
    if (value.empty() || value == kNone || !IsGiven(path))
      return Say(index, Verdict::kImplied, "no such file: no other subnet is reached");
    Put(index, "sm.prefix_routes_file", YamlText(path), Verdict::kTaken);
  }

  void Enforce(size_t index, const std::string& value) {
    if (value != "both" && value != "in" && value != "out" && value != "off")
      return Wrong(index, "both, in, out or off");
    // OpenSM lets the older key win.
    const std::string* none = ValueOf("no_partition_enforcement");
    if (none != nullptr && Truth(*none).value_or(false))
      return Say(index, Verdict::kDropped, "no_partition_enforcement says off");
    Put(index, "partitions.enforce", value == "off" ? "\"off\"" : value, Verdict::kTaken);
  }

  void NoEnforcement(size_t index, const std::string& value) {
    const auto none = Truth(value);
    if (!none) return Wrong(index, "TRUE or FALSE");
    if (!*none) return Say(index, Verdict::kImplied, "see part_enforce");
    Put(index, "partitions.enforce", "\"off\"", Verdict::kTranslated);
  }

  void HeavySweeps(size_t index, const std::string& value) {
    const auto forced = Truth(value);
    if (!forced) return Wrong(index, "TRUE or FALSE");
    if (!*forced) return Say(index, Verdict::kImplied, "heavy sweeps are made when they must");
    const std::string* interval = ValueOf("sweep_interval");
    const uint64_t seconds =
        interval == nullptr ? 10 : ParseDecimalOrHex<uint64_t>(*interval).value_or(10);
    Put(index, "sweep.heavy_interval", fmt::format("{}s", seconds), Verdict::kTranslated);
  }

  void Engines(size_t index, const std::string& value) {
    if (value.empty() || value == kNone)
      return Say(index, Verdict::kImplied,
                 fmt::format("fabricd's own chain, {}", fmt::join(routing::DefaultChain(), ", ")));
    std::vector<std::string> chain;
    std::string unknown;
    for (size_t begin = 0; begin < value.size();) {
      const size_t end = std::min(value.find_first_of(", \t", begin), value.size());
      const std::string name = value.substr(begin, end - begin);
      begin = end + 1;
      if (name.empty()) continue;
      const auto* known = std::find_if(kEngines.begin(), kEngines.end(),
                                       [&](const auto& each) { return each.first == name; });
      if (known == kEngines.end()) {
        unknown += (unknown.empty() ? "" : ", ") + name;
        continue;
      }
      for (const std::string_view engine : known->second) {
        const std::string ours(engine);
        if (!ours.empty() && std::find(chain.begin(), chain.end(), ours) == chain.end())
          chain.push_back(ours);
      }
    }
    if (chain.empty())
      return Say(index, Verdict::kNotUnderstood,
                 fmt::format("no engine for {}; fabricd's own chain stays", unknown));
    Put(index, "routing.chain", fmt::format("[{}]", fmt::join(chain, ", ")), Verdict::kTranslated);
    if (!unknown.empty()) line(index).message += fmt::format(", without {}", unknown);
  }

  void Babbling(size_t index, const std::string& value) {
    const auto disable = Truth(value);
    if (!disable) return Wrong(index, "TRUE or FALSE");
    if (!*disable) return Say(index, Verdict::kImplied, "conditions.noisy_traps is to recommend");
    Put(index, "conditions.noisy_traps", "enforce", Verdict::kTranslated);
  }

  void LogFlags(size_t index, const std::string& value) {
    const auto flags = ParseDecimalOrHex<uint64_t>(value);
    if (!flags) return Wrong(index, "a number");
    // ERROR, INFO, VERBOSE, DEBUG, FUNCS, FRAMES, ROUTING, SYS (opensm(8), -D).
    if (*flags == 0x03) return Say(index, Verdict::kImplied, "log.level is info");
    const char* level = *flags >= 0x04 ? "debug" : *flags & 0x02 ? "info" : "error";
    Put(index, "log.level", level, Verdict::kTranslated);
  }

  // Files that opensm.conf does not name.
  void SideFiles() {
    const std::pair<const char*, const char*> kFiles[] = {{"guid2lid", "lid.guid2lid_file"},
                                                          {"guid2mkey", "sm.guid2mkey_file"},
                                                          {"neighbors", "sm.neighbors_file"}};
    for (const auto& [name, path] : kFiles) {
      if (!files_.files.contains(name)) continue;
      out_.lines.push_back({0, name, "", "", Verdict::kNotUnderstood, ""});
      Put(out_.lines.size() - 1, path, YamlText(PathOf(name)), Verdict::kTaken);
    }
  }

  std::string Raw() const {
    std::map<std::string, std::string> sections;
    for (const auto& [path, value] : values_) {
      const size_t dot = path.find('.');
      sections[path.substr(0, dot)] += fmt::format("  {}: {}\n", path.substr(dot + 1), value.yaml);
    }
    std::string yaml;
    for (const auto& [section, keys] : sections) yaml += section + ":\n" + keys;
    return yaml;
  }

  // What the loader refuses is left out, until it takes the rest.
  void Build() {
    for (size_t attempts = values_.size() + 1; attempts > 0; --attempts) {
      std::vector<Fault> faults;
      const auto config = LoadYaml(Raw(), kConfName, &faults);
      if (config.ok()) {
        out_.config = *config;
        break;
      }
      for (const Fault& fault : faults) {
        const auto value = values_.find(fault.path.substr(0, fault.path.find('[')));
        if (value == values_.end()) continue;
        Say(value->second.line, Verdict::kNotUnderstood,
            fmt::format("{}: {}", value->first, fault.message));
        values_.erase(value);
      }
    }
    out_.yaml = ToYaml(
        out_.config, Secrets::kShow,
        [this](const std::string& path) { return values_.contains(path); },
        [this](const std::string& path) { return Origin(out_.lines[values_.at(path).line]); });
    for (ImportedLine& line : out_.lines) {
      const OpensmKey* key = FindOpensmKey(line.key);
      const bool is_secret =
          line.key == "cc_key" || (key != nullptr && key->kind == OpensmKind::kSecret);
      if (is_secret) line.value = kMasked;
    }
  }

  static std::string Origin(const ImportedLine& line) {
    if (line.line == 0) return line.file;
    return fmt::format("{}:{}: {}", line.file, line.line, line.key);
  }

  const OpensmFiles& files_;
  OpensmImport out_;
  std::map<std::string, size_t> latest_;  // Key → index of its last line.
  std::map<std::string, Value> values_;   // Path → what is written there.
};

}  // namespace

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kTaken: return "taken";
    case Verdict::kTranslated: return "translated";
    case Verdict::kImplied: return "implied";
    case Verdict::kDropped: return "dropped";
    case Verdict::kNotUnderstood: return "not understood";
  }
  return "not understood";
}

OpensmImport ImportOpensm(const OpensmFiles& files) { return Importer(files).Run(); }

std::string ImportReport(const OpensmImport& import) {
  std::string report;
  std::map<Verdict, int> counts;
  for (const ImportedLine& line : import.lines) {
    ++counts[line.verdict];
    const std::string place =
        line.line == 0 ? line.file : fmt::format("{}:{}", line.file, line.line);
    const std::string what = line.key.empty() ? "" : fmt::format(" {} {}", line.key, line.value);
    report += fmt::format("{}:{}: {}: {}\n", place, what, VerdictName(line.verdict), line.message);
  }
  for (const auto& [verdict, count] : counts)
    report += fmt::format("{}{} {}", verdict == counts.begin()->first ? "" : ", ", count,
                          VerdictName(verdict));
  return report + "\n";
}

}  // namespace fabricd::config
