// SPDX-License-Identifier: Apache-2.0
// verdicts …, congestion, check fabric.
#include "cli/shell/grammar.h"
#include "cli/verbs/listing.h"
#include "cli/verbs/verdict_commands.h"

namespace fabricd::cli {
namespace {

constexpr int kMostVictims = 1000;

using Remark = Result (*)(Client&, const Globals&, const RemarkOptions&);

struct RemarkWords {
  RemarkOptions options;
  std::string ttl;
};

// A verb that says something of the verdicts at ports.
void AddRemark(Grammar& grammar, CLI::App* verdicts, const char* name, const char* help,
               Remark call, bool needs_reason, bool has_ttl = false) {
  auto words = std::make_shared<RemarkWords>();
  CLI::App* remark = grammar.Add(name, help, verdicts);
  remark->add_option("port", words->options.ports, "either port of the link; an HCA with one port")
      ->required()
      ->type_name(kPortValue);
  remark->add_option("--reason", words->options.reason, "why; shown with the verdict")
      ->required(needs_reason)
      ->type_name(kTextValue);
  if (has_ttl)
    remark
        ->add_option("--for", words->ttl, "it ends after this long: 30m, 2h, 7d (with the verdict)")
        ->type_name(kDurationValue);
  grammar.OnCall(remark, kChangeForms, [&grammar, words, call](Client& client) -> Result {
    Result result = ReadTimeout("--for", words->ttl, &words->options.ttl);
    return result.ok() ? call(client, grammar.globals(), words->options) : result;
  });
}

void AddVerdicts(Grammar& grammar) {
  CLI::App* verdicts =
      grammar.Add("verdicts", "List links that are not healthy, as `get verdicts`");
  verdicts->fallthrough();
  auto listed = std::make_shared<GetOptions>();
  listed->resource = Resource::kVerdict;
  verdicts->add_option("name", listed->names, "only of links of these ports, nodes and hosts")
      ->type_name(kPortValue);
  AddVerdictFilters(verdicts, *listed);
  verdicts->add_flag("-w,--watch", listed->watch,
                     "go on printing what changes; of nodes and hosts");
  grammar.OnCall(verdicts, kListingForms, [&grammar, listed](Client& client) {
    return listed->watch ? Watch(client, grammar.globals(), *listed)
                         : Get(client, grammar.globals(), *listed);
  });
  AddRemark(grammar, verdicts, "ack", "Say that verdicts were seen; changes nothing", AckVerdicts,
            false);
  AddRemark(grammar, verdicts, "overrule",
            "Say that verdicts are wrong, or their links needed: no action follows",
            OverruleVerdicts, true, true);
  AddRemark(grammar, verdicts, "release", "Say that links are repaired: they are HEALTHY at once",
            ReleaseVerdicts, true);
  auto reason = std::make_shared<std::string>();
  CLI::App* reset =
      grammar.Add("reset-breaker", "Let actions follow from verdicts again", verdicts);
  reset->add_option("--reason", *reason, "why")->required()->type_name(kTextValue);
  grammar.OnCall(reset, kNoForms,
                 [reason](Client& client) { return ResetBreaker(client, *reason); });
}

}  // namespace

void AddVerdictFilters(CLI::App* command, GetOptions& options) {
  command->add_option("--verdict", options.verdicts, "verdicts: only these, also UNKNOWN ones")
      ->delimiter(',')
      ->type_name("{NOISY_PHY,FLAPPING,SLOW_RECEIVER,CHATTY,SUSPECT,VICTIM,UNKNOWN}");
  command->add_flag("--bad", options.bad, "verdicts: only those that name a culprit");
}

void AddVerdictVerbs(Grammar& grammar) {
  AddVerdicts(grammar);
  auto options = std::make_shared<CongestionOptions>();
  CLI::App* congestion =
      grammar.Add("congestion", "Show where congestion begins, and which ports wait because of it");
  congestion->add_option("name", options->names, "only what reaches these ports, nodes and hosts")
      ->type_name(kPortValue);
  congestion->add_option("--victims", options->victims, "most ports shown of each root (20)")
      ->check(CLI::Range(1, kMostVictims))
      ->type_name("NUMBER");
  grammar.OnCall(congestion, {"table", "json", "yaml"}, [&grammar, options](Client& client) {
    return Congestion(client, grammar.globals(), *options);
  });
}

}  // namespace fabricd::cli
