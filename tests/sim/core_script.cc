// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/core_script.h"

#include <algorithm>
#include <charconv>
#include <regex>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "common/check.h"
#include "common/status.h"
#include "mad/wire/smp.h"
#include "policy/target.h"
#include "sim/generate/generate.h"
#include "sweep/interface/questions.h"
#include "sweep/plan/computing.h"

namespace fabricd::test {
namespace {

constexpr Duration kHopLatency = std::chrono::microseconds(1);
constexpr Duration kLimit = std::chrono::seconds(60);  // Of run-until.

// "compute-plan"
std::string KindOf(const sweep::Question& question) {
  constexpr std::array kNames = {
      "store-lids",   "store-holds", "store-partitions", "plan",           "check-cables",
      "order-tables", "trees",       "evaluate",         "store-takeover", "claim"};
  using Open = sweep::OpenQuestions;
  static_assert(Open::KindOf<sweep::PersistLids>() == 0 &&
                kNames.size() == std::variant_size_v<decltype(sweep::Question::what)>);
  return kNames[question.what.index()];
}

std::string GoalName(routing::ReplanGoal goal) {
  switch (goal) {
    case routing::ReplanGoal::kUrgent: return "urgent";
    case routing::ReplanGoal::kWhole: return "whole";
    case routing::ReplanGoal::kIdealIfHitless: return "ideal if hitless";
    case routing::ReplanGoal::kIdeal: return "ideal";
  }
  return "?";
}

std::string Describe(const sweep::Question& question) {
  std::string text = KindOf(question);
  if (const auto* lids = std::get_if<sweep::PersistLids>(&question.what))
    text += fmt::format(" ({} records)", lids->records.size());
  if (const auto* plan = std::get_if<sweep::ComputePlan>(&question.what))
    text += fmt::format(" ({})", GoalName(plan->goal));
  return text;
}

// Times depend on the latency of the simulated links, and say nothing here.
std::string WithoutTimes(const std::string& text) {
  static const std::regex kSpent(R"( in [0-9.]+ ms \([^)]*\))"), kTime(R"(, [0-9.]+ ms)");
  return std::regex_replace(std::regex_replace(text, kSpent, ""), kTime, "");
}

// "5s", "20ms".
std::optional<Duration> ParseTime(const std::string& text) {
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string unit(end, text.data() + text.size());
  if (error != std::errc()) return std::nullopt;
  if (unit == "s") return std::chrono::seconds(count);
  if (unit == "ms") return std::chrono::milliseconds(count);
  return std::nullopt;
}

std::string TimeText(Duration time) {
  const auto ms = std::chrono::duration<double, std::milli>(time).count();
  return ms < 1000 ? fmt::format("{:.0f} ms", ms) : fmt::format("{:.1f} s", ms / 1000);
}

// All words from `first` on: names have spaces.
std::string Rest(const std::vector<std::string>& words, size_t first) {
  std::string text;
  for (size_t i = first; i < words.size(); ++i) text += (i > first ? " " : "") + words[i];
  return text;
}

}  // namespace

std::string CoreScript::Run(const std::string& line) {
  Words words;
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  lines_.clear();
  seen_.clear();
  const std::map<std::string, std::function<std::string()>> commands = {
      {"fabric", [&] { return Fabric(words); }},
      {"options", [&] { return Options(words); }},
      {"start", [&] { return Start(words); }},
      {"run", [&] { return ForATime(words); }},
      {"run-until", [&] { return Until(words); }},
      {"cut", [&] { return Cable(words, false); }},
      {"plug", [&] { return Cable(words, true); }},
      {"mute", [&] { return Mute(words, true); }},
      {"unmute", [&] { return Mute(words, false); }},
      {"power-off", [&] { return Power(words, false); }},
      {"power-on", [&] { return Power(words, true); }},
      {"trap", [&] { return Trap(words); }},
      {"other-sm", [&] { return OtherSm(words); }},
      {"handover", [&] { return Handover(words); }},
      {"sweep", [&] { return Sweep(words); }},
      {"hold", [&] { return Hold(words); }},
      {"keep", [&] { return Keep(words, true); }},
      {"let", [&] { return Keep(words, false); }},
      {"answer", [&] { return Answer(words); }},
      {"timer", [&] { return Step(sweep::TimerEvent{}), std::string(); }},
      {"show", [&] { return Show(); }},
  };
  const auto command = commands.find(words.empty() ? "" : words[0]);
  std::string said =
      command == commands.end() ? fmt::format("unknown command: {}", line) : command->second();
  FlushSent();
  std::string text;
  for (const std::string& each : lines_) text += each + '\n';
  return said.empty() ? text : text + said + '\n';
}

// ---- commands

std::string CoreScript::Fabric(const Words& words) {
  const auto topology = sim::Generate(Rest(words, 1));
  if (!topology.ok()) return Message(topology.status());
  sim::SimOptions options;
  options.link_latency = kHopLatency;
  fabric_ = std::make_unique<sim::SimFabric>(**topology, options);
  return fmt::format("{} nodes, {} switches", (*topology)->node_count(),
                     (*topology)->switch_count());
}

std::string CoreScript::Options(const Words& words) {
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    const std::optional<Duration> time = ParseTime(value);
    if (key == "light" && time)
      options_.sweep.light_interval = *time;
    else if (key == "heavy" && time)
      options_.sweep.heavy_interval = *time;
    else if (key == "reoptimise" && time)
      options_.sweep.settle_after = *time;
    else if (key == "priority")
      options_.sm.priority = static_cast<uint8_t>(std::stoi(value));
    else
      return fmt::format("unknown option: {}", words[i]);
  }
  return "";
}

