// SPDX-License-Identifier: Apache-2.0
// WriterTest: the writers of a run over a small fabric, one at a time, by the steps that Programmer
// takes. The test answers each request as it likes: honestly (Registers), with other values, with a
// status, late, or not at all.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweep/interface/activity.h"
#include "sweep/write/attribute_writer.h"
#include "sweep/write/restart_watch.h"
#include "tests/unit/sweep/registers.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {

struct Request {
  WorkItem item;
  mad::SmpRequest smp;
};

// ---- what becomes of a request

inline mad::Completion CompletionOf(const Request& request, mad::Completion::Outcome outcome) {
  mad::Completion completion;
  completion.context =
      mad::RequestContext::Of(Activity::kProgrammer, request.item.work, request.item.ref());
  completion.context.block = request.item.block;
  completion.outcome = outcome;
  completion.sent = outcome != mad::Completion::Outcome::kCancelled;
  completion.method = request.smp.method;
  completion.attribute = request.smp.attribute;
  completion.modifier = request.smp.modifier;
  completion.device = request.smp.device;
  return completion;
}
inline mad::Completion AnswerTo(const Request& request, const wire::SmpData& data) {
  mad::Completion completion = CompletionOf(request, mad::Completion::Outcome::kResponse);
  completion.response.data = data;
  return completion;
}
template <typename Attribute>
mad::Completion AnswerWith(const Request& request, const Attribute& value) {
  wire::SmpData data{};
  value.Encode(data);
  return AnswerTo(request, data);
}
inline mad::Completion Refusal(const Request& request,
                               uint16_t status = wire::kStatusInvalidAttributeValue) {
  mad::Completion completion = AnswerTo(request, request.smp.data);
  completion.status = status;
  return completion;
}
inline mad::Completion Timeout(const Request& request) {
  return CompletionOf(request, mad::Completion::Outcome::kTimedOut);
}
inline mad::Completion Unsent(const Request& request) {
  return CompletionOf(request, mad::Completion::Outcome::kCancelled);
}

// ---- the run

class WriterTest : public testing::Test {
 protected:
  static mad::EngineOptions Wide() {
    mad::EngineOptions options;
    options.window_initial = options.window_max = options.window_floor = 4096;
    options.device_limit = options.subtree_limit = 4096;
    return options;
  }

  // Host i is attached to switch i; LIDs: switches 1 and 2, hosts 3 and 4. The SM is at host 0.
  WriterTest() {
    const wire::DirectedPath near{1}, far{1, 36};
    devices_.SetPath(fabric_.switches[0], near);
    devices_.SetPath(fabric_.switches[1], far);
    devices_.SetPath(fabric_.hosts[0], {});
    devices_.SetPath(fabric_.hosts[1], far.Then(PortNum(1)));
    auto lids = std::make_shared<fabric::LidTable>();
    for (uint16_t i : {0, 1}) {
      SetSwitch(i, Switch());
      lids->Assign({fabric_.switches[i], PortNum(0)}, {Lid(static_cast<uint16_t>(1 + i)), 0});
      lids->Assign(fabric_.Host(i), {Lid(static_cast<uint16_t>(3 + i)), 0});
    }
    input_.desired.lids = lids;
    input_.desired.ports.local = fabric_.Host(0);
    input_.run = 7;
    input_.desired.keys.index = std::make_shared<policy::PartitionIndex>(
        policy::Partitions::BuiltIn(), policy::PartitionSet(), true);
    input_.desired.guids.aliases = std::make_shared<const fabric::AliasGuids>();
    plan_ = MakePlan();
    options_.sm.m_key = MKey(0x5EC);
  }

