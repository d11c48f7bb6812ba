// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/event_commands.h"
#include "cli/hold_commands.h"
#include "cli/partition_commands.h"

namespace fabricd::cli {
namespace {

constexpr char kDefaultServer[] = "unix:/run/fabricd/fabricd.sock";
constexpr Timeout kWaitTimeout{60'000};

const std::map<std::string, Format> kFormats = {
    {"table", Format::kTable},     {"wide", Format::kWide},
    {"json", Format::kJson},       {"yaml", Format::kYaml},
    {"name", Format::kName},       {"ibnetdiscover", Format::kIbnetdiscover},
    {"ibroute", Format::kIbroute}, {"ibtracert", Format::kIbtracert},
    {"conf", Format::kConf}};

// "500ms", "15s", "2m", "1h", "7d"; a number alone is seconds.
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

struct Texts {  // Global options as typed.
  std::string server = kDefaultServer, timeout, format, color = "auto";
  bool no_headers = false;
};

Result ReadGlobals(const Texts& texts, Globals* globals) {
  globals->server = texts.server;
  globals->style.headers = !texts.no_headers;
  if (!texts.timeout.empty()) {
    globals->timeout = ParseTimeout(texts.timeout);
    if (!globals->timeout)
      return {kUsage,
              fmt::format("--timeout: \"{}\" is not a duration such as 15s", texts.timeout)};
  }
  if (!texts.format.empty()) {
    const auto known = kFormats.find(texts.format);
    if (known == kFormats.end())
      return {kUsage, fmt::format("-o: unknown format \"{}\"", texts.format)};
    globals->format = known->second;
    globals->format_given = true;
  }
  const char* no_color = std::getenv("NO_COLOR");
  const bool wanted = isatty(STDOUT_FILENO) && !(no_color && *no_color);
  globals->style.color = texts.color == "always" || (texts.color == "auto" && wanted);
  return {};
}

// "TYPE NAME…" or "TYPE/NAME…", as `-o name` prints it.
Result ReadResource(std::string word, std::vector<std::string> names, Resource* resource,
                    std::vector<std::string>* all_names) {
  if (const size_t slash = word.find('/'); slash != std::string::npos) {
    names.insert(names.begin(), word.substr(slash + 1));
    word.resize(slash);
  }
  const auto parsed = ParseResource(word);
  if (!parsed) {
    return {kUsage, fmt::format("no resource \"{}\" (node, host, switch, port, link, sm, hold, "
                                "condition, event, partition, record, service, subscription, "
                                "multicast)",
                                word)};
  }
  *resource = *parsed;
  *all_names = std::move(names);
  return {};
}

// The commands. Each sets `run`, which is called once all options are read.
class CommandLine {
 public:
  CommandLine()
      : app_("fabricctl shows and controls an InfiniBand fabric managed by fabricd.", "fabricctl") {
    app_.require_subcommand(1);
    app_.fallthrough();
    AddGlobals();
    AddGet();
    AddDescribe();
    AddRouting();
    AddHolds();
    AddPartitionFiles();
    AddPartitions();
    AddEvents();
    AddWait();
    AddAdmin();
    AddSim();
  }

  int Main(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (const std::string verb = UnknownVerb(argc, argv); !verb.empty()) {
        fmt::print(stderr, "error: unknown command \"{}\" (fabricctl --help lists them)\n", verb);
        return kUsage;
      }
      return app_.exit(error) == 0 ? kOk : kUsage;
    }
    Result result = ReadGlobals(texts_, &globals_);
    if (result.ok()) result = run_();
    if (!result.ok()) fmt::print(stderr, "error: {}\n", result.message);
    return result.code;
  }

 private:
  // The first word, when it is a command and not one of ours: CLI11 says only that one is required.
  std::string UnknownVerb(int argc, const char* const* argv) const {
    if (argc < 2 || argv[1][0] == '-') return {};
    const std::string verb = argv[1];
    const auto known =
        app_.get_subcommands([&](const CLI::App* sub) { return sub->get_name() == verb; });
    return known.empty() ? verb : "";
  }

  // A command that talks to the daemon.
  void OnCall(CLI::App* command, std::function<Result(Client&)> call) {
    command->callback([this, call = std::move(call)] {
      run_ = [this, call] {
        Client client(globals_.server, globals_.timeout);
        return call(client);
      };
    });
  }

  void AddGlobals() {
    app_.add_option("--server", texts_.server, "unix:PATH or HOST:PORT of fabricd")
        ->envname("FABRICCTL_SERVER")
        ->capture_default_str();
    app_.add_option("--timeout", texts_.timeout,
                    "longest wait for an answer (15s; sweeps, dumps, exports 10m)");
    app_.add_option("-o,--output", texts_.format,
                    "table, wide, json, yaml, name; ibroute (routes), ibtracert (trace), "
                    "ibnetdiscover (topology), conf (get partitions)");
    app_.add_flag("--no-headers,--no-legend", texts_.no_headers, "no header line above tables");
    app_.add_option("--color", texts_.color, "auto, always or never")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->capture_default_str();
  }

  void AddGet() {
    CLI::App* get =
        app_.add_subcommand("get", "List nodes, hosts, switches, ports, links, holds or the sm");
    get->add_option(
           "resource", resource_,
           "node(s), host(s), switch(es), port(s), link(s), sm, hold(s), condition(s), "
           "event(s), partition(s), record(s), service(s), subscription(s), multicast; no ho sw po "
           "li hd cond ev pkey rec svc sub mc")
        ->required();
    get->add_option("name", names_,
                    "names, GUIDs or LIDs; ports as NODE/PORT; holds by id or target; records by "
                    "type, paths with source and destination, all with FIELD=VALUE; groups by "
                    "MLID or MGID");
    get->add_flag("-w,--watch", watch_, "go on printing what changes");
    get->add_flag("--degraded", get_.degraded,
                  "ports, links: only those below what both ends support");
    get->add_option("--state", get_.states, "ports: only in these states (ACTIVE,INIT,…)")
        ->delimiter(',');
    get->add_flag("--damped", get_.damped, "links: those that have flapped, with their penalty");
    get->add_option("--owner", get_.owner, "holds: only this owner's");
    OnCall(get, [this](Client& client) {
      Result result = ReadResource(resource_, names_, &get_.resource, &get_.names);
      if (!result.ok()) return result;
      if (get_.resource == Resource::kEvent) {
        events_.nodes = get_.names;
        events_.watch = watch_;
        return Events(client, globals_, events_);
      }
      // What clients leave changes without a new view.
      if (watch_ && get_.resource >= Resource::kRecord)
        return Result{kUsage, fmt::format("{} cannot be watched", resource_)};
      return watch_ ? Watch(client, globals_, get_) : Get(client, globals_, get_);
    });
  }

  void AddDescribe() {
    CLI::App* describe = app_.add_subcommand(
        "describe",
        "Show all of a node, switch, host, port, link, multicast group, partition or the sm");
    describe
        ->add_option("resource", resource_,
                     "node, switch, host, port, link, multicast, partition, sm")
        ->required();
    describe->add_option("name", names_,
                         "names, GUIDs or LIDs; ports as NODE/PORT; groups by MLID or MGID; "
                         "partitions by P_Key or name");
    OnCall(describe, [this](Client& client) {
      Resource resource{};
      std::vector<std::string> names;
      const Result result = ReadResource(resource_, names_, &resource, &names);
      return result.ok() ? Describe(client, globals_, resource, names) : result;
    });
  }

  void AddRouting() {
    CLI::App* trace = app_.add_subcommand(
        "trace", "Follow the forwarding tables; exit 1 when they do not arrive");
    trace->add_option("source", trace_.source, "node, port, GUID or LID")->required();
    trace->add_option("destination", trace_.destination, "node, port, GUID or LID")->required();
    trace->add_flag("--all-lids", trace_.all_lids, "the paths of all LIDs of the destination");
    OnCall(trace, [this](Client& client) { return Trace(client, globals_, trace_); });

    CLI::App* routes = app_.add_subcommand("routes", "Show the forwarding table of a switch");
    routes->add_option("switch", routes_.node, "name, GUID or LID")->required();
    routes->add_option("--to", routes_.destination, "only to this node or port");
    routes->add_flag("--balance", routes_.balance, "LIDs for each egress port");
    OnCall(routes, [this](Client& client) { return Routes(client, globals_, routes_); });

    CLI::App* topology =
        app_.add_subcommand("topology", "Write the whole fabric (-o ibnetdiscover or json)");
    OnCall(topology, [this](Client& client) { return Topology(client, globals_); });
  }

  static CLI::App* AddWords(CLI::App* command, std::vector<std::string>& words) {
    command
        ->add_option("target", words,
                     "[host|hca|switch|port|link] NAME…; hostlists such as node[01-16]")
        ->required();
    return command;
  }

  void AddHold(const HoldVerb& verb) {
    CLI::App* make = AddWords(app_.add_subcommand(verb.verb, verb.help), hold_.words);
    make->add_option("--reason", hold_.reason, "why; shown wherever the hold is")->required();
    make->add_option("--for", for_, "it ends by itself after this long: 30m, 2h, 7d");
    make->add_option("--owner", hold_.owner, "in whose name; else your own");
    make->add_option("--request-id", hold_.request_id, "makes a repeated command safe");
    make->add_flag("--force", hold_.force, "let it pass the guards");
    AddDryRun(make);
    make->add_flag("--wait", hold_.wait, "until it is in effect; exit 4 at --timeout");
    if (verb.kind == pb::HOLD_KIND_DRAIN) {
      make->add_option("--mode", mode_, "hard: no route uses it; soft: only where nothing is left")
          ->check(CLI::IsMember({"hard", "soft"}))
          ->capture_default_str();
    }
    OnCall(make, [this, &verb](Client& client) -> Result {
      if (!for_.empty()) {
        hold_.ttl = ParseTimeout(for_);
        if (!hold_.ttl) return {kUsage, fmt::format("--for: \"{}\" is not a duration", for_)};
      }
      hold_.soft = mode_ == "soft";
      hold_.dry_run = dry_run_ == "server";
      return MakeHolds(client, globals_, verb, hold_);
    });
    CLI::App* lift = AddWords(app_.add_subcommand(verb.inverse, verb.inverse_help), unhold_.words);
    lift->add_option("--owner", unhold_.owner, "this owner's instead of your own");
    lift->add_flag("--all-owners", unhold_.all_owners, "whoever's they are");
    lift->add_flag("--ignore-not-found", unhold_.ignore_not_found, "exit 0 where there is none");
    OnCall(lift,
           [this, &verb](Client& client) { return LiftHolds(client, globals_, verb, unhold_); });
  }

  void AddHolds() {
    for (const HoldVerb& verb : HoldVerbs()) AddHold(verb);
    CLI::App* holds = app_.add_subcommand("holds", "List holds, as `get holds`");
    holds->add_option("name", get_.names, "ids or targets");
    holds->add_option("--owner", get_.owner, "only this owner's");
    holds->add_flag("-w,--watch", watch_, "go on printing what changes");
    OnCall(holds, [this](Client& client) {
      get_.resource = Resource::kHold;
      return watch_ ? Watch(client, globals_, get_) : Get(client, globals_, get_);
    });
    CLI::App* ack = app_.add_subcommand("ack", "Say that jobs are off what holds are to take away");
    ack->add_option("id", names_, "ids of holds")->required();
    OnCall(ack, [this](Client& client) { return Acknowledge(client, globals_, names_); });
    CLI::App* readiness = app_.add_subcommand(
        "readiness", "Show whether hosts can take jobs; exit 1 unless all are READY");
    readiness->add_option("host", names_, "hosts, hostlists; none: all");
    OnCall(readiness, [this](Client& client) { return ShowReadiness(client, globals_, names_); });
  }

  void AddDryRun(CLI::App* command) {
    command->add_option("--dry-run", dry_run_, "server: change nothing, show what would follow")
        ->check(CLI::IsMember({"none", "server"}))
        ->capture_default_str();
  }

  void AddPartitionFiles() {
    const auto add = [&](const char* verb, const char* help) {
      CLI::App* command = app_.add_subcommand(verb, help);
      command->add_option("resource", resource_, "partitions")
          ->required()
          ->check(CLI::IsMember({"partitions", "partition", "pkey"}));
      command->add_option("-f,--filename", file_.path, "a partitions.conf; -: standard input")
          ->required();
      return command;
    };
    CLI::App* apply =
        add("apply", "Replace all partitions by those of a file; a faulty one changes nothing");
    AddDryRun(apply);
    apply->add_option("--request-id", file_.request_id, "makes a repeated command safe");
    apply->add_flag("--wait", file_.wait, "until all P_Key tables are so; exit 4 at --timeout");
    OnCall(apply, [this](Client& client) {
      file_.dry_run = dry_run_ == "server";
      return ApplyPartitions(client, globals_, file_);
    });
    CLI::App* diff = add("diff", "Show what apply would change; exit 1 when it would");
    OnCall(diff, [this](Client& client) { return DiffPartitions(client, file_); });
  }

  void AddPartitions() {
    CLI::App* verbs = app_.add_subcommand("partition", "Change one partition");
    verbs->require_subcommand(1);
    verbs->fallthrough();
    using Call = Result (*)(Client&, const Globals&, const PartitionOptions&);
    const auto add = [&](const char* verb, const char* help, const char* what, Call call) {
      CLI::App* command = verbs->add_subcommand(verb, help);
      command->add_option("partition", partition_.partition, what)->required();
      AddDryRun(command);
      command->add_option("--request-id", partition_.request_id, "makes a repeated command safe");
      command->add_flag("--wait", partition_.wait,
                        "until all P_Key tables are so; exit 4 at --timeout");
      OnCall(command, [this, call](Client& client) {
        partition_.dry_run = dry_run_ == "server";
        return call(client, globals_, partition_);
      });
      return command;
    };
    const auto add_members = [&](CLI::App* command, const char* option) {
      return command->add_option(option, partition_.members,
                                 "GUIDs, hosts, nodes, ports (hostlists), ALL, ALL_CAS, "
                                 "ALL_SWITCHES, ALL_ROUTERS, ALL_VCAS, SELF");
    };
    const auto add_membership = [&](CLI::App* command) {
      command->add_option("--membership", partition_.membership, "full, limited or both")
          ->capture_default_str();
    };
    const char* const which = "P_Key or name";
    CLI::App* more = add("add-member", "Add members, or change what they are", which, &AddMembers);
    add_members(more, "member,--guid")->required();
    add_membership(more);
    add_members(add("remove-member", "Take members away", which, &RemoveMembers), "member,--guid")
        ->required();
    CLI::App* create = add("create", "Make a partition", "its name", &CreatePartition);
    create->add_option("--p-key", partition_.p_key, "else the lowest that is free");
    create->add_flag("--index0", partition_.index0, "its key is at index 0 of its members' tables");
    create->add_flag("--ipoib", partition_.ipoib, "it has a broadcast group for IPoIB");
    add_members(create, "--member");
    add_membership(create);
    CLI::App* gone = add("delete", "Take a partition away", which, &DeletePartition);
    gone->add_flag("--ignore-not-found", partition_.ignore_not_found, "exit 0 where it is not");
  }

  void AddEvents() {
    CLI::App* events = app_.add_subcommand("events", "Show what has happened, oldest first");
    events->add_flag("-w,--watch", events_.watch, "go on with what happens");
    events->add_option("--since", since_, "how far back: 10m, 2h, 7d (else the latest 100)");
    events->add_option("--types", events_.types, "only these (LinkDown,RerouteCompleted,…)")
        ->delimiter(',');
    events->add_option("--node", events_.nodes, "only about these nodes or hosts")->delimiter(',');
    events->add_option("--severity", events_.severity, "info, warning, error: this or a higher one")
        ->check(CLI::IsMember({"info", "warning", "error"}))
        ->capture_default_str();
    events->add_option("-n,--last", events_.last, "only the latest so many");
    OnCall(events, [this](Client& client) -> Result {
      if (!since_.empty()) {
        events_.since = ParseTimeout(since_);
        if (!events_.since)
          return {kUsage, fmt::format("--since: \"{}\" is not a duration", since_)};
      }
      return Events(client, globals_, events_);
    });
  }

  void AddWait() {
    CLI::App* wait = app_.add_subcommand(
        "wait", "Wait until the sm, hosts or holds are in a state; exit 4 when it does not come");
    wait->add_option("resource", resource_, "sm, host, hold")
        ->required()
        ->check(CLI::IsMember({"sm", "host", "hosts", "hold", "holds"}));
    wait->add_option("name", names_, "hosts (hostlists) or ids of holds");
    wait->add_option("--for", condition_,
                     "sm: FIELD, FIELD=VALUE or FIELD>=NUMBER of `get sm -o json`; host: ready, "
                     "condition=FabricReady, held, in-effect, released; hold: in-effect, "
                     "acknowledged, deleted")
        ->required();
    OnCall(wait, [this](Client& client) -> Result {
      const Timeout timeout = globals_.timeout.value_or(kWaitTimeout);
      if (resource_ == "sm") return WaitSm(client, condition_, timeout);
      if (names_.empty()) return {kUsage, "wait needs a NAME"};
      if (resource_.rfind("host", 0) == 0) return WaitHosts(client, names_, condition_, timeout);
      return WaitHolds(client, names_, condition_, timeout);
    });
  }

  void AddAdmin() {
    CLI::App* sweep = app_.add_subcommand("sweep", "Start a sweep");
    sweep->add_flag("--heavy", heavy_, "read every device again");
    sweep->add_flag("--wait", wait_, "until it has ended");
    OnCall(sweep, [this](Client& client) { return Sweep(client, heavy_, wait_); });

    CLI::App* dump = app_.add_subcommand("dump", "Write OpenSM's dump files");
    dump->add_option("--dir", directory_, "directory, made if need be")->required();
    dump->add_option("file", names_, "only these files");
    OnCall(dump, [this](Client& client) { return Dump(client, directory_, names_); });

    CLI::App* version =
        app_.add_subcommand("version", "Show the versions of fabricctl and fabricd");
    OnCall(version, [](Client& client) { return Version(client, FABRICD_VERSION); });
  }

  void AddSim() {
    CLI::App* sim = app_.add_subcommand("sim", "Pull and plug cables of a simulated fabric");
    sim->require_subcommand(1);
    sim->fallthrough();
    const auto add = [&](const char* name, const char* help, const char* what, auto call) {
      CLI::App* command = sim->add_subcommand(name, help);
      command->add_option(what, names_, "NODE[PORT], NODE/PORT or NODE:PORT")
          ->required()
          ->expected(1);
      OnCall(command, [this, call](Client& client) { return call(client, names_.front()); });
    };
    add("unlink", "Pull the cable at a port", "port", &SimUnlink);
    add("link", "Plug the cable of a port in again", "port", &SimLink);
    add("reboot", "Restart a node", "node", &SimReboot);
    CLI::App* connect = sim->add_subcommand("connect", "Join two free ports by a new cable");
    connect->add_option("ports", names_, "NODE[PORT] of both ends")->required()->expected(2);
    OnCall(connect, [this](Client& client) { return SimConnect(client, names_[0], names_[1]); });
    CLI::App* links = sim->add_subcommand("links", "List all cables");
    OnCall(links, [this](Client& client) { return SimLinks(client, globals_); });
  }

  CLI::App app_;
  Texts texts_;
  Globals globals_;
  std::function<Result()> run_;
  std::string resource_, directory_, condition_, for_, since_, mode_ = "hard", dry_run_ = "none";
  std::vector<std::string> names_;
  bool watch_ = false, heavy_ = false, wait_ = false;
  GetOptions get_;
  TraceOptions trace_;
  RoutesOptions routes_;
  HoldOptions hold_;
  UnholdOptions unhold_;
  PartitionFile file_;
  PartitionOptions partition_;
  EventOptions events_;
};

}  // namespace

int RunCommandLine(int argc, const char* const* argv) {
  CommandLine command_line;
  return command_line.Main(argc, argv);
}

}  // namespace fabricd::cli
