// SPDX-License-Identifier: Apache-2.0
#include "daemon/app.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <spdlog/spdlog.h>

#include "common/process_clock.h"
#include "common/status.h"
#include "daemon/base/side_file.h"
#include "daemon/base/wall_clock.h"
#include "daemon/dumps.h"
#include "daemon/http/pages.h"
#include "daemon/record/view_events.h"
#include "daemon/rpc/services/server.h"
#include "daemon/settings/core_options.h"
#include "daemon/settings/partitions_file.h"
#include "daemon/settings/telemetry_options.h"
#include "daemon/settings/verdict_options.h"
#include "daemon/stop_limit.h"
#include "daemon/version.h"
#include "mad/replies.h"
#include "mad/transactions.h"
#include "mad/umad_transport.h"
#include "routing/plan/engine.h"
#include "routing/repair/consequences.h"
#include "sim/fabric/topology.h"
#include "sim/transport/sim_transport.h"
#include "store/guid2lid.h"
#include "store/sqlite_store.h"
#include "sweep/plan/computing.h"

namespace fabricd::daemon {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kTick = std::chrono::milliseconds(200);
constexpr auto kBeat = std::chrono::seconds(10);
constexpr size_t kListings = 64;

// During a sweep answers come one by one, each with a wake-up of its own, although what they allow
// could leave together. Waiting a moment for more of them takes a quarter off the processor time of
// a bring-up on ibsim and costs less than a round trip. Where few are under way, as in a look at
// one switch, each is waited for by what comes next.
constexpr auto kGatherTime = std::chrono::microseconds(200);
constexpr size_t kEnoughEvents = 64, kManyInFlight = 32;

}  // namespace

// ---- set-up

App::App(const config::Config& config, RunOptions run) : config_(config), run_(std::move(run)) {
  ConfigKeeper::Hooks hooks;
  hooks.load = run_.load_config;
  hooks.apply = [this](const config::Config& wanted, ConfigKeeper::Apply how) {
    return ApplyConfig(wanted, how);
  };
  hooks.tell = [this](fabric::FabricEvent event) {
    events_->Append({std::move(event)}, ProcessClock::Now());
  };
  keeper_ = std::make_unique<ConfigKeeper>(config, run_.config_file, std::move(hooks));
  view_.Set(sweep::EmptyView());  // A client may come before the core has anything to show.
}

absl::StatusOr<std::unique_ptr<App>> App::Create(const config::Config& config, RunOptions run) {
  std::unique_ptr<App> app(new App(config, std::move(run)));
  FABRICD_RETURN_IF_ERROR(app->OpenState());
  FABRICD_RETURN_IF_ERROR(app->OpenFabric());
  FABRICD_RETURN_IF_ERROR(app->OpenListeners());
  return app;
}

absl::Status App::OpenState() {
  std::error_code error;
  std::filesystem::create_directories(config_.state_dir, error);
  if (error) return Unavailable("state directory {}: {}", config_.state_dir, error.message());
  std::vector<std::string> warnings;
  auto opened = store::OpenSqliteStore(config_.state_dir, &warnings);
  if (!opened.ok()) return opened.status();
  for (const std::string& warning : warnings) spdlog::warn("{}", warning);
  store_ = std::move(*opened);
  if (!config_.lid.guid2lid_file.empty()) {
    auto text = ReadFileOf("lid.guid2lid_file", config_.lid.guid2lid_file);
    if (!text.ok()) return text.status();
    const store::Guid2Lid parsed = store::ParseGuid2Lid(*text);
    WarnSkipped(config_.lid.guid2lid_file, parsed);
    auto known = store_->LoadLids();
    if (!known.ok()) return known.status();
    // The file seeds an empty store; later our own records are the truth.
    if (known->empty()) FABRICD_RETURN_IF_ERROR(store_->PutLids(parsed.records));
  }
  if (!config_.topology.node_name_map.empty()) {
    auto text = ReadFileOf("topology.node_name_map", config_.topology.node_name_map);
    if (!text.ok()) return text.status();
    node_name_map_ = fabric::NodeNameMap::Parse(*text);
    WarnSkipped(config_.topology.node_name_map, node_name_map_);
  }
  auto patterns =
      fabric::HostPatterns::Compile(config_.topology.host_pattern, config_.topology.rail_pattern);
  if (!patterns.ok()) return patterns.status();
  host_patterns_ = *std::move(patterns);
  return OpenEvents();
}