  static wire::SwitchInfo Switch() {
    wire::SwitchInfo info;
    info.linear_fdb_cap = 1024;
    info.multicast_fdb_cap = 64;
    return info;
  }
  void SetSwitch(size_t at, const wire::SwitchInfo& info) {
    fabric_.builder.SetSwitchInfo(fabric_.switches[at], info);
  }
  // Edits what was last read of it.
  template <typename Edit>
  void EditSwitch(size_t at, Edit&& edit) {
    wire::SwitchInfo info = *fabric_.builder.node(fabric_.switches[at])->switch_info;
    edit(info);
    SetSwitch(at, info);
  }
  template <typename Edit>
  void EditPort(PortRef port, Edit&& edit) {
    wire::PortInfo info = InfoOf(port);
    edit(info);
    fabric_.builder.SetPortInfo(port, info);
  }
  const wire::PortInfo& InfoOf(PortRef port) const {
    return fabric_.builder.node(port.node)->port(port.port).info;
  }
  PortRef SwitchPort(size_t at, int port) const {
    return {fabric_.switches[at], PortNum(static_cast<uint8_t>(port))};
  }

  // Each LID by the port that leads to it.
  std::shared_ptr<routing::RoutingPlan> MakePlan() const {
    auto plan = std::make_shared<routing::RoutingPlan>();
    routing::Row near(64, routing::kNoRoute), far(64, routing::kNoRoute);
    near.Set(1, 0), near.Set(2, 36), near.Set(3, 1), near.Set(4, 36);
    far.Set(1, 36), far.Set(2, 0), far.Set(3, 36), far.Set(4, 1);
    plan->engine = "test";
    plan->rows = {std::make_shared<const routing::Row>(near),
                  std::make_shared<const routing::Row>(far)};
    plan->lid_top = Lid(4);
    return plan;
  }

  // One programming run, from its beginning: the snapshot is what the builder has then.
  struct Run {
    Run(WriterTest& of, ProgrammerInput given)
        : input(std::move(given)),
          config(of.options_, input.desired.lids->Of(input.desired.ports.local).base),
          scope(input, of.fabric_.builder),
          sender(of.fabric_.builder, of.devices_, of.engine_, input.run),
          record(of.fabric_.builder, of.problems_),
          ground{input.desired,      scope,       input.trees_only, config,
                 of.fabric_.builder, of.devices_, sender,           record},
          restarts(ground) {}
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    const ProgrammerInput input;
    const PortConfig config;
    const WorkScope scope;
    RequestSender sender;
    RunRecord record;
    const ProgramGround ground;
    RestartWatch restarts;
    WorkQueue queue;
  };
  // The writers of the run before must be gone.
  Run& Begin() {
    input_.desired.snapshot = fabric_.builder.Build();
    input_.desired.plan = plan_;
    run_ = std::make_unique<Run>(*this, input_);
    return *run_;
  }
  RunRecord& record() { return run_->record; }
  AppliedState& applied() { return devices_.applied(); }

  // All that a stage lists and that makes a request, handed to the engine.
  std::vector<Request> Requests(QueuedWriter& writer, ProgramStage stage) {
    run_->queue.Clear();
    writer.List(stage, run_->queue);
    return Take(writer);
  }
  // The same of what is left in the queue.
  std::vector<Request> Take(QueuedWriter& writer) {
    std::vector<Request> requests;
    const auto is_busy = [&](const WorkItem& item) { return writer.IsBusy(item); };
    while (const auto item = run_->queue.Next(is_busy)) {
      if (!run_->sender.MayReach(*item)) continue;
      if (auto smp = writer.Next(*item)) requests.push_back(Submit({*item, *smp}));
    }
    return requests;
  }
  Request Submit(Request request) {
    run_->sender.Submit(request.smp, request.item);
    return request;
  }
  void Deliver(AttributeWriter& writer, const Request& request, const mad::Completion& completion) {
    run_->sender.OnCompletion(completion);
    writer.OnAnswer(request.item, completion);
  }
  // As the device itself would answer.
  void Confirm(AttributeWriter& writer, const Request& request) {
    Deliver(writer, request,
            AnswerTo(request, registers_.CarryOut(request.item.node, request.smp)));
  }

