// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/grammar.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "cli/shell/completion.h"

namespace fabricd::cli {
namespace {

constexpr char kDefaultServer[] = "unix:/run/fabricd/fabricd.sock";

std::string FromEnvironment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The first that is not empty.
std::string FirstOf(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts)
    if (!text.empty()) return text;
  return {};
}

}  // namespace

std::optional<Timeout> ParseTimeout(const std::string& text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(result.ptr, text.data() + text.size());
  const std::map<std::string, double> units = {{"", 1e3},   {"ms", 1},     {"s", 1e3},
                                               {"m", 60e3}, {"h", 3600e3}, {"d", 86400e3}};
  const auto known = units.find(unit);
  if (result.ec != std::errc() || known == units.end() || !(value > 0) ||
      value * known->second > 1e10) {
    return std::nullopt;
  }
  return Timeout(static_cast<int64_t>(value * known->second));
}

Result ReadTimeout(const std::string& option, const std::string& text,
                   std::optional<Timeout>* value) {
  if (text.empty()) return {};
  *value = ParseTimeout(text);
  if (*value) return {};
  return {kUsage, fmt::format("{}: \"{}\" is not a duration such as 15s", option, text)};
}

Grammar::Grammar()
    : app_("fabricctl shows and controls an InfiniBand fabric managed by fabricd.", "fabricctl") {
  app_.require_subcommand(1);
  app_.fallthrough();
  AddGlobals();
  AddListingVerbs(*this);
  AddRoutingVerbs(*this);
  AddPlanVerbs(*this);
  AddTelemetryVerbs(*this);
  AddVerdictVerbs(*this);
  AddHoldVerbs(*this);
  AddPartitionVerbs(*this);
  AddEventVerbs(*this);
  AddAdminVerbs(*this);
  AddConfigVerbs(*this);
  AddSimVerbs(*this);
}

