// SPDX-License-Identifier: Apache-2.0
#include "daemon/app.h"

#include <algorithm>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include <spdlog/spdlog.h>

#include "common/process_clock.h"
#include "common/status.h"
#include "daemon/base/wall_clock.h"
#include "daemon/core/dumps.h"
#include "daemon/record/logging.h"
#include "daemon/settings/core_options.h"
#include "daemon/settings/partitions_file.h"
#include "daemon/settings/sa_files.h"
#include "daemon/settings/telemetry_options.h"
#include "daemon/settings/verdict_options.h"
#include "daemon/stop_limit.h"
#include "daemon/telemetry/reset_events.h"
#include "daemon/version.h"
#include "mad/replies.h"
#include "mad/transactions.h"

namespace fabricd::daemon {
namespace {

// Where another SM is master fabricd knows the fabric too, and telemetry may be set to poll it.
telemetry::State CollectorStateOf(const sweep::FabricView& view, bool waits) {
  if (waits || view.sm.state == wire::SmState::kStandby) return telemetry::State::kStandby;
  return view.snapshot->node_count() == 0 ? telemetry::State::kWaiting : telemetry::State::kPolling;
}

}  // namespace

// ---- set-up

App::App(ConfigKeeper::Kept config, const RunOptions& run)
    : config_(config.in_force),
      accept_takeover_(run.accept_takeover),
      port_(run.port),
      node_(
          config_, kVersion, run.succession,
          [this](auto job) { return state_->Post(std::move(job)); },
          {.core = [this](auto changed) { commands_.inbox().PushLatest(std::move(changed)); },
           .clients = [this](auto rows) { sa_keeper_->Replace({std::move(rows)}); },
           .verdicts = [this](auto stored) { verdicts_->Follow(std::move(stored)); },
           .reading_is_stale =
               [this] {
                 spdlog::info("the master has recorded other tables than were read: reading again");
                 PostSweep(/*heavy=*/true, [](const absl::Status&) {});
               }},
          [this](auto ports) { commands_.inbox().PushLatest(std::move(ports)); }) {
  ConfigKeeper::Hooks hooks;
  hooks.load = run.load_config;
  hooks.apply = [this](const config::Config& wanted, ConfigKeeper::Apply how) {
    return ApplyConfig(wanted, how);
  };
  hooks.tell = [this](fabric::FabricEvent event) {
    events().Append({std::move(event)}, ProcessClock::Now());
  };
  keeper_ = std::make_unique<ConfigKeeper>(std::move(config), run.config_file, std::move(hooks));
}

absl::StatusOr<std::unique_ptr<App>> App::Create(ConfigKeeper::Kept config, const RunOptions& run) {
  std::unique_ptr<App> app(new App(std::move(config), run));
  FABRICD_RETURN_IF_ERROR(app->Open(run));
  return app;
}

absl::Status App::Open(const RunOptions& run) {
  auto state = StateOpener::Open(config_, node_.Opening(run.once));
  if (!state.ok()) return state.status();
  state_ = *std::move(state);
  node_.SetStore(state_->shared());
  hosts_ = std::make_unique<HostCache>(state_->host_patterns());
  FABRICD_RETURN_IF_ERROR(OpenPort());
  auto stored = state_->Load(config_);
  if (!stored.ok()) return stored.status();
  stored->core.options.takeover.accept = accept_takeover_;
  node_.Complete(stored->core, stored->tables, ProcessClock::Now());
  FABRICD_RETURN_IF_ERROR(OpenVerdicts(std::move(stored->verdicts)));
  FABRICD_RETURN_IF_ERROR(OpenSa(std::move(stored->clients)));
  OpenTelemetry(run.once);
  FABRICD_RETURN_IF_ERROR(OpenCore(std::move(stored->core), run));
  return api_.Open(config_, state_->mode(), *this);
}

absl::Status App::OpenPort() {
  if (port_ == nullptr) {
    auto port = FabricPort::Open(config_.fabric, state_->port_mode());
    if (!port.ok()) return port.status();
    port_ = *std::move(port);
  }
  transport_ = &port_->Use(state_->mode());
  return absl::OkStatus();
}

absl::Status App::OpenSa(std::unique_ptr<sa::SaState> clients) {
  auto routes = ReadPrefixRoutes(config_.sm);
  if (!routes.ok()) return routes.status();
  KeeperLinks links;
  links.on_store = [this](std::function<void(store::Store&)> job) {
    return state_->Post(std::move(job));
  };
  links.tell_groups = [this](std::shared_ptr<const fabric::MulticastGroups> groups) {
    commands_.inbox().PushLatest(sweep::GroupsChanged{std::move(groups)});
  };
  links.tell_aliases = [this](std::shared_ptr<const fabric::AliasGuids> aliases) {
    commands_.inbox().PushLatest(sweep::AliasesChanged{std::move(aliases)});
  };
  sa_keeper_ = std::make_unique<SaKeeper>(std::move(clients), *transport_, std::move(links));
  const SmKey trusted = config_.sm.sa_key ? config_.sm.sa_key : config_.sm.sm_key;
  sa_ = std::make_unique<SaService>(
      *transport_, *sa_keeper_, SaOptions{trusted, config_.sm.subnet_prefix, *std::move(routes)},
      [this](std::span<const NodeIndex> nodes) { commands_.inbox().WantLanes(nodes); });
  return absl::OkStatus();
}

absl::Status App::OpenVerdicts(policy::StoredVerdicts stored) {
  auto options = ToVerdictOptions(config_);
  if (!options.ok()) return options.status();
  VerdictLinks links;
  links.telemetry = [this] { return telemetry_->view(); };
  links.fabric = [this] { return view(); };
  links.post_hold = [this](HoldCommand command, HoldDone done) {
    PostHold(std::move(command), std::move(done));
  };
  links.append_events = [this](std::vector<fabric::FabricEvent> events, Instant now) {
    this->events().Append(std::move(events), now);
  };
  links.on_store = [this](std::function<void(store::Store&)> job) {
    return state_->Post(std::move(job));
  };
  verdicts_ = std::make_unique<VerdictThread>(*std::move(options), host_patterns(), node_name_map(),
                                              std::move(stored), std::move(links));
  return absl::OkStatus();
}

void App::OpenTelemetry(bool once) {
  telemetry::Options options = ToTelemetryOptions(config_.telemetry);
  // Rates need two readings, for which nobody waits.
  if (once) options.enabled = false;
  auto on_epochs =
      [this, resets = ResetEvents()](const std::vector<telemetry::EpochStarted>& epochs) mutable {
        const Instant now = ProcessClock::Now();
        auto of_resets = resets.Take(epochs, *view()->snapshot, now);
        if (!of_resets.empty()) events().Append(std::move(of_resets), now);
      };
  telemetry_ = std::make_unique<TelemetryThread>(options, *transport_, std::move(on_epochs));
}

absl::Status App::OpenCore(shell::CoreInputs inputs, const RunOptions& run) {
  inputs.local = transport_->local_port();
  // The port may still get responses to another start's requests.
  inputs.options.smp.first_transaction_id = std::random_device{}();
  publisher_ = std::make_unique<ViewPublisher>(
      commands_, events(), [this](const auto& view) { OnView(view); }, run.dump_dir);
  ProgressReporter::Links links{
      .publisher = *publisher_,
      .sa_is_busy = [this] { return sa_->is_busy(); },
      .on_load = [this](const telemetry::CoreLoad& load) { telemetry_->OnLoad(load); }};
  progress_ = std::make_unique<ProgressReporter>(std::move(links), run.once);
  auto recorder = OpenRecorder();
  // The disk is full, for example: that must not keep a node from taking over.
  if (!recorder.ok()) spdlog::error("nothing is recorded: {}", Message(recorder.status()));
  CoreHost::Links links_of_core{*transport_, state_->store(), state_->thread(), commands_.inbox(),
                                *publisher_};
  links_of_core.fence = node_.Fence();
  core_ = std::make_unique<CoreHost>(inputs, std::move(links_of_core),
                                     recorder.ok() ? *std::move(recorder) : nullptr);
  return absl::OkStatus();
}

// Null: it is off.
absl::StatusOr<std::unique_ptr<FlightRecorder>> App::OpenRecorder() const {
  if (!config_.recorder.enabled) return nullptr;
  return FlightRecorder::Open(recordings(), uint64_t{config_.recorder.max_mib} << 20, kVersion,
                              static_cast<uint64_t>(WallNowMs()));
}

App::~App() {
  api_.StopPages();
  api_.StopCalls();
  if (sa_) sa_->Stop();
  if (sa_keeper_) sa_keeper_->Stop();
  if (verdicts_) verdicts_->Stop();
  if (telemetry_) telemetry_->Stop();
  if (transport_) transport_->Stop();
  if (core_) core_->StopComputing();
  if (state_) state_->StopWriting();
  if (state_) state_->StopListing();
  if (publisher_) publisher_->Stop();
}

// ---- the core's thread

int App::Run() {
  const absl::Status started =
      transport_->Start([this](std::span<mad::Incoming> burst) { OnTransport(burst); });
  if (!started.ok()) {
    spdlog::error("{}", Message(started));
    return 1;
  }
  for (const mad::Agent agent : {mad::Agent::kPerf, mad::Agent::kVendor}) {
    const absl::Status status = transport_->AgentStatus(agent);
    if (!status.ok()) spdlog::warn("{}; the subnet is managed without it", Message(status));
  }
  sa_keeper_->Start();
  telemetry_->Start();
  verdicts_->Start();
  core_->Run([this](const sweep::Core& core) { return OnTurn(core); });
  ShutDown();
  // It may have been stopped when it was about to end, or to start again, for another reason.
  return stopping_ ? 0 : exit_code_.value_or(0);
}

// The watchdog is fed by Report(): not without a port.
bool App::OnTurn(const sweep::Core& core) {
  if (const absl::Status port = core_->PortStatus(); !port.ok()) {
    spdlog::critical("ended: {}", Message(port));
    exit_code_ = 1;
    return false;
  }
  if (const std::string why = node_.WhyAgain(*view(), core_->pause()); !why.empty()) {
    spdlog::warn("starting again: {}", why);
    exit_code_ = 1;  // With `once`.
    return false;
  }
  progress_->Report(core);
  exit_code_ = progress_->FindEnd(core);
  const Instant now = ProcessClock::Now();
  if (view()->subnet_up) window_.Note(core.statistics().window, now);
  node_.TellOthers(view()->sm, keeper_->in_force(), now);
  if (auto event = node_.LookAtConfigurations(now)) events().Append({*std::move(event)}, now);
  node_.Record(view(), core.statistics().window, now);
  if (node_.HearsOfStop(view()->sm, now)) {
    spdlog::info("another node was stopped while it was master: reading everything again");
    PostSweep(/*heavy=*/true, [this](const absl::Status& status) {
      if (status.ok()) return;
      spdlog::warn("reading everything again: {}", Message(status));
      node_.HearAgain();
    });
  }
  if (state_->m_keys().IsDue(now))
    state_->m_keys().Look(view(), now, [this](auto job) { return state_->Post(std::move(job)); });
  node_.Follow(*view(), now);
  publisher_->Beat();
  if (state_->Beat(*view(), now)) commands_.inbox().PushLatest(sweep::StoreTakesWrites());
  return !stopping_ && !exit_code_;
}

// This node gives the epoch back and waits, and the other one takes it. Without etcd neither could.
void App::PostMastership(MastershipCommand command, MastershipDone done) {
  const auto* step_down = std::get_if<sweep::StepDown>(&command);
  const sweep::SmStatus sm = view()->sm;
  const bool steps_down = step_down != nullptr && sm.state == wire::SmState::kMaster;
  const bool may_yield = steps_down && node_.epoch() != 0 && state_->writable().ok();
  const auto successor = may_yield ? node_.WaitingNode(sm) : std::nullopt;
  if (!successor) return commands_.PostMastership(std::move(command), std::move(done));
  if (!step_down->validate_only) node_.StepDown();
  commands_.inbox().Interrupt();
  done(absl::OkStatus(), std::make_shared<const sweep::MastershipOutcome>(
                             sweep::MastershipOutcome{sm.priority, sm.priority, *successor}));
}

void App::OnView(const std::shared_ptr<const sweep::FabricView>& view) {
  sa_->OnView(view);
  state_->SetMaster(view->sm.state == wire::SmState::kMaster);
  node_.OnView(view);
  telemetry_->OnFabric({view->snapshot, CollectorStateOf(*view, node_.waits())});
  api_.OnPublished(IsServing(*view));
}

// First what accepts requests, then what writes their results, then the fabric. Computing is
// stopped last: a plan that is being computed cannot be interrupted.
void App::ShutDown() {
  StopLimit limit;
  core_->CancelComputing();
  if (!starts_again()) publisher_->service_manager().Stopping();
  ShowProgress("");
  commands_.inbox().Close();
  limit.At("the pages");
  api_.StopPages();
  limit.At("the API");
  api_.StopCalls();
  limit.At("Subnet Administration");
  sa_->Stop();
  sa_keeper_->Stop();
  limit.At("verdicts");
  verdicts_->Stop();
  limit.At("the flight recorder");
  core_->StopRecording();
  limit.At("the store");
  node_.End();
  state_->StopWriting();
  limit.At("listings and dumps");
  state_->StopListing();
  publisher_->Stop();
  limit.At("telemetry");
  telemetry_->Stop();
  limit.At("the transport");
  // The next start sets it again: the port may have lost it meanwhile, as ibsim's do with their
  // link.
  if (const absl::Status cleared = transport_->SetIsSm(false); !cleared.ok())
    spdlog::warn("IsSM: {}", Message(cleared));
  transport_->Stop();
  limit.At("computing");
  core_->StopComputing();
}

// ---- other threads

void App::Stop() {
  stopping_ = true;
  core_->CancelComputing();
  commands_.inbox().Interrupt();
}

// The core's replies are handed over first: the SA may answer its requests on this thread.
void App::OnTransport(std::span<mad::Incoming> burst) {
  std::vector<mad::IncomingMad> for_sa, for_telemetry;
  for (mad::Incoming& what : burst) {
    auto* const mad = std::get_if<mad::IncomingMad>(&what);
    if (mad == nullptr) {
      commands_.inbox().PushPortEvent(std::get<mad::LocalPortEvent>(what));
    } else if (mad::IsForTelemetry(*mad)) {
      for_telemetry.push_back(std::move(*mad));
    } else if (mad->agent == mad::Agent::kSubnAdm) {
      for_sa.push_back(std::move(*mad));
    } else if (mad::IsForEngine(*mad)) {
      commands_.inbox().PushReply(std::move(*mad));
    } else {
      sa_->OnTrap(*mad);
      telemetry_->OnTrap(*mad);
      commands_.inbox().PushTrap(std::move(*mad));
    }
  }
  if (!for_sa.empty()) sa_->OnMads(for_sa);
  if (!for_telemetry.empty()) telemetry_->OnMads(for_telemetry);
}

// Nothing is put in force before all of it is known to be good.
absl::Status App::ApplyConfig(const config::Config& wanted, ConfigKeeper::Apply how) {
  auto options = ToCoreOptions(wanted);
  if (!options.ok()) return options.status();
  state_->Complete(*options);
  options->takeover.accept = accept_takeover_;
  auto verdicts = ToVerdictOptions(wanted);
  if (!verdicts.ok()) return verdicts.status();
  std::optional<policy::PartitionRequest> partitions;
  if (!wanted.partitions.file.empty()) {
    auto request = ReadPartitionsFile(wanted.partitions.file);
    if (!request.ok()) return request.status();
    if (request->file_digest != view()->partitions->file_digest) partitions = *std::move(request);
  }
  if (how == ConfigKeeper::Apply::kJudge) return absl::OkStatus();
  if (how == ConfigKeeper::Apply::kSweep &&
      !commands_.inbox().PushCommand(sweep::OptionsChanged{*std::move(options)}))
    return Unavailable("fabricd is busy or stopping");
  if (partitions) ApplyPartitionsFile(*std::move(partitions));
  telemetry_->SetOptions(ToTelemetryOptions(wanted.telemetry));
  verdicts_->SetOptions(*std::move(verdicts));
  SetLogLevel(wanted.log.level);
  api_.SetAccess(wanted.security);
  return absl::OkStatus();
}

void App::ApplyPartitionsFile(policy::PartitionRequest request) {
  const auto done = [](const absl::Status& status, const auto&) {
    if (status.ok())
      spdlog::info("the partitions of the file are in force");
    else
      spdlog::error("the partitions of the file were refused: {}", Message(status));
  };
  PostPartitions({0, std::move(request), false, true, "partitions.file"}, done);
}

absl::StatusOr<std::map<std::string, std::string>> App::MakeDumps() const {
  return DumpView(*view());
}

std::string App::recordings() const {
  return config_.recorder.enabled ? config_.state_dir + "/recordings" : std::string();
}

}  // namespace fabricd::daemon