absl::Status App::OpenEvents() {
  auto history = store::OpenSqliteHistory(config_.state_dir);
  if (!history.ok()) return history.status();
  history_ = *std::move(history);
  const PostToStore post = [this](Job job) { return store_thread_->PostRecords(std::move(job)); };
  const Listings listings{*history_, [this](Job job) { return listings_->Post(std::move(job)); }};
  auto events = EventLog::Open(
      *store_, post, listings,
      {.keep = config_.events.keep,
       .max_age = std::chrono::duration_cast<std::chrono::hours>(config_.events.max_age)});
  if (!events.ok()) return events.status();
  events_ = *std::move(events);
  audit_ = std::make_unique<AuditLog>(
      *store_, post, listings,
      AuditLog::Limits{
          .keep = config_.audit.keep,
          .max_age = std::chrono::duration_cast<std::chrono::hours>(config_.audit.max_age)});
  listings_ = std::make_unique<Worker<Job>>(kListings, [](const Job& job) { job(); });
  files_ = std::make_unique<Worker<Job>>(1, [](const Job& job) { job(); });
  // Nothing but its jobs uses the store from here on, but for what is read before Run().
  store_thread_ = std::make_unique<StoreThread>();
  return absl::OkStatus();
}

bool App::OnStore(std::function<void()> job) { return store_thread_->PostWrite(std::move(job)); }

absl::Status App::OpenFabric() {
  const std::string& spec = config_.fabric;
  if (spec.rfind("sim:", 0) == 0) {
    auto topology = sim::MakeTopology(spec.substr(4));
    // What --fabric names is the operator's word, also where no such file exists.
    if (!topology.ok()) return InvalidArgument("{}", Message(topology.status()));
    auto transport = sim::SimTransport::Create(**topology, {});
    if (!transport.ok()) return transport.status();
    sim_control_ = transport->get();
    transport_ = std::move(*transport);
  } else {
    const auto choice = mad::UmadChoice::Parse(spec);
    if (!choice.ok()) return choice.status();
    auto transport = mad::UmadTransport::Open(*choice);
    if (!transport.ok()) return transport.status();
    transport_ = std::move(*transport);
  }
  auto options = ToCoreOptions(config_);
  if (!options.ok()) return options.status();
  auto stored = store_->LoadLids();
  if (!stored.ok()) return stored.status();
  auto holds = store_->LoadHolds();
  if (!holds.ok()) return holds.status();
  auto rows = store_->LoadRows();
  if (!rows.ok()) return rows.status();
  auto partitions = OpenPartitions(*rows);
  if (!partitions.ok()) return partitions.status();
  std::erase_if(*rows, [](const auto& row) { return policy::IsPartitionRow(row.first); });
  FABRICD_RETURN_IF_ERROR(OpenVerdicts(*rows));
  std::erase_if(*rows, [](const auto& row) { return policy::IsVerdictRow(row.first); });
  auto clients = sa::SaState::Make(*rows, FirstEpochMs());
  if (!clients.ok()) return clients.status();
  const shell::CoreInputs inputs{
      *std::move(options), transport_->local_port(), *std::move(stored),   *std::move(holds),
      (*clients)->Trees(), *std::move(partitions),   (*clients)->Aliases()};
  core_ = inputs.MakeCore();
  FABRICD_RETURN_IF_ERROR(OpenRecorder(inputs));
  OpenSa(*std::move(clients));
  OpenTelemetry();
  return absl::OkStatus();
}

