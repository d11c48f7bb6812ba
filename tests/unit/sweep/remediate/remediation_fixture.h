// SPDX-License-Identifier: Apache-2.0
// RemediationTest: a Remediation whose questions the test answers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "common/status.h"
#include "policy/target.h"
#include "sweep/remediate/remediation.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {

// Four hosts on two switches; the SM is on host 0. Everything is ACTIVE.
class RemediationTest : public testing::Test {
 protected:
  RemediationTest() : fabric_(4) {
    for (size_t i = 0; i < fabric_.hosts.size(); ++i)
      SetState(fabric_.Host(i), wire::PortState::kActive);
    SetState(kTrunk(), wire::PortState::kActive);
    auto lids = std::make_shared<fabric::LidTable>();
    for (uint16_t i = 0; i < 4; ++i) lids->Assign(fabric_.Host(i), {Lid(10 + i), 0});
    for (uint16_t i = 0; i < 2; ++i)
      lids->Assign({fabric_.switches[i], PortNum(0)}, {Lid(1 + i), 0});
    lids_ = std::move(lids);
    local_ = fabric_.Host(0);
    Begin({});
  }
  void Begin(policy::StoredHolds holds, policy::WallMs epoch = kEpoch,
             policy::ActionRecord actions = {}) {
    remediation_ =
        std::make_unique<Remediation>(KnownFabric{snapshot_, lids_, routes_, local_, options_},
                                      effects_, questions_, std::move(holds), std::move(actions));
    remediation_->Begin(epoch, now_);
    snapshot_ = fabric_.builder.Build();
    remediation_->OnSnapshot(now_);
  }
  static constexpr policy::WallMs kEpoch = 1'000'000;
  PortRef kTrunk() const { return {fabric_.switches[0], PortNum(36)}; }
  // Of both ends.
  void SetState(PortRef port, wire::PortState state,
                wire::PortPhysicalState physical = wire::PortPhysicalState::kLinkUp) {
    const PortRef peer = fabric_.builder.node(port.node)->port(port.port).peer;
    for (PortRef end : {port, peer}) {
      if (end.IsNone()) continue;
      wire::PortInfo info = fabric_.builder.node(end.node)->port(end.port).info;
      info.port_state = state;
      info.port_physical_state = physical;
      fabric_.builder.SetPortInfo(end, info);
    }
  }
  void Look() {
    snapshot_ = fabric_.builder.Build();
    remediation_->OnSnapshot(now_);
  }
  // Down and up again, seen in two looks.
  void Flap(PortRef port) {
    SetState(port, wire::PortState::kDown);
    Look();
    SetState(port, wire::PortState::kInit);
    Look();
    SetState(port, wire::PortState::kActive);
    Look();
  }
  policy::Hold Wanted(policy::HoldKind kind, policy::HoldTarget target) {
    policy::Hold hold;
    hold.kind = kind;
    hold.target = std::move(target);
    hold.owner = "alice";
    hold.reason = "why not";
    return hold;
  }
  policy::HoldTarget Port(PortRef port) {
    return policy::TargetOfPort(port, *snapshot_, nullptr, local_);
  }
  policy::HoldTarget Switch(int which) {
    const fabric::Node& node = *snapshot_->node(fabric_.switches[which]);
    return {policy::TargetKind::kSwitch, "sw", {node.guid()}, {}, {}};
  }
  void Create(policy::Hold hold, uint64_t command = 1, bool validate_only = false,
              std::optional<Duration> ttl = {}) {
    remediation_->On(CreateHold{command, std::move(hold), ttl, absl::OkStatus(), validate_only},
                     now_);
  }
  // The question that waits; null: none of this kind.
  template <typename T>
  const T* Asked() const {
    return effects_.questions.empty() ? nullptr : std::get_if<T>(&effects_.questions.front().what);
  }
  template <typename T>
  void GiveAnswer(T what) {
    const QuestionId id = std::exchange(effects_.questions, {}).front().id;
    ASSERT_TRUE(questions_.Close({id, what}));
    remediation_->On(std::move(what), now_);
  }
  // Lets the judge and the store say yes to all that is asked.
  void Answer(const absl::Status& status = absl::OkStatus(),
              routing::Consequences consequences = {}) {
    while (!effects_.questions.empty()) {
      if (Asked<EvaluateIntent>() != nullptr) {
        GiveAnswer(IntentEvaluated{consequences});
      } else {
        stored_.push_back(*Asked<PersistHolds>());
        GiveAnswer(Persisted{status});
      }
    }
  }
  uint64_t Make(policy::Hold hold, std::optional<Duration> ttl = {}) {
    Create(std::move(hold), 1, false, ttl);
    Answer();
    EXPECT_TRUE(effects_.finished.back().status.ok()) << effects_.finished.back().status;
    return effects_.finished.back().hold->hold.id;
  }
  void Wait(Duration time) {
    const Instant end = now_ + time;
    while (remediation_->NextDeadline() <= end) {
      now_ = std::max(now_, remediation_->NextDeadline());
      remediation_->OnTimer(now_);
      Answer();
    }
    now_ = end;
  }
  policy::HoldStatus Shown(uint64_t id) {
    for (const auto& status : remediation_->View(now_)->holds)
      if (status.hold.id == id) return status;
    ADD_FAILURE() << id;
    return {};
  }
  std::vector<std::string> Told() {
    std::vector<std::string> types;
    for (const fabric::FabricEvent& event : std::exchange(effects_.events, {}))
      types.push_back(event.type);
    return types;
  }
  wire::Notice Trap(uint16_t number, uint16_t lid, uint8_t port = 0) {
    wire::Notice notice;
    notice.trap = number;
    notice.issuer_lid = Lid(lid);
    notice.details[2] = static_cast<uint8_t>(lid >> 8);
    notice.details[3] = static_cast<uint8_t>(lid & 0xFF);
    notice.details[4] = port;
    return notice;
  }

  SmallFabric fabric_;
  CoreOptions options_;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_ = fabric::SnapshotBuilder().Build();
  std::shared_ptr<const fabric::LidTable> lids_;
  std::shared_ptr<const routing::RouteState> routes_;
  PortRef local_;
  Effects effects_;
  OpenQuestions questions_{effects_.questions};
  std::unique_ptr<Remediation> remediation_;
  std::vector<PersistHolds> stored_;
  Instant now_{std::chrono::hours(1)};
};

}  // namespace fabricd::sweep
