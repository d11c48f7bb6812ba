// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/generate_command.h"

#include <cstdio>
#include <memory>
#include <string>

#include "common/status.h"
#include "fabric/ibnetdiscover_text.h"
#include "sim/generate.h"

namespace fabricd::sim {
namespace {

struct Arguments {
  FatTreeSpec fat_tree;
  SuperPodSpec superpod;
  std::string speed = "NDR";
  std::string format = "ibnetdiscover";
};

void AddCommon(CLI::App& command, Arguments& arguments) {
  command
      .add_option("--speed", arguments.speed,
                  "Link speed: SDR, DDR, QDR, FDR, EDR, HDR, NDR or XDR")
      ->capture_default_str();
  command
      .add_option("--format", arguments.format,
                  "ibnetdiscover, or ibsim: the same within ibsim's limits (no speed above HDR)")
      ->check(CLI::IsMember({"ibnetdiscover", "ibsim"}))
      ->capture_default_str();
}

CLI::App* AddFatTree(CLI::App& generate, Arguments& arguments) {
  FatTreeSpec& spec = arguments.fat_tree;
  CLI::App* command = generate.add_subcommand("fat-tree", "A k-level folded Clos");
  command->add_option("--radix", spec.radix, "Ports of each switch")->capture_default_str();
  command->add_option("--levels", spec.levels, "Tiers of switches")->capture_default_str();
  command
      ->add_option("--pods", spec.pods,
                   "Subtrees below the top tier (leaves, with 2 levels); 0: as many as fit")
      ->capture_default_str();
  command
      ->add_option("--oversubscription", spec.oversubscription, "Host ports per uplink of a leaf")
      ->capture_default_str();
  command->add_option("--parallel", spec.parallel, "Cables between adjacent switches")
      ->capture_default_str();
  command->add_option("--fill", spec.fill, "Fraction of the host ports that have a host")
      ->capture_default_str();
  AddCommon(*command, arguments);
  return command;
}

CLI::App* AddSuperPod(CLI::App& generate, Arguments& arguments) {
  SuperPodSpec& spec = arguments.superpod;
  CLI::App* command = generate.add_subcommand("superpod", "Rail-optimised scalable units");
  command->add_option("--sus", spec.sus, "Scalable units")->capture_default_str();
  command->add_option("--hosts-per-su", spec.hosts_per_su, "Hosts of each unit")
      ->capture_default_str();
  command->add_option("--rails", spec.rails, "HCAs of each host, leaves of each unit")
      ->capture_default_str();
  command
      ->add_option("--radix", spec.radix,
                   "Ports of each switch; 0: 64, or more where hosts need it")
      ->capture_default_str();
  command
      ->add_option("--uplinks", spec.uplinks, "Uplinks of each leaf; 0: one per host of the unit")
      ->capture_default_str();
  AddCommon(*command, arguments);
  return command;
}

int Write(Arguments& arguments, bool superpod) {
  const auto speed = ParseSpeed(arguments.speed);
  if (!speed.ok()) {
    fmt::print(stderr, "fabricsim: {}\n", Message(speed.status()));
    return kExitUsage;
  }
  arguments.fat_tree.speed = arguments.superpod.speed = *speed;
  const auto topology =
      superpod ? GenerateSuperPod(arguments.superpod) : GenerateFatTree(arguments.fat_tree);
  if (!topology.ok()) {
    fmt::print(stderr, "fabricsim: {}\n", Message(topology.status()));
    return kExitUsage;
  }
  fabric::TopologyTextOptions options;
  options.generated_on = "no real fabric: fabricsim generate";  // No date: the same each time.
  const std::string text = arguments.format == "ibsim"
                               ? fabric::WriteIbsim(**topology).text
                               : fabric::WriteIbnetdiscover(**topology, options);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    std::perror("fabricsim: standard output");
    return kExitFailure;
  }
  return kExitOk;
}

}  // namespace

void AddGenerate(CLI::App& app, Run& run) {
  CLI::App* generate = app.add_subcommand("generate", "Write a topology to standard output");
  generate->require_subcommand(1);
  const auto arguments = std::make_shared<Arguments>();
  for (const bool superpod : {false, true}) {
    CLI::App* kind =
        superpod ? AddSuperPod(*generate, *arguments) : AddFatTree(*generate, *arguments);
    kind->final_callback(
        [&run, arguments, superpod] { run = [=] { return Write(*arguments, superpod); }; });
  }
}

}  // namespace fabricd::sim