absl::Status App::OpenRecorder(const shell::CoreInputs& inputs) {
  if (!config_.recorder.enabled) return absl::OkStatus();
  auto recorder = FlightRecorder::Open(recordings(), uint64_t{config_.recorder.max_mib} << 20,
                                       kVersion, static_cast<uint64_t>(WallNowMs()));
  if (!recorder.ok()) return recorder.status();
  recorder_ = *std::move(recorder);
  recorder_->OnStart(inputs);
  return absl::OkStatus();
}

std::string App::recordings() const {
  return config_.recorder.enabled ? config_.state_dir + "/recordings" : std::string();
}

void App::StepCore(sweep::Event event, Instant now) {
  if (recorder_) recorder_->OnStep(event, now);
  core_->Step(std::move(event), now);
}

void App::CarryEffects(Instant now) {
  sweep::Effects effects = core_->TakeEffects(now);
  if (recorder_) recorder_->OnEffects(effects, now);
  Carry(std::move(effects), now);
}

// As stored, or as the file says where it is not the one that was applied last. Where nothing was
// ever stored a faulty file leaves nothing to go on with: all ports in one partition is what nobody
// asked for.
absl::StatusOr<policy::PartitionState> App::OpenPartitions(const StoredRows& rows) {
  auto stored = policy::LoadPartitions(rows);
  const std::string& path = config_.partitions.file;
  if (!stored.ok() || path.empty()) return stored;
  auto request = ReadPartitionsFile(path);
  const auto before = std::make_shared<const policy::PartitionState>(*std::move(stored));
  if (request.ok() && request->file_digest == before->file_digest) return *before;
  auto outcome = request.ok() ? policy::Apply(*request, before) : request.status();
  if (!outcome.ok()) {
    if (before->revision == 0) return outcome.status();
    spdlog::error("{}; the partitions of before stay", Message(outcome.status()));
    return *before;
  }
  FABRICD_RETURN_IF_ERROR(store_->ChangeRows(policy::PartitionRows(*before, *outcome->after)));
  spdlog::info("{}: {} partitions", path, outcome->after->partitions.list.size());
  return *outcome->after;
}

void App::OpenSa(std::unique_ptr<sa::SaState> clients) {
  KeeperLinks links;
  links.on_store = [this](std::function<void(store::Store&)> job) {
    return OnStore([this, job = std::move(job)] { job(*store_); });
  };
  links.tell_groups = [this](std::shared_ptr<const fabric::MulticastGroups> groups) {
    inbox_.PushLatest(sweep::GroupsChanged{std::move(groups)});
  };
  links.tell_aliases = [this](std::shared_ptr<const fabric::AliasGuids> aliases) {
    inbox_.PushLatest(sweep::AliasesChanged{std::move(aliases)});
  };
  sa_keeper_ = std::make_unique<SaKeeper>(std::move(clients), *transport_, std::move(links));
  const SmKey trusted = config_.sm.sa_key ? config_.sm.sa_key : config_.sm.sm_key;
  sa_ = std::make_unique<SaService>(
      *transport_, *sa_keeper_, SaOptions{trusted, config_.sm.subnet_prefix},
      [this](std::span<const NodeIndex> nodes) { inbox_.WantLanes(nodes); });
}

absl::Status App::OpenVerdicts(const StoredRows& rows) {
  auto options = ToVerdictOptions(config_);
  if (!options.ok()) return options.status();
  auto stored = policy::LoadVerdicts(rows);
  if (!stored.ok()) return stored.status();
  VerdictLinks links;
  links.telemetry = [this] { return telemetry_->view(); };
  links.fabric = [this] { return view(); };
  links.post_hold = [this](HoldCommand command, HoldDone done) {
    PostHold(std::move(command), std::move(done));
  };
  links.append_events = [this](std::vector<fabric::FabricEvent> events, Instant now) {
    events_->Append(std::move(events), now);
  };
  links.on_store = [this](std::function<void(store::Store&)> job) {
    return OnStore([this, job = std::move(job)] { job(*store_); });
  };
  verdicts_ = std::make_unique<VerdictThread>(*std::move(options), host_patterns_, node_name_map_,
                                              *std::move(stored), std::move(links));
  return absl::OkStatus();
}

