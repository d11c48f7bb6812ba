// SPDX-License-Identifier: Apache-2.0
// The schema, the table of keys, the defaults and the example belong together: these tests find
// what was changed in one of them alone.
#include <set>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "fabric/config/v1/config.pb.h"

#include "config/keys.h"
#include "config/load.h"

namespace fabricd::config {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

void SchemaKeys(const Descriptor& section, const std::string& prefix, std::set<std::string>& keys) {
  for (int i = 0; i < section.field_count(); ++i) {
    const FieldDescriptor& field = *section.field(i);
    const Descriptor* type = field.message_type();
    if (type != nullptr && type != google::protobuf::Duration::descriptor()) {
      SchemaKeys(*type, prefix + field.name() + ".", keys);
    } else {
      keys.insert(prefix + field.name());
    }
  }
}

struct KeyCollector {
  template <typename... Rest>
  void Add(const char* path, const Rest&...) {
    EXPECT_TRUE(keys.insert(path).second) << path << " is in the table twice";
  }
  template <typename... Args>
  void Text(Args&&... args) {
    Add(args...);
  }
  template <typename... Args>
  void List(Args&&... args) {
    Add(args...);
  }
  template <typename... Args>
  void Level(Args&&... args) {
    Add(args...);
  }
  template <typename... Args>
  void Flag(Args&&... args) {
    Add(args...);
  }
  template <typename... Args>
  void Number(Args&&... args) {
    Add(args...);
  }
  template <typename... Args>
  void Hex(Args&&... args) {
    Add(args...);
  }
  template <typename... Args>
  void Secret(Args&&... args) {
    Add(args...);
  }
  template <typename... Args>
  void Time(Args&&... args) {
    Add(args...);
  }
  std::set<std::string> keys;
};

void YamlKeys(const YAML::Node& section, const std::string& prefix, std::set<std::string>& keys) {
  for (const auto& entry : section) {
    const std::string key = prefix + entry.first.Scalar();
    if (entry.second.IsMap()) {
      YamlKeys(entry.second, key + ".", keys);
    } else {
      keys.insert(key);
    }
  }
}

std::set<std::string> AllSchemaKeys() {
  std::set<std::string> keys;
  SchemaKeys(*::fabric::config::v1::FabricdConfig::descriptor(), "", keys);
  return keys;
}

TEST(Schema, TheTableHasEveryKey) {
  KeyCollector collector;
  Config config;
  VisitKeys(collector, config);
  EXPECT_EQ(collector.keys, AllSchemaKeys());
}

TEST(Schema, TheExampleHasEveryKey) {
  std::set<std::string> keys;
  YamlKeys(YAML::Load(ExampleYaml()), "", keys);
  EXPECT_EQ(keys, AllSchemaKeys());
}

TEST(Schema, TheExampleIsTheDefaults) {
  std::vector<Fault> faults;
  const absl::StatusOr<Config> config = LoadYaml(ExampleYaml(), "fabricd.example.yaml", &faults);
  ASSERT_TRUE(config.ok()) << config.status();
  for (const Change& change : Diff(Config{}, *config)) {
    ADD_FAILURE() << change.path << ": default " << change.from << ", example " << change.to;
  }
  EXPECT_EQ(*config, Config{});
}

}  // namespace
}  // namespace fabricd::config
