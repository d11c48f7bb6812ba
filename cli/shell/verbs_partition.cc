// SPDX-License-Identifier: Apache-2.0
// apply, diff, partition ….
#include "cli/shell/grammar.h"
#include "cli/verbs/partition_commands.h"

namespace fabricd::cli {
namespace {

void AddFileVerbs(Grammar& grammar) {
  struct Words {
    std::string resource, dry_run = "none";
    PartitionFile file;
  };
  const auto add = [&](const char* verb, const char* help, const std::shared_ptr<Words>& words) {
    CLI::App* command = grammar.Add(verb, help);
    command->add_option("resource", words->resource, "partitions")
        ->required()
        ->check(CLI::IsMember({"partitions", "partition", "pkey"}));
    command->add_option("-f,--filename", words->file.path, "a partitions.conf; -: standard input")
        ->required()
        ->type_name(kFileValue);
    return command;
  };
  auto applied = std::make_shared<Words>();
  CLI::App* apply = add(
      "apply", "Replace all partitions by those of a file; a faulty one changes nothing", applied);
  AddDryRun(apply, &applied->dry_run);
  apply->add_option("--request-id", applied->file.request_id, "makes a repeated command safe")
      ->type_name(kTextValue);
  apply->add_flag("--wait", applied->file.wait,
                  "until all P_Key tables are so; exit 4 at --timeout");
  grammar.OnCall(apply, {"table", "json", "yaml"}, [&grammar, applied](Client& client) {
    applied->file.dry_run = applied->dry_run == "server";
    return ApplyPartitions(client, grammar.globals(), applied->file);
  });
  auto compared = std::make_shared<Words>();
  CLI::App* diff = add("diff", "Show what apply would change; exit 1 when it would", compared);
  grammar.OnCall(diff, kNoForms,
                 [compared](Client& client) { return DiffPartitions(client, compared->file); });
}

using ChangeCall = Result (*)(Client&, const Globals&, const PartitionOptions&);

struct ChangeWords {
  PartitionOptions options;
  std::string dry_run = "none";
};

// `call` may be null: the caller says what it does.
CLI::App* AddChange(Grammar& grammar, CLI::App* group, const char* verb, const char* help,
                    const char* what, const std::shared_ptr<ChangeWords>& words, ChangeCall call) {
  CLI::App* command = grammar.Add(verb, help, group);
  command->add_option("partition", words->options.partition, what)
      ->required()
      ->type_name(call == &CreatePartition ? kTextValue : kPartitionValue);
  AddDryRun(command, &words->dry_run);
  command->add_option("--request-id", words->options.request_id, "makes a repeated command safe")
      ->type_name(kTextValue);
  command->add_flag("--wait", words->options.wait,
                    "until all P_Key tables are so; exit 4 at --timeout");
  if (!call) return command;
  grammar.OnCall(command, {"table", "json", "yaml"}, [&grammar, words, call](Client& client) {
    words->options.dry_run = words->dry_run == "server";
    return call(client, grammar.globals(), words->options);
  });
  return command;
}

CLI::Option* AddMemberOption(CLI::App* command, const char* option, PartitionOptions& options) {
  return command
      ->add_option(option, options.members,
                   "GUIDs, hosts, nodes, ports (hostlists), ALL, ALL_CAS, ALL_SWITCHES, "
                   "ALL_ROUTERS, ALL_VCAS, SELF")
      ->type_name(kHostValue);
}

void AddMembership(CLI::App* command, PartitionOptions& options) {
  command->add_option("--membership", options.membership, "full, limited or both")
      ->capture_default_str();
}

}  // namespace

void AddDryRun(CLI::App* command, std::string* word) {
  command->add_option("--dry-run", *word, "server: change nothing, show what would follow")
      ->check(CLI::IsMember({"none", "server"}))
      ->capture_default_str();
}

void AddPartitionVerbs(Grammar& grammar) {
  AddFileVerbs(grammar);
  CLI::App* group = grammar.AddGroup("partition", "Change one partition");
  const char* const which = "P_Key or name";
  const auto fresh = [] { return std::make_shared<ChangeWords>(); };
  auto more = fresh();
  CLI::App* add = AddChange(grammar, group, "add-member", "Add members, or change what they are",
                            which, more, &AddMembers);
  AddMemberOption(add, "member,--guid", more->options)->required();
  AddMembership(add, more->options);
  auto fewer = fresh();
  AddMemberOption(
      AddChange(grammar, group, "remove-member", "Take members away", which, fewer, &RemoveMembers),
      "member,--guid", fewer->options)
      ->required();
  auto made = fresh();
  CLI::App* create =
      AddChange(grammar, group, "create", "Make a partition", "its name", made, &CreatePartition);
  create->add_option("--p-key", made->options.p_key, "else the lowest that is free")
      ->type_name(kTextValue);
  create->add_flag("--index0", made->options.index0,
                   "its key is at index 0 of its members' tables");
  create->add_flag("--ipoib", made->options.ipoib, "it has a broadcast group for IPoIB");
  AddMemberOption(create, "--member", made->options);
  AddMembership(create, made->options);
  auto updated = fresh();
  auto update = std::make_shared<PartitionUpdate>();
  CLI::App* change = AddChange(grammar, group, "update",
                               "Change what is given of a partition; --member: all its members",
                               which, updated, nullptr);
  change->add_option("--name", update->name, "its new name")->type_name(kTextValue);
  for (const auto& [option, text, help] :
       {std::tuple{"--index0", &update->index0, "its key is at index 0 of its members' tables"},
        {"--ipoib", &update->ipoib, "it has a broadcast group for IPoIB"}}) {
    change->add_option(option, *text, help)->check(CLI::IsMember({"true", "false"}));
  }
  change->add_option("--mtu", update->mtu, "of that group, in bytes")->type_name("NUMBER");
  change->add_option("--rate", update->rate_gbps, "of that group, in Gb/s")->type_name("NUMBER");
  AddMemberOption(change, "--member", updated->options);
  AddMembership(change, updated->options);
  grammar.OnCall(change, {"table", "json", "yaml"}, [&grammar, updated, update](Client& client) {
    updated->options.dry_run = updated->dry_run == "server";
    return UpdatePartition(client, grammar.globals(), updated->options, *update);
  });
  auto taken = fresh();
  CLI::App* gone =
      AddChange(grammar, group, "delete", "Take a partition away", which, taken, &DeletePartition);
  gone->add_flag("--ignore-not-found", taken->options.ignore_not_found, "exit 0 where it is not");
}

}  // namespace fabricd::cli