void App::OpenTelemetry() {
  telemetry::Options options = ToTelemetryOptions(config_.telemetry);
  // Rates need two readings, for which nobody waits.
  if (run_.once) options.enabled = false;
  telemetry_ = std::make_unique<TelemetryThread>(
      options, *transport_, [this](const std::vector<telemetry::EpochStarted>& epochs) {
        const Instant now = ProcessClock::Now();
        auto events = reset_events_.Take(epochs, *view()->snapshot, now);
        if (!events.empty()) events_->Append(std::move(events), now);
      });
}

absl::Status App::OpenListeners() {
  if (!config_.listen.empty()) FABRICD_RETURN_IF_ERROR(OpenRpc());
  if (config_.http_listen.empty()) return absl::OkStatus();
  auto http = http::ServePages(config_.http_listen, kVersion, *this, [this] {
    return serving() ? serving()->Handled() : std::vector<rpc::HandledCalls>();
  });
  if (!http.ok()) return http.status();
  http_ = *std::move(http);
  return absl::OkStatus();
}

absl::Status App::OpenRpc() {
  auto server = rpc::Server::Start({config_.listen, kVersion, config_.security}, *this);
  if (!server.ok()) return server.status();
  server_ = std::move(*server);
  serving_.store(server_.get(), std::memory_order_release);
  // A reload that came by one of the first calls may not have seen it.
  server_->SetAccess(keeper_->in_force()->security);
  return absl::OkStatus();
}

App::~App() {
  http_.reset();
  if (server_) server_->Shutdown();
  if (sa_) sa_->Stop();
  if (sa_keeper_) sa_keeper_->Stop();
  if (verdicts_) verdicts_->Stop();
  if (telemetry_) telemetry_->Stop();
  if (transport_) transport_->Stop();
  urgent_.reset();
  compute_.reset();
  store_thread_.reset();
  listings_.reset();
  files_.reset();
}

// ---- the core's loop

int App::Run() {
  // What is still queued when fabricd stops is of no use.
  const auto unless_stopping = [this](const Job& job) {
    if (!stopping_) job();
  };
  urgent_ = std::make_unique<Worker<Job>>(16, unless_stopping);
  compute_ = std::make_unique<Worker<Job>>(16, unless_stopping);
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
  Loop();
  ShutDown();
  return exit_code_.value_or(0);
}

void App::Loop() {
  Instant now = ProcessClock::Now();
  StepCore(sweep::StartEvent{wall_clock_.epoch()}, now);
  CarryEffects(now);
  std::vector<sweep::Event> events;
  while (!stopping_ && !exit_code_) {
    events.clear();
    const auto latest = SteadyClock::now() + kTick;
    const Instant deadline = core_->NextDeadline();
    inbox_.Take(events,
                deadline == kNever ? latest : std::min(latest, ProcessClock::ToSteady(deadline)));
    const bool many = core_->smps_in_flight() > kManyInFlight;
    if (many && !events.empty() && events.size() < kEnoughEvents) {
      std::this_thread::sleep_for(kGatherTime);
      inbox_.Take(events, SteadyClock::now());
    }
    const auto wall = SteadyClock::now();
    now = ProcessClock::Now();
    if (const auto epoch = wall_clock_.Look()) StepCore(sweep::WallClockSet{*epoch}, now);
    for (sweep::Event& event : events) StepCore(std::move(event), now);
    if (now >= core_->NextDeadline()) StepCore(sweep::TimerEvent{}, now);
    CarryEffects(now);
    TellLoad();
    ShowProgress(wall);
    if (wall >= next_beat_) {
      next_beat_ = wall + kBeat;
      events_->Beat();
    }
  }
}