std::string CoreScript::Start(const Words& words) {
  if (!fabric_) return "no fabric";
  std::string fault;
  host_ = words.size() > 1 ? Port(Rest(words, 1), fault) : fabric_->DefaultHostPort();
  if (!fault.empty()) return fault;
  fabric_->Attach(host_);
  const sim::SimDevice& device = *fabric_->device(host_.node);
  mad::LocalPort local{"sim", host_.port, device.port(host_.port).guid,
                       device.node_info().node_guid};
  std::vector<fabric::LidRecord> records;
  for (const auto& [guid, record] : durable_) records.push_back(record);
  core_ = std::make_unique<sweep::Core>(options_, local, records);
  Step(sweep::StartEvent{});
  return "";
}

std::string CoreScript::ForATime(const Words& words) {
  const std::optional<Duration> time = words.size() > 1 ? ParseTime(words[1]) : std::nullopt;
  if (!time || !core_) return "run TIME, of a core that was started";
  Advance(now_ + *time, [] { return false; });
  return "";
}

std::string CoreScript::Until(const Words& words) {
  if (words.size() < 2 || !core_) return "run-until WHAT, of a core that was started";
  const std::string& what = words[1];
  const std::string value = Rest(words, 2);
  std::function<bool()> until;
  if (what == "up")
    until = [&] {
      return core_->subnet_up() && core_->phase() == sweep::Phase::kIdle && !core_->surveys();
    };
  else if (what == "phase")
    until = [&] { return sweep::PhaseName(core_->phase()) == value; };
  else if (what == "sent" || what == "asked")
    until = [&] { return seen_.contains(value); };
  else
    return fmt::format("run-until {}: up, phase, sent or asked", what);
  return Advance(now_ + kLimit, until) ? "" : "does not happen within a minute";
}

std::string CoreScript::Cable(const Words& words, bool plug) {
  std::string fault;
  const PortRef port = Port(Rest(words, 1), fault);
  if (!fault.empty()) return fault;
  const absl::Status status = plug ? fabric_->Link(now_, port) : fabric_->Unlink(now_, port);
  return status.ok() ? "" : Message(status);
}

std::string CoreScript::Mute(const Words& words, bool mute) {
  std::string fault;
  const auto node = Node(Rest(words, 1), fault);
  if (!node) return fault;
  for (uint8_t port = 1; port <= fabric_->device(*node)->last_port().value(); ++port)
    fabric_->SetLinkLoss({*node, PortNum(port)}, mute ? 1 : 0);
  return "";
}

std::string CoreScript::Power(const Words& words, bool on) {
  std::string fault;
  const auto node = Node(Rest(words, 1), fault);
  if (!node) return fault;
  const absl::Status status = on ? fabric_->PowerOn(now_, *node) : fabric_->PowerOff(now_, *node);
  return status.ok() ? "" : Message(status);
}

std::string CoreScript::Trap(const Words& words) {
  if (words.size() < 3) return "trap NUMBER NODE/PORT";
  std::string fault;
  const PortRef port = Port(Rest(words, 2), fault);
  if (!fault.empty()) return fault;
  const auto number = static_cast<uint16_t>(std::stoi(words[1]));
  const absl::Status status = fabric_->SendStrayTrap(now_, port, number);
  return status.ok() ? "" : Message(status);
}

std::string CoreScript::OtherSm(const Words& words) {
  if (words.size() < 3) return "other-sm STATE PRIORITY NODE, or other-sm none NODE";
  const bool none = words[1] == "none";
  std::string fault;
  const PortRef port = Port(Rest(words, none ? 2 : 3), fault);
  if (!fault.empty()) return fault;
  if (none) {
    fabric_->SetScriptedSm(now_, port, std::nullopt);
    return "";
  }
  wire::SmInfo sm;
  sm.guid = fabric_->device(port.node)->port(port.port).guid;
  sm.sm_key = options_.sm.sm_key;
  sm.priority = static_cast<uint8_t>(std::stoi(words[2]));
  for (const wire::SmState state : {wire::SmState::kDiscovering, wire::SmState::kStandby,
                                    wire::SmState::kMaster, wire::SmState::kNotActive})
    if (wire::SmStateName(state) == words[1]) sm.state = state;
  fabric_->SetScriptedSm(now_, port, sm);
  return "";
}