void Grammar::AddGlobals() {
  app_.add_option("--server", texts_.server,
                  "unix:PATH or HOST:PORT of fabricd, or several with commas, of which the master "
                  "is asked (FABRICCTL_SERVER; unix:/run/fabricd/fabricd.sock)")
      ->type_name(kTextValue);
  app_.add_option("--context", texts_.context,
                  "the daemon of this context (FABRICCTL_CONTEXT; see config set-context)")
      ->type_name(kContextValue);
  app_.add_option("--tls-cert", texts_.tls_cert, "of HOST:PORT: our certificate")
      ->type_name(kFileValue);
  app_.add_option("--tls-key", texts_.tls_key, "its key")->type_name(kFileValue);
  app_.add_option("--tls-ca", texts_.tls_ca, "who vouches for the daemon's certificate")
      ->type_name(kFileValue);
  app_.add_option("--timeout", texts_.timeout,
                  "longest wait for an answer (15s; sweeps, dumps, exports 10m)")
      ->type_name(kDurationValue);
  app_.add_option("-o,--output", texts_.format,
                  "table, wide, json, yaml, name, custom-columns=NAME:.field,…; ibroute (routes), "
                  "ibtracert (trace), ibqueryerrors (errors), perfquery (describe port), conf (get "
                  "partitions); of topology: see its --help")
      ->type_name(kFormValue);
  app_.add_flag("--no-headers,--no-legend", texts_.no_headers, "no header line above tables");
  app_.add_flag("--no-pager", texts_.no_pager, "never through $PAGER");
  app_.add_option("--color", texts_.color, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

const Forms& Grammar::FormsOf(const CLI::App* command) const {
  const auto known = commands_.find(command);
  return known == commands_.end() ? kNoForms : known->second.forms;
}

CLI::App* Grammar::Add(const std::string& name, const std::string& help, CLI::App* parent) {
  return (parent ? parent : &app_)->add_subcommand(name, help);
}

CLI::App* Grammar::AddGroup(const std::string& name, const std::string& help) {
  CLI::App* group = app_.add_subcommand(name, help);
  group->require_subcommand(1);
  group->fallthrough();
  return group;
}

void Grammar::OnCall(CLI::App* command, Forms forms, std::function<Result(Client&)> call) {
  OnRun(command, std::move(forms), [this, call = std::move(call)]() -> Result {
    Client client(globals_.endpoint, globals_.timeout);
    if (Result result = client.usable(); !result.ok()) return result;
    return call(client);
  });
  commands_[command].needs_daemon = true;
}

void Grammar::OnRun(CLI::App* command, Forms forms, std::function<Result()> run) {
  commands_[command] = {std::move(forms), std::move(run)};
}

Context Grammar::typed() const {
  return {texts_.server, texts_.tls_cert, texts_.tls_key, texts_.tls_ca, texts_.timeout};
}

Result Grammar::ReadEndpoint() {
  const std::string name =
      FirstOf({texts_.context, FromEnvironment("FABRICCTL_CONTEXT"), contexts_.current});
  Context context;
  if (const auto known = contexts_.contexts.find(name); known != contexts_.contexts.end()) {
    context = known->second;
  } else if (!name.empty()) {
    return {kUsage, fmt::format("no context \"{}\" (fabricctl config get-contexts)", name)};
  }
  // What was asked for now goes before what the environment says, that before what is kept.
  const Context chosen = texts_.context.empty() ? Context() : context;
  Endpoint& endpoint = globals_.endpoint;
  const auto read = [&](const std::string& typed, std::string Context::*kept, const char* set) {
    return FirstOf({typed, chosen.*kept, FromEnvironment(set), context.*kept});
  };
  endpoint.server = read(texts_.server, &Context::server, "FABRICCTL_SERVER");
  if (endpoint.server.empty()) endpoint.server = kDefaultServer;
  endpoint.tls_cert = read(texts_.tls_cert, &Context::tls_cert, "FABRICCTL_TLS_CERT");
  endpoint.tls_key = read(texts_.tls_key, &Context::tls_key, "FABRICCTL_TLS_KEY");
  endpoint.tls_ca = read(texts_.tls_ca, &Context::tls_ca, "FABRICCTL_TLS_CA");
  return ReadTimeout("--timeout", FirstOf({texts_.timeout, context.timeout}), &globals_.timeout);
}

Result Grammar::ReadForm(const CLI::App* command) {
  const Forms& forms = FormsOf(command);
  if (texts_.format.empty()) return {};
  const auto format = ParseFormat(texts_.format);
  const std::string word = texts_.format.substr(0, texts_.format.find('='));
  bool known = false;
  for (const char* form : forms)
    known |= word == std::string(form).substr(0, std::string(form).find('='));
  if (!format || !known) {
    return {kUsage, forms.empty() ? fmt::format("-o: {} has but one form", command->get_name())
                                  : fmt::format("-o: \"{}\" is none of {}", texts_.format,
                                                fmt::join(forms, ", "))};
  }
  globals_.format = *format;
  globals_.format_given = true;
  if (const size_t equal = texts_.format.find('='); equal != std::string::npos)
    globals_.columns = texts_.format.substr(equal + 1);
  return {};
}

Result Grammar::ReadGlobals(const CLI::App* command) {
  if (commands_.at(command).needs_daemon) {
    if (Result result = LoadContexts(&contexts_); !result.ok()) return result;
    if (Result result = ReadEndpoint(); !result.ok()) return result;
  }
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  globals_.style.headers = !texts_.no_headers;
  globals_.style.color = texts_.color == "always" || (texts_.color == "auto" && terminal &&
                                                      FromEnvironment("NO_COLOR").empty());
  globals_.pager = terminal && !texts_.no_pager;
  return ReadForm(command);
}

// The command that was parsed, the innermost.
const CLI::App* Grammar::ParsedCommand() const {
  const CLI::App* command = &app_;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return command;
}

// The first word, when it is a command and not one of ours: CLI11 says only that one is required.
std::string Grammar::UnknownVerb(int argc, const char* const* argv) const {
  if (argc < 2 || argv[1][0] == '-') return {};
  const std::string verb = argv[1];
  const auto known =
      app_.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == verb; });
  return known.empty() ? verb : "";
}

int Grammar::Run(int argc, const char* const* argv) {
  if (argc > 1 && std::string(argv[1]) == kCompleteVerb) {
    (void)Complete({argv + 2, argv + argc});
    return kOk;
  }
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (const std::string verb = UnknownVerb(argc, argv); !verb.empty()) {
      PrintError("error: unknown command \"{}\" (fabricctl --help lists them)\n", verb);
      return kUsage;
    }
    return app_.exit(error) == 0 ? kOk : kUsage;
  }
  const CLI::App* command = ParsedCommand();
  Result result = ReadGlobals(command);
  if (result.ok()) result = commands_.at(command).run();
  if (!result.message.empty()) PrintError("error: {}\n", result.message);
  return result.code;
}

Result Grammar::Complete(const std::vector<std::string>& words) {
  const TypedWords typed = ReadWords(app_, words);
  const auto global = [&](const char* option) {
    const auto value = typed.values.find(app_.get_option(option));
    return value == typed.values.end() ? "" : value->second;
  };
  texts_.server = global("--server");
  texts_.context = global("--context");
  texts_.tls_cert = global("--tls-cert");
  texts_.tls_key = global("--tls-key");
  texts_.tls_ca = global("--tls-ca");
  if (Result result = LoadContexts(&contexts_); !result.ok()) return result;
  if (Result result = ReadEndpoint(); !result.ok()) return result;
  globals_.timeout = kCompletionTimeout;
  for (const std::string& candidate : Candidates(*this, typed)) Print(candidate + "\n");
  return {};
}

}  // namespace fabricd::cli