// Against the flow: first who asks, then what they wrote, then the fabric. Computing comes last: a
// plan that is being made cannot be interrupted.
void App::ShutDown() {
  StopLimit limit;
  stopping_ = true;
  service_manager_.Stopping();
  daemon::ShowProgress("");
  inbox_.Close();
  limit.At("the pages");
  http_.reset();
  limit.At("the API");
  if (server_) server_->Shutdown();
  limit.At("Subnet Administration");
  sa_->Stop();
  sa_keeper_->Stop();
  limit.At("verdicts");
  verdicts_->Stop();
  limit.At("the flight recorder");
  if (recorder_) recorder_->Stop();
  limit.At("the store");
  store_thread_->Stop();
  limit.At("listings and dumps");
  listings_->Stop();
  files_->Stop();
  limit.At("telemetry");
  telemetry_->Stop();
  limit.At("the transport");
  if (const absl::Status cleared = transport_->SetIsSm(false); !cleared.ok())
    spdlog::warn("IsSM: {}", Message(cleared));
  transport_->Stop();
  limit.At("computing");
  urgent_->Stop();
  compute_->Stop();
}

void App::Stop() {
  stopping_ = true;
  inbox_.Interrupt();
}

// Nothing is put in force before all of it is known to be good.
absl::Status App::ApplyConfig(const config::Config& wanted, ConfigKeeper::Apply how) {
  auto options = ToCoreOptions(wanted);
  if (!options.ok()) return options.status();
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
      !inbox_.PushCommand(sweep::OptionsChanged{*std::move(options)}))
    return Unavailable("fabricd is busy or stopping");
  if (partitions) ApplyPartitionsFile(*std::move(partitions));
  telemetry_->SetOptions(ToTelemetryOptions(wanted.telemetry));
  verdicts_->SetOptions(*std::move(verdicts));
  SetLogLevel(wanted.log.level);
  if (rpc::Server* const server = serving()) server->SetAccess(wanted.security);
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

void App::Carry(sweep::Effects effects, Instant now) {
  for (const sweep::LogRecord& record : effects.log) Write(record);
  if (effects.set_is_sm) {
    const absl::Status status = transport_->SetIsSm(*effects.set_is_sm);
    if (!status.ok()) spdlog::error("IsSM: {}", Message(status));
  }
  for (const mad::OutgoingMad& out : effects.send) {
    const absl::Status status = transport_->Send(out);
    if (status.ok()) continue;
    spdlog::debug("send: {}", Message(status));
    mad::IncomingMad failed{mad::IncomingMad::Kind::kSendFailed, out.agent, out.to, out.payload};
    StepCore(std::move(failed), now);
  }
  for (sweep::Question& question : effects.questions)
    std::visit([&](auto&& what) { CarryOut(question.id, std::move(what), now); },
               std::move(question.what));
  if (effects.publish) {
    auto events = EventsBetween(*view_.Get(), *effects.publish);
    std::move(events.begin(), events.end(), std::back_inserter(effects.events));
    view_.Set(effects.publish);
    sa_->OnView(effects.publish);
    TellTelemetry(*effects.publish);
    if (rpc::Server* const server = serving()) server->OnPublished();
    OnPublished(*effects.publish);
  }
  // After the view that shows what they tell.
  if (!effects.events.empty()) events_->Append(std::move(effects.events), now);
  for (const sweep::FinishedCommand& finished : effects.finished) commands_.Finish(finished);
}

// Where another SM is master, fabricd knows the fabric all the same.
void App::TellTelemetry(const sweep::FabricView& view) {
  using telemetry::State;
  State state = State::kPolling;
  if (view.snapshot->node_count() == 0) state = State::kWaiting;
  if (view.sm.state == wire::SmState::kStandby) state = State::kStandby;
  telemetry_->OnFabric({view.snapshot, state});
}

