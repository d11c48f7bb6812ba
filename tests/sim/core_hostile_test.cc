// SPDX-License-Identifier: Apache-2.0
// Devices that lie, fall silent or move while they are discovered: reported by name and survived.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mad/wire/smp.h"
#include "sim/checkers/checkers.h"
#include "sim/generate/generate.h"
#include "sim/simulation/simulation.h"
#include "tests/support/logs.h"

namespace fabricd::test {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CoreHostile : public testing::Test {
 protected:
  CoreHostile() : harness_(**sim::Generate("superpod:sus=2,hosts=4,rails=2")) {
    sm_ = harness_.Add({});
  }

  Guid GuidOf(const std::string& name) {
    return harness_.fabric().device(*harness_.fabric().FindNode(name))->guid();
  }

  // Calls edit(smp) on each response of `attribute`; it returns false to lose the response.
  template <typename Edit>
  void Tamper(wire::AttributeId attribute, Edit edit) {
    harness_.manager(sm_).tamper = [attribute, edit](mad::IncomingMad& mad) {
      if (mad.kind != mad::IncomingMad::Kind::kReceived) return true;
      const auto bytes = std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes);
      auto smp = wire::Smp::Decode(bytes);
      if (!smp || smp->attribute != attribute || smp->method != wire::Method::kGetResp) return true;
      if (!edit(*smp)) return false;
      smp->Encode(bytes);
      return true;
    };
  }

  void RunSweeps(uint32_t count) {
    ASSERT_TRUE(harness_.RunUntil([&] {
      const auto& core = *harness_.manager(sm_).core;
      return core.sweeps_done() >= count && core.phase() == sweep::Phase::kIdle;
    })) << LogOf(harness_.manager(sm_));
  }

  // With this text in its subject or message.
  auto HasProblem(sweep::ProblemKind kind, const std::string& text) {
    const auto text_of = [this](const sweep::Problem& problem) {
      return sweep::SubjectText(problem.subject, *harness_.manager(sm_).view->snapshot) + ": " +
             problem.message;
    };
    return Contains(testing::AllOf(Field(&sweep::Problem::kind, kind),
                                   testing::ResultOf(text_of, HasSubstr(text))));
  }

  sim::Simulation harness_;
  size_t sm_ = 0;
};

TEST_F(CoreHostile, TwoNodesWithOneGuidAreReportedAndTheSecondIsIgnored) {
  const Guid first = GuidOf("node0002 mlx5_0"), second = GuidOf("node0007 mlx5_1");
  Tamper(wire::AttributeId::kNodeInfo, [=](wire::Smp& smp) {
    auto info = wire::NodeInfo::Decode(smp.data);
    if (info.node_guid == second) {
      info.node_guid = first;
      info.Encode(smp.data);
    }
    return true;
  });
  harness_.Start(sm_);
  RunSweeps(1);
  EXPECT_THAT(harness_.manager(sm_).view->problems,
              HasProblem(sweep::ProblemKind::kDuplicateGuid, fmt::format("{}", first)));
  // Both ends of the cable that leads to the impostor stay as they were; all else is up.
  EXPECT_THAT(sim::PortsNotActive(harness_.fabric()), testing::SizeIs(2));
  EXPECT_EQ(harness_.manager(sm_).view->snapshot->FindNode(second), nullptr);
}

TEST_F(CoreHostile, ANodeThatStopsAfterNodeInfoDoesNotDelayTheOthers) {
  const NodeIndex leaf = *harness_.fabric().FindNode("node0003 mlx5_1");
  const Guid port = harness_.fabric().device(leaf)->port(PortNum(1)).guid;
  const Guid node = GuidOf("node0003 mlx5_1");
  auto path = std::make_shared<std::optional<wire::DirectedPath>>();
  harness_.manager(sm_).tamper = [=](mad::IncomingMad& mad) {
    const auto bytes = std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes);
    const auto smp = wire::Smp::Decode(bytes);
    if (!smp || mad.kind != mad::IncomingMad::Kind::kReceived || !smp->path) return true;
    if (smp->attribute == wire::AttributeId::kNodeInfo) {
      if (wire::NodeInfo::Decode(smp->data).node_guid == node) *path = *smp->path;
      return true;
    }
    return !(path->has_value() && **path == *smp->path);
  };
  harness_.Start(sm_);
  RunSweeps(1);
  EXPECT_THAT(harness_.manager(sm_).view->problems,
              HasProblem(sweep::ProblemKind::kUnreadable, fmt::format("{}", node)));
  EXPECT_THAT(sim::PortsNotActive(harness_.fabric()), testing::SizeIs(2)) << port.value();
  EXPECT_TRUE(harness_.manager(sm_).core->subnet_up()) << "a dead node is reported, the rest is up";
}

