// SPDX-License-Identifier: Apache-2.0
#include "cli/render/output.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <yaml-cpp/yaml.h>

#include "tests/unit/cli/golden.h"
#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {
namespace {

TEST(OutputTest, SmAsJson) { ExpectGolden("sm_json", ToJson(SampleSm())); }
TEST(OutputTest, SmAsYaml) { ExpectGolden("sm_yaml", ToYaml(SampleSm())); }
TEST(OutputTest, PortsAsYaml) { ExpectGolden("ports_yaml", ToYaml(SamplePorts())); }

TEST(OutputTest, JsonReadsBackTheSame) {
  pb::ListPortsResponse read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ToJson(SamplePorts()), &read).ok());
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(read, SamplePorts()));
}

// JSON prints counts as numbers and fields at their default too, or scripts would have to know
// them.
TEST(OutputTest, DefaultsArePrinted) {
  const std::string json = ToJson(pb::GetSmResponse());
  for (const char* field :
       {"\"state\": \"\"", "\"subnet_up\": false", "\"generation\": 0", "\"problems\": []"}) {
    EXPECT_NE(json.find(field), std::string::npos) << field << " in\n" << json;
  }
}

TEST(OutputTest, YamlKeepsTexts) {
  pb::Node node;
  for (const char* text :
       {"0x0000000000000010", "12", "1e3", "no", "Null", "", "true", "a: b", "- x", "#c", "'q'",
        "\"q\"", " blank ", "tab\tand\nline", "ä", "[x]", "~", "plain"}) {
    node.set_name(text);
    const YAML::Node name = YAML::Load(ToYaml(node))["name"];
    EXPECT_EQ(name.as<std::string>(), text);
    // Quoted or not a word of another type: readers must not take it for a number, a bool or null.
    const bool quoted = name.Tag() == "!";
    EXPECT_TRUE(quoted || std::string(text) == "plain" || std::string(text) == "a: b")
        << ToYaml(node);
  }
}

}  // namespace
}  // namespace fabricd::cli::testing