void App::TellLoad() {
  const size_t smps = core_->smps_in_flight();
  const sweep::Phase phase = core_->progress().phase;
  telemetry::CoreLoad load;
  load.smps = smps > 0;
  load.writing = phase == sweep::Phase::kAssigningLids || phase == sweep::Phase::kProgramming;
  // Jobs wait for a reroute, from the survey to the last write. For a periodic sweep nobody does.
  const bool reroutes = phase == sweep::Phase::kSurveying || phase == sweep::Phase::kRouting ||
                        phase == sweep::Phase::kBringingUp || load.writing;
  load.busy = reroutes || smps > kManyInFlight || sa_->is_busy();
  if (load == load_) return;
  load_ = load;
  telemetry_->OnLoad(load);
}

void App::OnPublished(const sweep::FabricView& view) {
  const bool standby = view.sm.state == wire::SmState::kStandby;
  const bool idle = view.phase == sweep::Phase::kIdle || view.phase == sweep::Phase::kStandby;
  const bool ready = standby || (view.sweeps_done > 0 && idle);
  if (rpc::Server* const server = serving()) server->SetServing(ready || view.sweeps_done > 0);
  if (ready) service_manager_.Ready();
  service_manager_.Status(fmt::format("{} {}, {} nodes, {}", wire::SmStateName(view.sm.state),
                                      sweep::PhaseName(view.phase), view.snapshot->node_count(),
                                      view.subnet_up ? "subnet up" : "subnet not up"));
  if (view.sweeps_done == sweeps_seen_ || !idle) return;
  sweeps_seen_ = view.sweeps_done;
  // Where one waits already, it will show this view.
  if (!run_.dump_dir.empty() && view.plan) (void)files_->Post([this] { WriteDumps(); });
}

void App::JudgeOnce(const sweep::Progress& progress, Instant now) {
  const std::shared_ptr<const sweep::FabricView> view = view_.Get();
  OnceWatch::Facts facts;
  facts.standby = view->sm.state == wire::SmState::kStandby;
  facts.idle = view->phase == sweep::Phase::kIdle || view->phase == sweep::Phase::kStandby;
  facts.subnet_up = view->subnet_up;
  facts.sweeps_done = view->sweeps_done;
  facts.progress =
      fmt::format("{} {} {}", sweep::PhaseName(progress.phase), progress.step, progress.done);
  const std::optional<OnceWatch::End> end = once_.Judge(std::move(facts), now);
  if (!end) return;
  if (!end->why.empty()) spdlog::warn("ended: {}", end->why);
  exit_code_ = end->exit_code;
}

void App::ShowProgress(SteadyClock::time_point now) {
  const sweep::Progress progress = core_->progress();
  service_manager_.Tick(progress.done + core_->sweeps_done(), now);
  if (run_.once) JudgeOnce(progress, ProcessClock::Now());
  if (now < next_progress_) return;
  next_progress_ = now + kTick;
  if (progress.phase == sweep::Phase::kIdle || progress.phase == sweep::Phase::kStandby) {
    daemon::ShowProgress("");
    return;
  }
  std::string text =
      fmt::format("{} {} {}", sweep::PhaseName(progress.phase), progress.step, progress.done);
  if (progress.total > 0) text += fmt::format("/{}", progress.total);
  daemon::ShowProgress(text + fmt::format(", {} SMPs sent", core_->statistics().total_sent()));
}

// ---- other threads

