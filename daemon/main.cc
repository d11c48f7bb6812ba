// SPDX-License-Identifier: Apache-2.0
// fabricd: command line, configuration, signals. Everything else is in App.
#include <pthread.h>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include "common/process_clock.h"
#include "common/status.h"
#include "config/load.h"
#include "config/mode.h"
#include "config/opensm_import.h"
#include "daemon/app.h"
#include "daemon/record/logging.h"
#include "daemon/settings/config_files.h"
#include "daemon/settings/import_files.h"
#include "daemon/store/store_verbs.h"
#include "daemon/version.h"

namespace {

using fabricd::config::Config;

constexpr int kExitUsage = 2;
constexpr std::chrono::seconds kRetry{1};  // Of a start within the process.

struct Arguments {
  std::string config_file;
  std::string fabric, mode, state_dir, http_listen, dump_dir, import_opensm, accept_takeover;
  std::vector<std::string> listen;
  bool once = false, check_config = false, print_default_config = false;
  double clock_rate = 1;
  fabricd::daemon::StoreCommand store;
};

void Declare(CLI::App& cli, Arguments& arguments) {
  cli.add_option("--config", arguments.config_file, "Configuration file (YAML)");
  cli.add_option(
      "--fabric", arguments.fabric,
      "umad[:DEVICE[:PORT]], sim:FILE, or a generator: sim:superpod:sus=1,hosts=8,rails=4, "
      "sim:fat-tree:radix=8,levels=3");
  cli.add_option("--mode", arguments.mode,
                 "What fabricd does on the subnet: observe (Gets only; the default on a real "
                 "fabric), standby (the same, seen by other SMs) or manage")
      ->check([](const std::string& word) { return fabricd::config::ModeFault(word); });
  cli.add_option("--accept-takeover", arguments.accept_takeover,
                 "Id of a takeover report: its changes may be made (fabricctl takeover plan)");
  cli.add_option("--state-dir", arguments.state_dir,
                 "Where LIDs are kept (default /var/lib/fabricd)");
  cli.add_option("--listen", arguments.listen,
                 "gRPC: unix:PATH (default /run/fabricd/fabricd.sock), or HOST:PORT with the "
                 "certificates of `security` in the configuration");
  cli.add_option("--http-listen", arguments.http_listen,
                 "HOST:PORT for /metrics, /healthz and /ui, read-only");
  cli.add_option("--dump-dir", arguments.dump_dir,
                 "Write OpenSM-format dumps here after each heavy sweep");
  cli.add_flag("--once", arguments.once,
               "End when the subnet is up (0) or cannot be brought up (1)");
  cli.add_option("--clock-rate", arguments.clock_rate,
                 "Time runs so many times as fast: for tests on simulated devices, such as ibsim's")
      ->check(CLI::Range(1.0, 1000.0));
  cli.add_flag("--check-config", arguments.check_config,
               "Check the configuration and end: 0 good, 2 bad");
  cli.add_flag("--print-default-config", arguments.print_default_config,
               "Print a commented configuration with every default, and end");
  cli.add_option("--import-opensm", arguments.import_opensm,
                 "Turn OpenSM's configuration (a directory, or opensm.conf) into one of fabricd, "
                 "tell what became of each line, and end");
  DeclareStoreVerbs(cli, arguments.store);
  cli.set_version_flag("--version", std::string("fabricd ") + fabricd::daemon::kVersion);
}

// Command line options win over the file.
absl::StatusOr<Config> MakeConfig(const Arguments& arguments,
                                  std::vector<fabricd::config::Fault>* faults = nullptr) {
  Config config;
  if (!arguments.config_file.empty()) {
    auto loaded = fabricd::config::LoadFile(arguments.config_file, faults, arguments.mode);
    if (!loaded.ok()) return loaded.status();
    config = *std::move(loaded);
  }
  if (!arguments.fabric.empty()) config.fabric = arguments.fabric;
  if (!arguments.mode.empty()) config.mode = arguments.mode;
  if (!arguments.state_dir.empty()) config.state_dir = arguments.state_dir;
  if (!arguments.listen.empty()) config.listen = arguments.listen;
  if (!arguments.http_listen.empty()) config.http_listen = arguments.http_listen;
  return config;
}

// With the files that it names judged too.
absl::StatusOr<Config> MakeJudgedConfig(const Arguments& arguments,
                                        std::vector<fabricd::config::Fault>* faults = nullptr) {
  auto config = MakeConfig(arguments, faults);
  if (!config.ok()) return config;
  const auto wrong = fabricd::daemon::JudgeFiles(*config);
  if (wrong.empty()) return config;
  if (faults != nullptr) *faults = wrong;
  const std::string& name = arguments.config_file;
  return absl::InvalidArgumentError(
      fabricd::config::FaultsText(name.empty() ? "fabricd" : name, wrong));
}

int ImportOpensm(const std::string& path) {
  const auto files = fabricd::daemon::ReadOpensmFiles(path);
  if (!files.ok()) {
    fmt::print(stderr, "fabricd: {}\n", fabricd::Message(files.status()));
    return 1;
  }
  const auto import = fabricd::config::ImportOpensm(*files);
  std::fputs(import.yaml.c_str(), stdout);
  std::fputs(fabricd::config::ImportReport(import).c_str(), stderr);
  return 0;
}

int RunStoreCommand(const fabricd::daemon::StoreCommand& command, const Config& config) {
  const auto done = fabricd::daemon::Carry(command, config);
  if (done.ok()) {
    fmt::print("{}\n", *done);
    return 0;
  }
  fmt::print(stderr, "fabricd: {}\n", fabricd::Message(done.status()));
  return done.status().code() == absl::StatusCode::kInvalidArgument ? kExitUsage : 1;
}

// SIGTERM and SIGINT stop the daemon, SIGHUP reloads, SIGUSR1 of others does nothing; a thread of
// its own waits for them, so nothing runs in a signal handler. Who reads our output and goes does
// not end us. REQUIRES: called before any other thread is started, so that all inherit the mask.
sigset_t BlockSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  for (int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&set, number);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

class SignalThread {
 public:
  SignalThread(const sigset_t& set, fabricd::daemon::App& app)
      : thread_([this, set, &app] { Wait(set, app); }) {}
  ~SignalThread() {
    ending_ = true;
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }

 private:
  void Wait(const sigset_t& set, fabricd::daemon::App& app) {
    for (int number = 0; sigwait(&set, &number) == 0 && !ending_;) {
      if (number == SIGUSR1) continue;
      if (number == SIGHUP) {
        // What comes of it is logged.
        (void)app.configuration().Reload(fabricd::daemon::ConfigKeeper::How::kSweepAlways, "SIGHUP",
                                         nullptr);
        continue;
      }
      spdlog::info("SIG{}: stopping", sigabbrev_np(number));
      app.Stop();
    }
  }

  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

// For the time between two Apps, in which no SignalThread waits. True: SIGTERM or SIGINT came.
bool IsStoppedWithin(std::chrono::seconds pause, const sigset_t& set) {
  const timespec wait{.tv_sec = pause.count(), .tv_nsec = 0};
  const int number = sigtimedwait(&set, nullptr, &wait);
  return number == SIGTERM || number == SIGINT;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App cli{"InfiniBand subnet manager and fabric controller", "fabricd"};
  Declare(cli, arguments);
  try {
    cli.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return cli.exit(error) == 0 ? 0 : kExitUsage;
  }
  if (arguments.print_default_config) {
    std::fputs(fabricd::config::ExampleYaml().c_str(), stdout);
    return 0;
  }
  if (!arguments.import_opensm.empty()) return ImportOpensm(arguments.import_opensm);
  // A start goes on with partitions that were stored where their file has become faulty.
  const auto config = arguments.check_config ? MakeJudgedConfig(arguments) : MakeConfig(arguments);
  if (!config.ok()) {
    fmt::print(stderr, "{}\n", fabricd::Message(config.status()));
    return kExitUsage;
  }
  if (arguments.check_config) return 0;
  if (!arguments.store.verb.empty()) return RunStoreCommand(arguments.store, *config);

  const sigset_t signals = BlockSignals();
  fabricd::daemon::SetUpLogging(config->log.level);
  if (arguments.clock_rate != 1) {
    fabricd::ProcessClock::SetRate(arguments.clock_rate);
    spdlog::warn("time runs {:g} times as fast: for tests only", arguments.clock_rate);
  }
  fabricd::daemon::RunOptions run{arguments.once, arguments.dump_dir, arguments.accept_takeover,
                                  arguments.config_file};
  run.load_config = [&arguments](auto* faults) { return MakeJudgedConfig(arguments, faults); };
  int code = 0;
  fabricd::daemon::ConfigKeeper::Kept kept(*config);
  for (bool again = true; again;) {
    auto app = fabricd::daemon::App::Create(kept, run);
    // The store may be away for a moment. Under systemd the watchdog limits how often.
    if (!app.ok() && run.port != nullptr) {
      spdlog::error("cannot start again, trying on: {}", fabricd::Message(app.status()));
      run.succession = run.succession.AfterFailure();
      if (!IsStoppedWithin(kRetry, signals)) continue;
      code = 0;
      break;
    }
    if (!app.ok()) {
      fabricd::daemon::EndLogging();  // What was logged comes before it.
      fmt::print(stderr, "fabricd: {}\n", fabricd::Message(app.status()));
      return app.status().code() == absl::StatusCode::kInvalidArgument ? kExitUsage : 1;
    }
    {
      const SignalThread signal_thread(signals, **app);
      code = (*app)->Run();
    }
    again = (*app)->starts_again() && !run.once;
    kept = (*app)->configuration().kept();
    run.succession = (*app)->successor();
    run.port = (*app)->port();
  }
  spdlog::info("ended with {}", code);
  fabricd::daemon::EndLogging();
  return code;
}
