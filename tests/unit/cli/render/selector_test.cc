// SPDX-License-Identifier: Apache-2.0
#include "cli/render/selector.h"

#include "cli/verbs/listing.h"
#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {
namespace {

using By = Selector::By;
using Texts = std::vector<std::string>;

Texts PortsWith(const std::string& text, By by) {
  Selector selector;
  const Result result = Selector::Parse(text, pb::Port::descriptor(), by, &selector);
  EXPECT_TRUE(result.ok()) << result.message;
  Texts names;
  const pb::ListPortsResponse ports = SamplePorts();
  for (const pb::Port& port : ports.ports())
    if (selector.Matches(port)) names.push_back(port.name());
  return names;
}

TEST(SelectorTest, Labels) {
  EXPECT_EQ(PortsWith("type=CA", By::kLabels).size(), 2u);
  EXPECT_EQ(PortsWith("type=switch,state=active", By::kLabels), (Texts{"leaf1/3", "leaf1/4"}));
  EXPECT_EQ(PortsWith("type==SWITCH,state!=ACTIVE", By::kLabels), (Texts{"leaf1/5"}));
  EXPECT_EQ(PortsWith("!state", By::kLabels), (Texts{"node1 mlx5_0/2"}));
  EXPECT_EQ(PortsWith("degraded", By::kLabels), (Texts{"leaf1/4"}));
  EXPECT_EQ(PortsWith("rail=", By::kLabels).size(), 5u);  // None has one.
  EXPECT_EQ(PortsWith("", By::kLabels).size(), 5u);
}

TEST(SelectorTest, Fields) {
  EXPECT_EQ(PortsWith("peer.node_name=spine", By::kFields), (Texts{"leaf1/4"}));
  EXPECT_EQ(PortsWith("width=4,.id.number!=3", By::kFields), (Texts{"node1 mlx5_0/1"}));
}

// Rail 0 is a valid value.
TEST(SelectorTest, AFieldOfZeroIsPresent) {
  pb::Node node;
  Selector selector;
  ASSERT_TRUE(Selector::Parse("rail", node.GetDescriptor(), By::kLabels, &selector).ok());
  EXPECT_FALSE(selector.Matches(node));
  node.set_rail(0);
  EXPECT_TRUE(selector.Matches(node));
  ASSERT_TRUE(Selector::Parse("rail=0", node.GetDescriptor(), By::kLabels, &selector).ok());
  EXPECT_TRUE(selector.Matches(node));
}

TEST(SelectorTest, EnumsAndLists) {
  pb::Node node;
  Selector selector;
  ASSERT_TRUE(Selector::Parse("held=drain", node.GetDescriptor(), By::kLabels, &selector).ok());
  EXPECT_FALSE(selector.Matches(node));
  node.add_held(pb::HOLD_KIND_CORDON);
  node.add_held(pb::HOLD_KIND_DRAIN);
  EXPECT_TRUE(selector.Matches(node));
  ASSERT_TRUE(
      Selector::Parse("held=HOLD_KIND_CORDON", node.GetDescriptor(), By::kLabels, &selector).ok());
  EXPECT_TRUE(selector.Matches(node));
}

TEST(SelectorTest, RejectsInvalidSelectors) {
  Selector selector;
  for (const char* text : {"flower=red", "=x", "!", ",", "role=leaf,"}) {
    const Result result = Selector::Parse(text, pb::Node::descriptor(), By::kLabels, &selector);
    EXPECT_EQ(result.code, kUsage) << text;
  }
  EXPECT_EQ(Selector::Parse("id.flower=x", pb::Port::descriptor(), By::kFields, &selector).code,
            kUsage);
  EXPECT_EQ(Selector::Parse("a=b", pb::Record::descriptor(), By::kLabels, &selector).code, kUsage);
}

TEST(SelectorTest, EveryLabelHasItsFields) {
  for (const auto* type : {pb::Node::descriptor(), pb::Host::descriptor(), pb::Port::descriptor(),
                           pb::Link::descriptor(), pb::Hold::descriptor(),
                           pb::Condition::descriptor(), pb::MulticastGroup::descriptor()}) {
    EXPECT_FALSE(LabelsOf(type).empty()) << type->name();
    for (const Label& label : LabelsOf(type)) {
      for (const char* path : label.paths) {
        std::string error;
        EXPECT_TRUE(FieldPath::Parse(path, type, &error)) << error;
      }
    }
  }
}

Texts Picked(const GetOptions& options) {
  pb::ListPortsResponse ports = SamplePorts();
  const Result result = PickItems(options, pb::Port::descriptor(), &ports);
  EXPECT_TRUE(result.ok()) << result.message;
  Texts names;
  for (const pb::Port& port : ports.ports()) names.push_back(port.name());
  EXPECT_EQ(ports.total_size(), names.size());
  return names;
}

TEST(ListingTest, PicksAndSorts) {
  GetOptions options;
  options.labels = "type=SWITCH";
  options.sort_by = "{.rate_gbps}";
  EXPECT_EQ(Picked(options), (Texts{"leaf1/5", "leaf1/4", "leaf1/3"}));
  options.sort_by = ".flowers";
  pb::ListPortsResponse ports;
  EXPECT_EQ(PickItems(options, pb::Port::descriptor(), &ports).code, kUsage);
}

// Covers every resource and label, by the descriptors of the API.
TEST(SelectorTest, RefusesImpossibleValues) {
  int refused = 0;
  for (const auto* item : {pb::Node::descriptor(), pb::Host::descriptor(), pb::Port::descriptor(),
                           pb::Link::descriptor(), pb::Hold::descriptor(),
                           pb::Condition::descriptor(), pb::MulticastGroup::descriptor()})
    for (const Label& label : LabelsOf(item)) {
      const std::string name = label.name;
      // Names can be anything.
      const bool open = name == "host" || name == "node" || name == "peer" || name == "leaf" ||
                        name == "owner" || name == "target" || name == "subject" ||
                        (name == "device" && item == pb::Host::descriptor());
      Selector selector;
      const Result result = Selector::Parse(name + "=Xyzzy", item, By::kLabels, &selector);
      EXPECT_EQ(result.ok(), open) << item->name() << " " << name;
      EXPECT_EQ(result.code, open ? kOk : kUsage) << name;
      refused += !result.ok();
      EXPECT_TRUE(Selector::Parse(name + "=", item, Selector::By::kLabels, &selector).ok());
    }
  EXPECT_GE(refused, 20);
  Selector selector;
  const auto parse = [&](const std::string& text, Selector::By by) {
    return Selector::Parse(text, pb::Port::descriptor(), by, &selector);
  };
  EXPECT_EQ(parse("state=ACTVE", Selector::By::kLabels).message,
            "state: \"ACTVE\" is none of DOWN, INIT, ARMED, ACTIVE");
  EXPECT_TRUE(parse("state=active,held=drain,degraded!=true,rail=3", Selector::By::kLabels).ok());
  EXPECT_EQ(parse("degraded!=yes", Selector::By::kFields).message,
            "degraded: \"yes\" is none of true, false");
  EXPECT_FALSE(parse("rail=three", Selector::By::kLabels).ok());
}

TEST(ListingTest, Columns) {
  std::vector<Column> columns;
  ASSERT_TRUE(
      ParseColumns("NAME:.name,PEER:{.peer.node_name}", pb::Port::descriptor(), &columns).ok());
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[1].header, "PEER");
  EXPECT_EQ(columns[1].path.Text(SamplePorts().ports(0)), "node1 mlx5_0");
  for (const char* text : {"", "NAME", "NAME:", ":.name", "NAME:.flower", "NAME:.name,"})
    EXPECT_EQ(ParseColumns(text, pb::Port::descriptor(), &columns).code, kUsage) << text;
}