// What the core waits for goes first: the SA may answer on this thread.
void App::OnTransport(std::span<mad::Incoming> burst) {
  std::vector<mad::IncomingMad> for_sa, for_telemetry;
  for (mad::Incoming& what : burst) {
    auto* const mad = std::get_if<mad::IncomingMad>(&what);
    if (mad == nullptr) {
      inbox_.PushPortEvent(std::get<mad::LocalPortEvent>(what));
    } else if (mad::IsForTelemetry(*mad)) {
      for_telemetry.push_back(std::move(*mad));
    } else if (mad->agent == mad::Agent::kSubnAdm) {
      for_sa.push_back(std::move(*mad));
    } else if (mad::IsForEngine(*mad)) {
      inbox_.PushReply(std::move(*mad));
    } else {
      sa_->OnTrap(*mad);
      telemetry_->OnTrap(*mad);
      inbox_.PushTrap(std::move(*mad));
    }
  }
  if (!for_sa.empty()) sa_->OnMads(for_sa);
  if (!for_telemetry.empty()) telemetry_->OnMads(for_telemetry);
}

void App::CarryOut(sweep::QuestionId id, sweep::ComputePlan task, Instant now) {
  newest_plan_ = id.value();
  newest_is_urgent_ = task.goal <= routing::ReplanGoal::kWhole && task.before != nullptr;
  Job job = [this, id, task = std::move(task)] {
    if (newest_plan_ == id.value()) inbox_.PushAnswer(sweep::Answer{id, sweep::CarryOut(task)});
  };
  if ((newest_is_urgent_ ? urgent_ : compute_)->Post(std::move(job))) return;
  spdlog::error("the compute queue is full");
  StepCore(sweep::Answer{id, sweep::PlanReady{}}, now);
}

// Behind the plan that it was asked for with, however that is made. While links flap a plan of all
// keeps the thread, and only the newest answer is waited for.
void App::CarryOut(sweep::QuestionId id, sweep::CheckCables task, Instant now) {
  auto newest = std::make_shared<const Unchecked>(Unchecked{id, std::move(task)});
  if (unchecked_.exchange(std::move(newest)) != nullptr) return;
  const auto check = [this] {
    const std::shared_ptr<const Unchecked> what = unchecked_.exchange(nullptr);
    inbox_.PushAnswer(sweep::Answer{what->id, sweep::CarryOut(what->task)});
  };
  const auto check_later = [this, check] {
    if (compute_->Post(check)) return;
    const std::shared_ptr<const Unchecked> what = unchecked_.exchange(nullptr);
    inbox_.PushAnswer(sweep::Answer{what->id, sweep::CablesChecked{}});
  };
  if (newest_is_urgent_ ? urgent_->Post(check_later) : compute_->Post(check)) return;
  unchecked_.store(nullptr);
  StepCore(sweep::Answer{id, sweep::CablesChecked{}}, now);
}

void App::CarryOut(sweep::QuestionId id, sweep::OrderTables task, Instant now) {
  if (PostQuestion(*urgent_, id, std::move(task))) return;
  spdlog::error("the queue of urgent computing is full");
  StepCore(sweep::Answer{id, sweep::TablesOrdered{}}, now);
}
void App::CarryOut(sweep::QuestionId id, sweep::ComputeTrees task, Instant now) {
  if (PostQuestion(*compute_, id, std::move(task))) return;
  StepCore(sweep::Answer{id, sweep::TreesReady{nullptr, "fabricd is stopping"}}, now);
}
void App::CarryOut(sweep::QuestionId id, sweep::EvaluateIntent task, Instant now) {
  if (PostQuestion(*compute_, id, std::move(task))) return;
  const sweep::IntentEvaluated none{{.plan_found = false, .why_not = "fabricd is stopping"}};
  StepCore(sweep::Answer{id, none}, now);
}
template <typename Record>
void App::CarryOut(sweep::QuestionId id, Record record, Instant now) {
  if (OnStore([this, id, record = std::move(record)] {
        inbox_.PushAnswer(sweep::Answer{id, sweep::Persisted{Persist(record)}});
      }))
    return;
  const absl::Status full = Unavailable("the store's queue is full");
  StepCore(sweep::Answer{id, sweep::Persisted{full}}, now);
}

template <typename Task>
bool App::PostQuestion(Worker<Job>& worker, sweep::QuestionId id, Task task) {
  return worker.Post([this, id, task = std::move(task)] {
    inbox_.PushAnswer(sweep::Answer{id, sweep::CarryOut(task)});
  });
}