  // What has been handed to the engine since the last call, in its order.
  std::vector<std::string> Sent() {
    std::vector<mad::OutgoingMad> out;
    std::vector<mad::Completion> done;
    engine_.Pump(Instant(std::chrono::seconds(1)), out, done);
    std::vector<std::string> texts;
    for (const mad::OutgoingMad& each : out) {
      const auto smp = *wire::Smp::Decode(
          std::span<const uint8_t, wire::kMadBytes>(each.payload.data(), wire::kMadBytes));
      for (uint32_t i = 0; i < fabric_.builder.node_index_end(); ++i)
        if (devices_.Has(NodeIndex(i)) && devices_.PathTo(NodeIndex(i)) == *smp.path)
          texts.push_back(Text(NodeIndex(i), smp.method, smp.attribute, smp.modifier));
    }
    return texts;
  }

  // "Set SwitchInfo 0x0 of s1".
  std::string Text(NodeIndex node, wire::Method method, wire::AttributeId attribute,
                   uint32_t modifier) const {
    return fmt::format("{} {} {:#x} of {}", wire::MethodName(method),
                       wire::AttributeName(attribute), modifier, NameOf(node));
  }
  std::vector<std::string> Texts(const std::vector<Request>& requests) const {
    std::vector<std::string> texts;
    for (const Request& each : requests)
      texts.push_back(Text(each.item.node, each.smp.method, each.smp.attribute, each.smp.modifier));
    return texts;
  }
  std::string NameOf(NodeIndex node) const {
    for (size_t i : {0, 1}) {
      if (fabric_.switches[i] == node) return fmt::format("s{}", i);
      if (fabric_.hosts[i] == node) return fmt::format("h{}", i);
    }
    return "?";
  }
  // "SetRefused: Set SwitchInfo: status 0x001c".
  std::vector<std::string> Problems() const {
    std::vector<std::string> texts;
    for (const Problem& each : problems_.List())
      texts.push_back(fmt::format("{}: {}", each.kind, each.message));
    return texts;
  }

  CoreOptions options_;
  SmallFabric fabric_{2};
  DeviceTable devices_{options_.sm};
  mad::TransactionEngine engine_{Wide()};
  ProblemList problems_;
  ProgrammerInput input_;
  std::shared_ptr<const routing::RoutingPlan> plan_;
  Registers registers_{fabric_.builder};
  std::unique_ptr<Run> run_;
};

// The same for one class of writer.
template <typename Writer>
class OneWriterTest : public WriterTest {
 protected:
  // A run begins.
  void Start() {
    writer_.reset();
    Run& run = Begin();
    if constexpr (std::is_constructible_v<Writer, const ProgramGround&>)
      writer_.emplace(run.ground);
    else if constexpr (std::is_constructible_v<Writer, const ProgramGround&, RestartWatch&>)
      writer_.emplace(run.ground, run.restarts);
    else
      writer_.emplace(run.ground, run.queue);
  }
  // Of a run that begins.
  std::vector<Request> List(ProgramStage stage) {
    Start();
    return Requests(*writer_, stage);
  }
  std::vector<std::string> Listed(ProgramStage stage) { return Texts(List(stage)); }
  void Reply(const Request& request, const mad::Completion& completion) {
    Deliver(*writer_, request, completion);
  }
  void ConfirmAll(const std::vector<Request>& requests) {
    for (const Request& request : requests) Confirm(*writer_, request);
  }

  // All requests of a stage of a run that begins, each answered honestly.
  std::vector<Request> CarryOut(ProgramStage stage) {
    std::vector<Request> all;
    for (auto some = List(stage); !some.empty(); some = Take(*writer_)) {
      ConfirmAll(some);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  std::optional<Writer> writer_;
};

}  // namespace fabricd::sweep