// It goes to the core alone: no node has to hold a LID.
std::string CoreScript::Handover(const Words& words) {
  if (words.size() < 2 || !core_) return "handover NODE, to a core that was started";
  std::string fault;
  const PortRef port = Port(Rest(words, 1), fault);
  if (!fault.empty()) return fault;
  wire::SmInfo sm;
  sm.guid = fabric_->device(port.node)->port(port.port).guid;
  sm.sm_key = options_.sm.sm_key;
  sm.state = wire::SmState::kMaster;
  wire::Smp smp;
  smp.method = wire::Method::kSet;
  smp.attribute = wire::AttributeId::kSmInfo;
  smp.modifier = static_cast<uint32_t>(wire::SmControl::kHandover);
  sm.Encode(smp.data);
  mad::IncomingMad mad;
  mad.agent = mad::Agent::kSmpLid;
  mad.payload.resize(wire::kMadBytes);
  smp.Encode(std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  Step(std::move(mad));
  return "";
}

std::string CoreScript::Sweep(const Words& words) {
  if (words.size() < 3 || !core_) return "sweep heavy|light COMMAND";
  Step(sweep::SweepCommand{std::stoull(words[2]), words[1] == "heavy"});
  return "";
}

std::string CoreScript::Hold(const Words& words) {
  if (words.size() < 4 || !core_) return "hold disable|drain|cordon COMMAND NODE/PORT";
  std::string fault;
  const PortRef port = Port(Rest(words, 3), fault);
  if (!fault.empty()) return fault;
  if (!view_) return "nothing was read yet";
  const fabric::FabricSnapshot& known = *view_->snapshot;
  const NodeIndex node = known.FindIndex(fabric_->device(port.node)->guid());
  policy::Hold hold;
  hold.kind = words[1] == "disable" ? policy::HoldKind::kDisable
              : words[1] == "drain" ? policy::HoldKind::kDrain
                                    : policy::HoldKind::kCordon;
  hold.owner = "script";
  hold.reason = "test";
  hold.target = policy::TargetOfLink({node, port.port}, known, nullptr, view_->sm.port);
  Step(sweep::CreateHold{std::stoull(words[2]), std::move(hold)});
  return "";
}

// Questions of this kind are kept, or answered at once.
std::string CoreScript::Keep(const Words& words, bool keep) {
  const std::string kind = Rest(words, 1);
  if (keep) return kept_kinds_.insert(kind), "";
  kept_kinds_.erase(kind);
  const bool asked = std::any_of(kept_.begin(), kept_.end(),
                                 [&](const auto& each) { return KindOf(each) == kind; });
  return asked ? Answer({"answer", kind, "ok"}) : "";
}

std::string CoreScript::Answer(const Words& words) {
  const std::string kind = words.size() > 1 ? words[1] : "";
  const auto question = std::find_if(kept_.begin(), kept_.end(),
                                     [&](const auto& each) { return KindOf(each) == kind; });
  if (question == kept_.end()) return fmt::format("no question: {}", kind);
  const bool fails = words.size() > 2 && words[2] == "fail";
  const sweep::Answer answer =
      AnswerTo(*question, fails ? absl::InternalError("disk full") : absl::OkStatus());
  kept_.erase(question);
  Step(answer);
  return "";
}

std::string CoreScript::Show() const {
  if (!core_) return "no core";
  const Instant next = std::min(core_->NextDeadline(), kNever);
  return fmt::format(
      "{}, {}, subnet {}, {} sweeps; {}", wire::SmStateName(core_->sm_state()),
      sweep::PhaseName(core_->phase()), core_->subnet_up() ? "up" : "not up", core_->sweeps_done(),
      next == kNever ? "nothing is due" : fmt::format("next in {}", TimeText(next - now_)));
}

// ---- the shell

Instant CoreScript::NextInstant() const {
  return std::min(fabric_->next_event(), core_->NextDeadline());
}

bool CoreScript::Advance(Instant end, const std::function<bool()>& until) {
  while (!until()) {
    const Instant next = NextInstant();
    if (next > end) {
      now_ = end;
      return until();
    }
    now_ = std::max(now_, next);
    std::vector<sim::Delivery> arrived;
    fabric_->Advance(now_, arrived);
    for (sim::Delivery& delivery : arrived)
      if (delivery.host == host_)
        std::visit([&](auto& what) { core_->Step(std::move(what), now_); }, delivery.what);
    if (now_ >= core_->NextDeadline()) core_->Step(sweep::TimerEvent{}, now_);
    TakeEffects();
  }
  return true;
}

void CoreScript::Step(sweep::Event event) {
  core_->Step(std::move(event), now_);
  TakeEffects();
}

void CoreScript::TakeEffects() {
  for (bool answered = true; answered;) {
    sweep::Effects effects = core_->TakeEffects(now_);
    for (mad::OutgoingMad& mad : effects.send) {
      NoteSent(mad);
      FABRICD_CHECK(fabric_->Send(now_, host_, std::move(mad)).ok());
    }
    if (effects.set_is_sm) fabric_->SetIsSm(now_, host_, *effects.set_is_sm);
    if (effects.publish) view_ = effects.publish;
    NotePhase();
    for (const fabric::FabricEvent& event : effects.events)
      Note(fmt::format("event {}: {}: {}", event.type, event.subject, WithoutTimes(event.message)));
    for (const sweep::LogRecord& record : effects.log) {
      const auto is_event = [&](const fabric::FabricEvent& event) {
        return record.text.starts_with(event.type + ": ");
      };
      if (std::none_of(effects.events.begin(), effects.events.end(), is_event))
        Note(fmt::format("log {}", WithoutTimes(record.text)));
    }
    for (const sweep::FinishedCommand& each : effects.finished)
      Note(fmt::format("finished {}: {}", each.command,
                       each.status.ok() ? "ok" : Message(each.status)));
    answered = false;
    for (sweep::Question& question : effects.questions) {
      Note("asks " + Describe(question));
      seen_.insert(KindOf(question));
      answered = !kept_kinds_.contains(KindOf(question)) || answered;
      OnQuestion(std::move(question));
    }
  }
}

void CoreScript::OnQuestion(sweep::Question question) {
  const std::string kind = KindOf(question);
  if (!kept_kinds_.contains(kind)) {
    core_->Step(AnswerTo(question, absl::OkStatus()), now_);
    return;
  }
  std::erase_if(kept_, [&](const auto& each) { return KindOf(each) == kind; });
  kept_.push_back(std::move(question));
}

sweep::Answer CoreScript::AnswerTo(const sweep::Question& question, const absl::Status& status) {
  return std::visit(
      [&](const auto& task) -> sweep::Answer {
        using Task = std::decay_t<decltype(task)>;
        if constexpr (std::is_same_v<typename Task::Answer, sweep::Persisted>) {
          if constexpr (std::is_same_v<Task, sweep::PersistLids>)
            for (const fabric::LidRecord& record : task.records)
              if (status.ok()) durable_[record.port_guid] = record;
          return {question.id, sweep::Persisted{status}};
        } else if constexpr (std::is_same_v<Task, sweep::ClaimMastership>) {
          return {question.id, sweep::MastershipClaimed{status}};
        } else {
          return {question.id, sweep::CarryOut(task)};
        }
      },
      question.what);
}

// ---- what is written

void CoreScript::NoteSent(const mad::OutgoingMad& mad) {
  const auto smp = wire::Smp::Decode(
      std::span<const uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes));
  const std::string kind =
      smp ? fmt::format("{} {}", wire::MethodName(smp->method), wire::AttributeName(smp->attribute))
          : "MAD";
  seen_.insert(kind);
  const auto known = std::find_if(sent_.begin(), sent_.end(),
                                  [&](const auto& each) { return each.first == kind; });
  if (known == sent_.end())
    sent_.emplace_back(kind, 1);
  else
    ++known->second;
}