std::string At(const std::string& path, const google::protobuf::Message& message) {
  std::string error;
  const auto parsed = FieldPath::Parse(path, message.GetDescriptor(), &error);
  return parsed ? parsed->Text(message) : error;
}

TEST(FieldPathTest, ListsMapsAndTimes) {
  const pb::ListHostsResponse hosts = SampleHosts();
  const pb::Host& host = hosts.hosts(0);
  EXPECT_EQ(At("ports.device", host), "mlx5_0,mlx5_1");
  EXPECT_EQ(At("ports[*].port.lid", host), "8,9");
  EXPECT_EQ(At("ports[1].peer.node_name", host), "leaf2");
  EXPECT_EQ(At("ports[7].peer.node_name", host), "");
  EXPECT_EQ(At("last_sweep.smps_by_attribute.Get NodeInfo", SampleSm()), "6");
  EXPECT_EQ(At("last_sweep.smps_by_attribute", SampleSm()), "Get NodeInfo=6,Get PortInfo=30");
  pb::Hold hold;
  hold.mutable_created()->set_seconds(86400);
  EXPECT_EQ(At(".created", hold), "1970-01-02T00:00:00Z");
  EXPECT_EQ(At(".expires", hold), "");
  EXPECT_THAT(At("name[0]", host), ::testing::HasSubstr("no list name"));
  EXPECT_THAT(At("created.seconds", hold), ::testing::HasSubstr("nothing is below created"));
  EXPECT_EQ(At("peer", SamplePorts().ports(3)),
            "{\"node_guid\":\"0x0000000000200000\",\"node_name\":\"leaf1\",\"node_type\":"
            "\"SWITCH\",\"number\":3}");
}

TEST(FieldPathTest, NaturalOrder) {
  EXPECT_LT(CompareNatural("node2", "node10"), 0);
  EXPECT_LT(CompareNatural("9.5", "10"), 0);
  EXPECT_LT(CompareNatural("", "a"), 0);
  EXPECT_GT(CompareNatural("node10/2", "node10/1"), 0);
  EXPECT_EQ(CompareNatural("leaf1", "leaf1"), 0);
  EXPECT_LT(CompareNatural("a1b2", "a01b10"), 0);
}

}  // namespace
}  // namespace fabricd::cli::testing
