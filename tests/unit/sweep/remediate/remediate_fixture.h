// SPDX-License-Identifier: Apache-2.0
// RemediateTest: a small fabric, everything ACTIVE, as a HoldKeeper knows it. The SM is at host 0.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/target.h"
#include "sweep/remediate/hold_keeper.h"
#include "tests/unit/sweep/small_fabric.h"

namespace fabricd::sweep {

using namespace std::chrono_literals;

class RemediateTest : public testing::Test {
 protected:
  static constexpr policy::WallMs kEpoch = 1'000'000;

  explicit RemediateTest(int hosts = 4) : fabric_(hosts) {
    local_ = fabric_.Host(0);
    for (size_t i = 0; i < fabric_.hosts.size(); ++i) SetState(fabric_.Host(i));
    SetState(Trunk());
    auto lids = std::make_shared<fabric::LidTable>();
    for (size_t i = 0; i < fabric_.hosts.size(); ++i)
      lids->Assign(fabric_.Host(i), {Lid(static_cast<uint16_t>(10 + i)), 0});
    lids_ = std::move(lids);
    snapshot_ = fabric_.builder.Build();
    keeper_.Begin(kEpoch, now_);
    AnswerAll();
    effects_ = {};
  }
  PortRef Trunk() const { return {fabric_.switches[0], PortNum(36)}; }
  // Of both ends.
  void SetState(PortRef port, wire::PortPhysicalState physical = wire::PortPhysicalState::kLinkUp) {
    const bool up = physical == wire::PortPhysicalState::kLinkUp;
    for (PortRef end : {port, fabric_.builder.node(port.node)->port(port.port).peer}) {
      wire::PortInfo info = fabric_.builder.node(end.node)->port(end.port).info;
      info.port_state = up ? wire::PortState::kActive : wire::PortState::kDown;
      info.port_physical_state = physical;
      fabric_.builder.SetPortInfo(end, info);
    }
    snapshot_ = fabric_.builder.Build();
  }
  policy::Hold Wanted(policy::HoldKind kind, PortRef port, std::string owner = "alice") {
    policy::Hold hold;
    hold.kind = kind;
    hold.target = policy::TargetOfPort(port, *snapshot_, nullptr, local_);
    hold.owner = std::move(owner);
    hold.reason = "maintenance";
    return hold;
  }
  template <typename T>
  const T* Asked() const {
    return effects_.questions.empty() ? nullptr : std::get_if<T>(&effects_.questions.front().what);
  }
  template <typename T>
  void Give(T what) {
    const QuestionId id = std::exchange(effects_.questions, {}).front().id;
    ASSERT_TRUE(questions_.Close({id, what}));
    keeper_.OnAnswer(std::move(what), now_);
  }
  bool AsksForConsequences() const {
    return !effects_.questions.empty() && Asked<PersistHolds>() == nullptr;
  }
  void GiveConsequences(const routing::Consequences& consequences = {}) {
    std::visit(
        [&]<typename What>(const What&) {
          if constexpr (requires(typename What::Answer answer) { answer.consequences; })
            Give(typename What::Answer{consequences});
        },
        OpenQuestions::What(effects_.questions.front().what));
  }
  // All questions: what is wanted harms nobody, and is durable.
  void AnswerAll() {
    while (!effects_.questions.empty()) {
      if (AsksForConsequences())
        GiveConsequences();
      else
        Give(Persisted{});
    }
  }
  std::vector<std::string> EventTypes() {
    std::vector<std::string> types;
    for (const fabric::FabricEvent& event : std::exchange(effects_.events, {}))
      types.push_back(event.type);
    return types;
  }

  SmallFabric fabric_;
  CoreOptions options_;
  std::shared_ptr<const fabric::FabricSnapshot> snapshot_;
  std::shared_ptr<const fabric::LidTable> lids_;
  std::shared_ptr<const routing::RouteState> routes_;
  PortRef local_;
  Effects effects_;
  OpenQuestions questions_{effects_.questions};
  Instant now_{std::chrono::hours(1)};
  const KnownFabric known_{snapshot_, lids_, routes_, local_, options_};
  HoldKeeper keeper_{known_, effects_, questions_, {}};
};

}  // namespace fabricd::sweep