TEST_F(CoreHostile, RoutesAroundAnUnresponsiveSwitch) {
  const Guid spine = GuidOf("spine1");
  Tamper(wire::AttributeId::kNodeInfo,
         [=](wire::Smp& smp) { return wire::NodeInfo::Decode(smp.data).node_guid != spine; });
  harness_.Start(sm_);
  RunSweeps(1);
  EXPECT_THAT(harness_.manager(sm_).view->problems,
              HasProblem(sweep::ProblemKind::kUnresponsive, "leaf"));
  EXPECT_TRUE(harness_.manager(sm_).core->subnet_up());
  EXPECT_THAT(sim::PortsNotActive(harness_.fabric()), Not(Contains(HasSubstr("node"))));
}

TEST_F(CoreHostile, NonsenseInPortInfoIsReportedAndThePortTakesNoPart) {
  const auto bad = std::make_shared<int>(0);
  Tamper(wire::AttributeId::kPortInfo, [bad](wire::Smp& smp) {
    auto info = wire::PortInfo::Decode(smp.data);
    if (!smp.path || smp.path->hops() != 2 || (*smp.path)[1] != 2) return true;
    info.mtu_cap = 0;
    info.Encode(smp.data);
    ++*bad;
    return true;
  });
  harness_.Start(sm_);
  RunSweeps(1);
  EXPECT_GT(*bad, 0);
  EXPECT_THAT(harness_.manager(sm_).view->problems,
              HasProblem(sweep::ProblemKind::kIllegalPortInfo, "MTUCap"));
  EXPECT_THAT(sim::PortsNotActive(harness_.fabric()), testing::SizeIs(2));
}

TEST_F(CoreHostile, NonsenseInNodeInfoIsReported) {
  const Guid node = GuidOf("node0004 mlx5_0");
  Tamper(wire::AttributeId::kNodeInfo, [=](wire::Smp& smp) {
    auto info = wire::NodeInfo::Decode(smp.data);
    if (info.node_guid == node) {
      info.num_ports = 0;
      info.Encode(smp.data);
    }
    return true;
  });
  harness_.Start(sm_);
  RunSweeps(1);
  EXPECT_THAT(harness_.manager(sm_).view->problems,
              HasProblem(sweep::ProblemKind::kIllegalNodeInfo, "NumPorts"));
  EXPECT_TRUE(harness_.manager(sm_).core->subnet_up());
}

TEST_F(CoreHostile, CablesThatMoveDuringDiscoveryAreProgrammedWhereTheyAre) {
  auto port = [&](const std::string& name) {
    return PortRef{*harness_.fabric().FindNode(name), PortNum(1)};
  };
  const PortRef a = port("node0002 mlx5_0"), b = port("node0006 mlx5_0");
  const auto moved = std::make_shared<bool>(false);
  harness_.manager(sm_).tamper = [this, a, b, moved](mad::IncomingMad& mad) {
    const auto bytes = std::span<uint8_t, wire::kMadBytes>(mad.payload.data(), wire::kMadBytes);
    const auto smp = wire::Smp::Decode(bytes);
    const bool far = smp && smp->path && smp->path->hops() >= 3;
    if (!far || std::exchange(*moved, true)) return true;
    auto& fabric = harness_.fabric();
    const PortRef at_a = fabric.LinkedPeer(a), at_b = fabric.LinkedPeer(b);
    EXPECT_TRUE(fabric.Unlink(harness_.now(), a).ok() && fabric.Unlink(harness_.now(), b).ok());
    EXPECT_TRUE(fabric.Connect(harness_.now(), a, at_b).ok());
    EXPECT_TRUE(fabric.Connect(harness_.now(), b, at_a).ok());
    return true;
  };
  harness_.Start(sm_);
  harness_.RunFor(std::chrono::seconds(40));
  EXPECT_TRUE(*moved);
  EXPECT_TRUE(harness_.manager(sm_).core->subnet_up()) << LogOf(harness_.manager(sm_));
  EXPECT_THAT(sim::PortsNotActive(harness_.fabric()), IsEmpty());
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
}

TEST_F(CoreHostile, AnMKeyIsSetAndAnSmWithoutItReportsUnreadableNodes) {
  sweep::CoreOptions options;
  options.sm.m_key = MKey(0x1234567890abcdef);
  options.sm.m_key_protect_bits = 2;
  options.sm.m_key_lease_period = 0;
  const size_t owner = harness_.Add(options);
  harness_.Start(owner);
  ASSERT_TRUE(harness_.RunUntilUp(owner)) << LogOf(harness_.manager(owner));
  EXPECT_THAT(sim::BrokenPairs(harness_.fabric()), IsEmpty());
  harness_.Kill(owner);
  harness_.RunFor(std::chrono::seconds(1));
  harness_.Start(owner);
  ASSERT_TRUE(harness_.RunUntilUp(owner)) << "restarted with its key";
  harness_.Kill(owner);
  harness_.fabric().ResetStats();
  harness_.Start(sm_);
  harness_.RunFor(std::chrono::seconds(20));
  EXPECT_FALSE(harness_.manager(sm_).core->subnet_up());
  EXPECT_THAT(harness_.manager(sm_).view->problems, Not(IsEmpty()));
}

}  // namespace
}  // namespace fabricd::test
