// SPDX-License-Identifier: Apache-2.0
// Words, contexts and explanations: what needs no daemon.
#include "cli/shell/completion.h"

#include "cli/client/contexts.h"
#include "cli/render/hostlist.h"
#include "cli/shell/grammar.h"
#include "cli/verbs/explain.h"
#include "cli/verbs/resource.h"
#include "tests/unit/cli/golden.h"
#include "tests/unit/cli/sample.h"

namespace fabricd::cli::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Words = std::vector<std::string>;

Words After(const Words& words) {
  Grammar grammar;
  return Candidates(grammar, ReadWords(grammar.app(), words));
}

TEST(CompletionTest, VerbsAndResources) {
  EXPECT_THAT(After({"dr"}), ElementsAre("drain"));
  EXPECT_THAT(After({""}), Contains("topology"));
  EXPECT_THAT(After({""}), Not(Contains(kCompleteVerb)));
  EXPECT_THAT(After({"partition", ""}),
              ElementsAre("add-member", "remove-member", "create", "update", "delete"));
  EXPECT_THAT(After({"sm", ""}), ElementsAre("step-down", "priority"));
  EXPECT_THAT(After({"get", "sw"}), ElementsAre("switches"));
  EXPECT_THAT(After({"-o", "json", "describe", "po"}), ElementsAre("ports"));
}

TEST(CompletionTest, OptionsAndTheirValues) {
  EXPECT_THAT(After({"get", "--sel"}), ElementsAre("--selector"));
  EXPECT_THAT(After({"get", "nodes", "--ser"}), ElementsAre("--server"));
  EXPECT_THAT(After({"drain", "x", "--mode", ""}), ElementsAre("hard", "soft"));
  EXPECT_THAT(After({"drain", "--mode=s"}), ElementsAre("--mode=soft"));
  EXPECT_THAT(After({"topology", "-o", "s"}), ElementsAre("svg", "slurm-conf", "slurm-yaml"));
  EXPECT_THAT(After({"completion", "z"}), ElementsAre("zsh"));
  EXPECT_THAT(After({"apply", "partitions", "-f", ""}), ElementsAre(kFilesDirective));
  EXPECT_THAT(After({"dump", "--dir", "/t"}), ElementsAre(kDirectoriesDirective));
  EXPECT_THAT(After({"get", "nodes", "--", "--ser"}), IsEmpty());
}

// Every option and positional that takes a value has a type.
TEST(CompletionTest, EveryValueHasAKind) {
  Grammar grammar;
  const auto walk = [](const CLI::App* app, const auto& self) -> void {
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_expected_max() == 0) continue;
      const std::string type = option->get_type_name();
      EXPECT_FALSE(type.empty()) << app->get_name() << " " << option->get_name();
    }
    for (const CLI::App* each : app->get_subcommands([](const CLI::App*) { return true; }))
      self(each, self);
  };
  walk(&grammar.app(), walk);
}

TEST(CompletionTest, Scripts) {
  for (const char* shell : {"bash", "zsh", "fish"})
    EXPECT_THAT(CompletionScript(shell), HasSubstr(kCompleteVerb)) << shell;
  EXPECT_THAT(CompletionScript("csh"), IsEmpty());
}

TEST(ContextsTest, TextAndBack) {
  ContextFile file;
  ASSERT_TRUE(ParseContexts("current-context: lab\n"
                            "contexts:\n"
                            "  lab: {server: 'fabric1:4430', tls-ca: /ca, timeout: 30s}\n"
                            "  here:\n    server: unix:/run/s\n",
                            &file)
                  .ok());
  EXPECT_EQ(file.current, "lab");
  EXPECT_EQ(file.contexts["lab"].server, "fabric1:4430");
  EXPECT_EQ(file.contexts["lab"].timeout, "30s");
  ContextFile again;
  ASSERT_TRUE(ParseContexts(FormatContexts(file), &again).ok());
  EXPECT_EQ(file, again);
  ASSERT_TRUE(ParseContexts("", &again).ok());
  EXPECT_EQ(again, ContextFile());
  for (const char* text : {"[1]", "contexts: [a]", "contexts: {a: b}", "contexts: {a: {color: b}}",
                           "colour: red", "contexts: {a: {server: [b]}}", "a: b: c"}) {
    EXPECT_EQ(ParseContexts(text, &again).code, kUsage) << text;
  }
}

TEST(ExplainTest, ThingsAndFields) {
  std::string text;
  ASSERT_TRUE(ExplainText("hold", &text).ok());
  ExpectGolden("explain_hold", text);
  ASSERT_TRUE(ExplainText("po.peer", &text).ok());
  EXPECT_THAT(text, HasSubstr("The other end; unset when not linked."));
  EXPECT_THAT(text, HasSubstr("node_guid  <string>"));
  ASSERT_TRUE(ExplainText("hold.kind", &text).ok());
  EXPECT_THAT(text, HasSubstr("Routes lead round it"));
  ASSERT_TRUE(ExplainText("sm.last_sweep.smps_by_attribute", &text).ok());
  EXPECT_THAT(text, HasSubstr("<map[string]uint32>"));
  EXPECT_EQ(ExplainText("flower", &text).code, kNotFound);
  EXPECT_EQ(ExplainText("port.flower", &text).code, kNotFound);
  EXPECT_EQ(ExplainText("port.state.flower", &text).code, kNotFound);
}

TEST(ExplainTest, EveryResourceIsExplained) {
  for (const ResourceKind& kind : ResourceKinds()) {
    std::string text;
    EXPECT_TRUE(ExplainText(kind.plural, &text).ok()) << kind.plural;
    EXPECT_EQ(&KindOf(kind.resource), &kind);
  }
}

TEST(HostlistTest, FormatIsTheInverseOfExpand) {
  const auto round = [](const std::string& text) {
    std::string error;
    const auto names = ExpandHostlist(text, false, &error);
    return names ? FormatHostlist(*names) : error;
  };
  for (const char* text : {"node[01-16,20],login1", "n[1-12]", "rack1-n[7-9]-ib", "a,b,a", "n1",
                           "n[08-11]", "x[9-10]", "n[1,3,5]", "n07,m[07-08]"}) {
    EXPECT_EQ(round(text), text);
  }
  EXPECT_EQ(FormatHostlist({}), "");
  EXPECT_EQ(FormatHostlist({"n9", "n09"}), "n9,n09");
  EXPECT_EQ(FormatHostlist({"n99", "n100", "n101"}), "n[99-101]");
  EXPECT_EQ(FormatHostlist({"n099", "n100"}), "n[099-100]");
}

}  // namespace
}  // namespace fabricd::cli::testing