void CoreScript::FlushSent() {
  std::string text;
  for (const auto& [kind, count] : std::exchange(sent_, {}))
    text += fmt::format("{}{} {}", text.empty() ? "sends " : ", ", count, kind);
  if (!text.empty()) lines_.push_back(std::move(text));
}

void CoreScript::Note(std::string text) {
  FlushSent();
  lines_.push_back(std::move(text));
}

void CoreScript::NotePhase() {
  if (core_->phase() == phase_) return;
  phase_ = core_->phase();
  Note(fmt::format("phase {}", sweep::PhaseName(phase_)));
}

// ---- names

std::optional<NodeIndex> CoreScript::Node(const std::string& text, std::string& fault) const {
  if (!fabric_) return fault = "no fabric", std::nullopt;
  const auto node = fabric_->FindNode(text);
  if (!node.ok()) return fault = Message(node.status()), std::nullopt;
  return *node;
}

// "leaf1/3"; of a host without port: its first.
PortRef CoreScript::Port(const std::string& text, std::string& fault) const {
  const size_t slash = text.rfind('/');
  const auto node = Node(text.substr(0, slash), fault);
  if (!node) return {};
  const int port = slash == std::string::npos ? 1 : std::stoi(text.substr(slash + 1));
  return {*node, PortNum(static_cast<uint8_t>(port))};
}

}  // namespace fabricd::test