absl::Status App::Persist(const sweep::PersistLids& task) {
  std::vector<fabric::LidRecord> records = task.records;
  const int64_t seen = WallNowMs() / 1000;
  for (fabric::LidRecord& record : records) record.last_seen = seen;
  return store_->PutLids(records);
}
absl::Status App::Persist(const sweep::PersistHolds& task) {
  return store_->ChangeHolds(task.put, task.remove);
}
absl::Status App::Persist(const sweep::PersistPartitions& task) {
  return store_->ChangeRows(task.rows);
}

// ---- Backend

std::shared_ptr<const sweep::FabricView> App::view() const { return view_.Get(); }

// Found without the lock: threads of low priority ask too, and hold up no other.
std::shared_ptr<const fabric::HostTable> App::hosts(const sweep::FabricView& view) const {
  {
    std::lock_guard lock(hosts_mutex_);
    if (hosts_of_ && fabric::SameNodes(*hosts_of_, *view.snapshot)) {
      hosts_of_ = view.snapshot;
      return hosts_;
    }
  }
  auto found =
      std::make_shared<const fabric::HostTable>(fabric::FindHosts(*view.snapshot, host_patterns_));
  std::lock_guard lock(hosts_mutex_);
  // Another may have found them meanwhile: who asks twice is given the same.
  if (!hosts_of_ || !fabric::SameNodes(*hosts_of_, *view.snapshot)) hosts_ = std::move(found);
  hosts_of_ = view.snapshot;
  return hosts_;
}

void App::PostSweep(bool heavy, std::function<void(absl::Status)> done) {
  const uint64_t command = commands_.Add(
      [done = std::move(done)](const sweep::FinishedCommand& finished) { done(finished.status); });
  PostCommand(sweep::SweepCommand{command, heavy}, command);
}

template <typename... Commands, typename Answer, typename Done>
void App::PostOneOf(std::variant<Commands...> wanted, Answer sweep::FinishedCommand::*answer,
                    Done done) {
  const uint64_t command =
      commands_.Add([done = std::move(done), answer](const sweep::FinishedCommand& finished) {
        done(finished.status, finished.*answer);
      });
  std::visit(
      [&](auto&& each) {
        each.command = command;
        PostCommand(std::move(each), command);
      },
      std::move(wanted));
}

void App::PostHold(HoldCommand wanted, HoldDone done) {
  PostOneOf(std::move(wanted), &sweep::FinishedCommand::hold, std::move(done));
}

void App::PostPartitions(sweep::ChangePartitions wanted, PartitionsDone done) {
  PostOneOf(std::variant<sweep::ChangePartitions>(std::move(wanted)),
            &sweep::FinishedCommand::partitions, std::move(done));
}

void App::PostMastership(MastershipCommand wanted, MastershipDone done) {
  PostOneOf(std::move(wanted), &sweep::FinishedCommand::mastership, std::move(done));
}

void App::PostCommand(sweep::Event event, uint64_t command) {
  if (inbox_.PushCommand(std::move(event))) return;
  commands_.Finish({command, Unavailable("fabricd is busy or stopping"), nullptr});
}

absl::StatusOr<std::map<std::string, std::string>> App::MakeDumps() const {
  return DumpView(*view());
}

void App::WriteDumps() const {
  auto dumps = MakeDumps();
  if (!dumps.ok()) {
    spdlog::error("dump: {}", Message(dumps.status()));
    return;
  }
  std::error_code error;
  std::filesystem::create_directories(run_.dump_dir, error);
  for (const auto& [name, text] : *dumps) {
    std::ofstream file(std::filesystem::path(run_.dump_dir) / name, std::ios::binary);
    file << text;
    if (!file.flush()) spdlog::error("dump: {}/{} cannot be written", run_.dump_dir, name);
  }
}

}  // namespace fabricd::daemon
