// SPDX-License-Identifier: Apache-2.0
// cli/shell: what is typed: verbs, options, completion.
//
// Grammar: the tree of commands with their options, what is typed before, and what holds for all of
// them. Each verbs_*.cc adds its own. Completion walks the same tree.
//
// What a value may be is told by the type name of its option (CLI::Option::type_name): words in
// braces, or one of the kinds below; completion reads both.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/client/contexts.h"
#include "cli/verbs/globals.h"
#include "cli/verbs/resource.h"

namespace fabricd::cli {

// Kinds of values that completion knows more of.
inline constexpr char kResourceValue[] = "RESOURCE";  // A word for a kind of thing.
inline constexpr char kNameValue[] = "NAME";          // A name of the RESOURCE before.
inline constexpr char kNodeValue[] = "NODE";
inline constexpr char kSwitchValue[] = "SWITCH";
inline constexpr char kHostValue[] = "HOST";
inline constexpr char kPortValue[] = "PORT";
inline constexpr char kHoldValue[] = "ID";
inline constexpr char kPartitionValue[] = "PARTITION";
inline constexpr char kTargetValue[] = "TARGET";  // [KIND] NAME of what a hold is on.
inline constexpr char kFormValue[] = "FORM";      // Of -o.
inline constexpr char kContextValue[] = "CONTEXT";
inline constexpr char kFileValue[] = "FILE";
inline constexpr char kDirectoryValue[] = "DIRECTORY";
inline constexpr char kDurationValue[] = "TIME";
inline constexpr char kTextValue[] = "TEXT";

// The forms of -o that a command has. The first is what it prints unasked.
using Forms = std::vector<const char*>;
inline const Forms kNoForms = {};
inline const Forms kDocumentForms = {"table", "wide", "json", "yaml"};
inline const Forms kChangeForms = {"table", "json", "yaml", "name"};
inline const Forms kListingForms = {"table", "wide", "json", "yaml", "name", "custom-columns="};

class Grammar {
 public:
  Grammar();
  Grammar(const Grammar&) = delete;
  Grammar& operator=(const Grammar&) = delete;

  CLI::App& app() { return app_; }
  const CLI::App& app() const { return app_; }
  const Globals& globals() const { return globals_; }
  const ContextFile& contexts() const { return contexts_; }
  // Of a context, what was typed now.
  Context typed() const;
  // What -o can be for this command.
  const Forms& FormsOf(const CLI::App* command) const;

  // A verb, or a verb below `parent`.
  CLI::App* Add(const std::string& name, const std::string& help, CLI::App* parent = nullptr);
  // A verb that only groups others.
  CLI::App* AddGroup(const std::string& name, const std::string& help);
  // What a command does: with the daemon, or by itself.
  void OnCall(CLI::App* command, Forms forms, std::function<Result(Client&)> call);
  void OnRun(CLI::App* command, Forms forms, std::function<Result()> run);

  // Parses and runs one command; its exit code.
  int Run(int argc, const char* const* argv);
  // Candidates for the last of these words, which has been begun or is empty; errors leave it
  // without.
  Result Complete(const std::vector<std::string>& words);

 private:
  struct Texts {  // Global options as typed.
    std::string server, context, tls_cert, tls_key, tls_ca, timeout, format, color = "auto";
    bool no_headers = false, no_pager = false;
  };
  struct Command {
    Forms forms;
    std::function<Result()> run;
    bool needs_daemon = false;
  };

  void AddGlobals();
  Result ReadGlobals(const CLI::App* command);
  Result ReadEndpoint();
  Result ReadForm(const CLI::App* command);
  const CLI::App* ParsedCommand() const;
  std::string UnknownVerb(int argc, const char* const* argv) const;

  CLI::App app_;
  Texts texts_;
  Globals globals_;
  ContextFile contexts_;
  std::map<const CLI::App*, Command> commands_;
};

// "500ms", "15s", "2m", "1h", "7d"; a number alone is seconds. Nothing: none of these.
std::optional<Timeout> ParseTimeout(const std::string& text);
// Reads a duration into *value, "" leaves it; kUsage names the option.
Result ReadTimeout(const std::string& option, const std::string& text,
                   std::optional<Timeout>* value);

// --verdict and --bad.
void AddVerdictFilters(CLI::App* command, GetOptions& options);

// --dry-run=none|server.
void AddDryRun(CLI::App* command, std::string* word);

// The verbs, in the order of --help.
void AddListingVerbs(Grammar& grammar);    // get, describe, api-resources, explain
void AddRoutingVerbs(Grammar& grammar);    // trace, routes, topology
void AddPlanVerbs(Grammar& grammar);       // plan, analyze, validate
void AddTelemetryVerbs(Grammar& grammar);  // top, errors, history, inventory, job
void AddVerdictVerbs(Grammar& grammar);    // verdicts …, congestion
void AddHoldVerbs(Grammar& grammar);       // cordon … enable, holds, ack, readiness, check
void AddPartitionVerbs(Grammar& grammar);  // apply, diff, partition …
void AddEventVerbs(Grammar& grammar);      // events, wait
void AddAdminVerbs(Grammar& grammar);      // sweep, dump, sm, takeover, tech-support, version
void AddConfigVerbs(Grammar& grammar);     // config …, audit, auth …, completion
void AddSimVerbs(Grammar& grammar);        // sim …

}  // namespace fabricd::cli
