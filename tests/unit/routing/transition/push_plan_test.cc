// SPDX-License-Identifier: Apache-2.0
// Pushes carried out write by write in any order that stages and waves allow, with faults and newer
// plans from the middle of one. After every single write the tables are walked by oracles that know
// nothing of how a push is ordered.
#include "routing/transition/push_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "routing/repair/replan.h"
#include "tests/unit/routing/faults.h"
#include "tests/unit/routing/oracle.h"
#include "tests/unit/routing/run.h"

namespace fabricd::routing {
namespace {

using namespace fabricd::testing;  // NOLINT: the test's own helpers.
using fabric::Intent;

constexpr size_t kBlock = Row::kBlock;

struct Faults {
  uint64_t loops = 0, cuts = 0, circles = 0, walks = 0;
};

// The tables of the switches, and what is known of them.
class Devices {
 public:
  explicit Devices(const RoutingPlan& plan) : held_(plan) {
    known_.rows.resize(plan.rows.size());
    for (size_t i = 0; i < plan.rows.size(); ++i)
      if (plan.rows[i]) known_.rows[i] = *plan.rows[i];
  }

  const RoutingPlan& held() const { return held_; }
  const AppliedTables& known() const { return known_; }
  // What packets go by besides the tables.
  void SetLanes(const RoutingPlan& plan) {
    held_.lanes = plan.lanes;
    held_.service_levels = plan.service_levels;
  }

  std::array<uint8_t, kBlock> After(const TableWrite& write, const RoutingPlan& plan) const {
    std::array<uint8_t, kBlock> bytes;
    const Row* row = RowOf(held_, write.node);
    for (size_t i = 0; i < kBlock; ++i) {
      const size_t lid = write.block * kBlock + i;
      const uint8_t now = row && lid < row->size() ? (*row)[lid] : kNoRoute;
      const uint8_t then = write.withdraw ? kNoRoute : (*plan.rows[write.node.value()])[lid];
      bytes[i] = write.lids >> i & 1 ? then : now;
    }
    return bytes;
  }
  void Hold(NodeIndex node, uint16_t block, const std::array<uint8_t, kBlock>& bytes) {
    if (node.value() >= held_.rows.size()) held_.rows.resize(node.value() + 1);
    auto& place = held_.rows[node.value()];
    auto row = place ? std::make_shared<Row>(*place) : std::make_shared<Row>(0, kNoRoute);
    if (row->size() < (block + 1) * kBlock) row->Resize((block + 1) * kBlock, kNoRoute);
    row->WriteBlock(block, bytes.data());
    place = std::move(row);
  }
  void Confirm(NodeIndex node, uint16_t block, const std::array<uint8_t, kBlock>& bytes) {
    if (node.value() >= known_.rows.size()) known_.rows.resize(node.value() + 1);
    Row& row = known_.rows[node.value()];
    if (row.size() < (block + 1) * kBlock) row.Resize((block + 1) * kBlock, kNoRoute);
    row.WriteBlock(block, bytes.data());
    auto& unsure = known_.unsure;
    unsure.erase(
        std::remove_if(unsure.begin(), unsure.end(),
                       [&](const auto& one) { return one.node == node && one.block == block; }),
        unsure.end());
  }
  void MarkUnknown(NodeIndex node, uint16_t block, const std::array<uint8_t, kBlock>& bytes) {
    known_.unsure.push_back({node, block, bytes});
    late_.insert({node, block});
    std::stable_sort(known_.unsure.begin(), known_.unsure.end(), [](const auto& a, const auto& b) {
      return std::tie(a.node, a.block) < std::tie(b.node, b.block);
    });
  }
  // A Set that was on its way all the time arrives.
  void LateArrival(Rng& rng) {
    if (known_.unsure.empty()) return;
    const auto& one = known_.unsure[rng.Below(known_.unsure.size())];
    if (late_.count({one.node, one.block})) Hold(one.node, one.block, one.maybe);
  }
  // What has not arrived by now never will.
  void LoseWhatIsOnItsWay() { late_.clear(); }
  void Forget(NodeIndex node) {
    if (node.value() < known_.rows.size()) known_.rows[node.value()] = Row();
    if (held_.HasRow(node)) held_.rows[node.value()] = nullptr;
    auto& unsure = known_.unsure;
    unsure.erase(std::remove_if(unsure.begin(), unsure.end(),
                                [&](const auto& one) { return one.node == node; }),
                 unsure.end());
  }

 private:
  static const Row* RowOf(const RoutingPlan& plan, NodeIndex node) {
    return plan.HasRow(node) ? plan.rows[node.value()].get() : nullptr;
  }
  RoutingPlan held_;
  AppliedTables known_;
  std::set<std::pair<NodeIndex, uint16_t>> late_;  // Unknown, and still in flight.
};

enum class WalkEnd { kArrives, kEnds, kLoops };
WalkEnd WalkFrom(const TestFabric& fabric, const RoutingPlan& tables, NodeIndex from, Lid lid) {
  std::set<NodeIndex> seen;
  const PortRef owner = fabric.lids.Owner(lid);
  for (NodeIndex at = from;;) {
    if (!seen.insert(at).second) return WalkEnd::kLoops;
    if (!tables.HasRow(at)) return WalkEnd::kEnds;
    const uint8_t out = tables.EgressPort(at, lid);
    if (out == 0) return owner == PortRef{at, PortNum(0)} ? WalkEnd::kArrives : WalkEnd::kEnds;
    const PortRef channel{at, PortNum(out)};
    if (out == kNoRoute || !LinkIsUp(*fabric.snapshot, channel)) return WalkEnd::kEnds;
    const PortRef peer = fabric.snapshot->port(channel)->peer;
    if (!fabric.snapshot->node(peer.node)->IsSwitch())
      return peer == owner ? WalkEnd::kArrives : WalkEnd::kEnds;
    at = peer.node;
  }
}

// Carries out pushes and judges the tables on the way.
class Run {
 public:
  Run(const TestFabric& fabric, Devices& devices, const RoutingPlan& desired, const PushPlan& push,
      Rng& rng)
      : fabric_(fabric), devices_(devices), desired_(desired), push_(push), rng_(rng) {
    fabric.snapshot->ForEachNode([&](const fabric::Node& node) {
      if (node.IsSwitch()) switches_.push_back(node.index);
    });
    RoutingPlan after = desired;
    for (size_t i = 0; i < devices.held().rows.size(); ++i)
      if (!after.HasRow(NodeIndex(static_cast<uint32_t>(i))))
        after.rows[i] = devices.held().rows[i];
    std::map<size_t, uint64_t> withdrawn;
    for (const TableWrite& write : push.writes)
      if (write.withdraw) withdrawn[write.block] |= write.lids;
    // One that was on its way before this push began may still come.
    for (const auto& one : devices.known().unsure)
      for (size_t i = 0; i < kBlock; ++i)
        withdrawn[one.block] |= uint64_t{one.maybe[i] == kNoRoute} << i;
    for (uint32_t value = 1; value <= fabric.lids.top().value(); ++value) {
      const Lid lid(static_cast<uint16_t>(value));
      if (withdrawn[value / kBlock] >> value % kBlock & 1) continue;
      for (NodeIndex from : switches_)
        if (WalkFrom(fabric, devices.held(), from, lid) == WalkEnd::kArrives &&
            WalkFrom(fabric, after, from, lid) == WalkEnd::kArrives)
          served_[value].push_back(from);
    }
  }

  // `most`: writes that are confirmed; then some are on their way for ever.
  void Go(uint64_t most, bool shuffled, double credit_checks) {
    left_.assign(push_.writes.begin(), push_.writes.end());
    while (!left_.empty() && most-- > 0) {
      const size_t next = Any(shuffled);
      const TableWrite write = left_[next];
      const auto bytes = devices_.After(write, desired_);
      devices_.Hold(write.node, write.block, bytes);
      devices_.Confirm(write.node, write.block, bytes);
      left_.erase(left_.begin() + static_cast<long>(next));
      Look(write.block);
      if (rng_.Chance(0.1)) {
        devices_.LateArrival(rng_);
        for (const auto& one : devices_.known().unsure) Look(one.block);
      }
      if (rng_.Chance(credit_checks)) faults.circles += HasCreditLoop(fabric_, devices_.held());
    }
    std::set<std::pair<NodeIndex, uint16_t>> flying;
    for (size_t next = 0; next < left_.size(); ++next) {
      const TableWrite& write = left_[next];
      if (!MayGo(next) || !rng_.Chance(0.5) || !flying.insert({write.node, write.block}).second)
        continue;
      const auto bytes = devices_.After(write, desired_);
      devices_.MarkUnknown(write.node, write.block, bytes);
      if (rng_.Chance(0.5)) devices_.Hold(write.node, write.block, bytes);
    }
    for (const auto& one : flying) Look(one.second);
  }

  Faults faults;

 private:
  bool MayGo(size_t index) const {
    const TableWrite& write = left_[index];
    return std::none_of(left_.begin(), left_.end(), [&](const TableWrite& other) {
      return other.stage < write.stage ||
             (other.stage == write.stage && other.block == write.block && other.wave < write.wave);
    });
  }
  size_t Any(bool shuffled) {
    for (;;) {
      const size_t next = rng_.Below(left_.size());
      if (shuffled || MayGo(next)) return next;
    }
  }
  void Look(uint16_t block) {
    for (size_t i = 0; i < kBlock; ++i) {
      const size_t value = block * kBlock + i;
      if (value == 0 || value > fabric_.lids.top().value()) continue;
      const Lid lid(static_cast<uint16_t>(value));
      for (NodeIndex from : switches_) {
        ++faults.walks;
        faults.loops += WalkFrom(fabric_, devices_.held(), from, lid) == WalkEnd::kLoops;
      }
      for (NodeIndex from : served_[value])
        faults.cuts += WalkFrom(fabric_, devices_.held(), from, lid) != WalkEnd::kArrives;
    }
  }

  const TestFabric& fabric_;
  Devices& devices_;
  const RoutingPlan& desired_;
  const PushPlan& push_;
  Rng& rng_;
  std::vector<NodeIndex> switches_;
  std::map<size_t, std::vector<NodeIndex>> served_;  // By LID.
  std::vector<TableWrite> left_;
};

FabricMaker DrawMaker(uint64_t seed) {
  Rng rng(seed);
  switch (seed % 4) {
    case 0: return MakeFatTree(4, 3);
    case 1: return MakeTorus({3, 3, 3}, 1);
    case 2: return MakeRandom(static_cast<int>(6 + rng.Below(10)), 30, 10, seed);
    default: return MakeTree({{2, 1}, {4, 3, 2}, {3, 2}});
  }
}

class Story {
 public:
  Story(uint64_t seed, const RoutingOptions& options)
      : rng_(seed), faulty_(DrawMaker(seed).Build(), seed), options_(options) {
    const Intent none;
    state_ = Replan({*now().snapshot, now().lids, none, options_}).after;
    if (state_) devices_.emplace(*state_->plan);
  }
  bool begun() const { return state_ != nullptr; }

  // Something happens, and it is answered, perhaps not to the end.
  void Step(bool shuffled, double credit_checks) {
    // A Set that comes in late may lead to what has died since, which no order can help.
    if (rng_.Chance(0.7)) {
      devices_->LoseWhatIsOnItsWay();
      faulty_.RandomStep();
    }
    if (rng_.Chance(0.3)) DrawIntent();
    for (NodeIndex node : faulty_.switches())
      if (!now().snapshot->node(node)) devices_->Forget(node);
    const ReplanGoal goals[] = {ReplanGoal::kUrgent, ReplanGoal::kWhole, ReplanGoal::kIdeal};
    ReplanInput input{*now().snapshot, now().lids, intent_, options_, state_, goals[rng_.Below(3)]};
    input.applied = &devices_->known();
    const ReplanResult result = Replan(input);
    if (!result.after) return;
    ASSERT_TRUE(result.push.has_value());
    const PushPlan& push = *result.push;
    pushes += !push.writes.empty();
    stages += push.stages > 1;
    withdrawn += !push.hitless;
    waves = std::max(waves, push.waves);
    writes += push.writes.size();
    Run run(now(), *devices_, *result.after->plan, push, rng_);
    const bool ends = shuffled || rng_.Chance(0.6);
    stopped += !ends;
    run.Go(ends ? push.writes.size() : rng_.Below(push.writes.size() + 1), shuffled, credit_checks);
    state_ = result.after;
    devices_->SetLanes(*state_->plan);
    if (ends && !shuffled) ExpectHeld(*state_->plan);
    faults.loops += run.faults.loops, faults.cuts += run.faults.cuts;
    faults.circles += run.faults.circles, faults.walks += run.faults.walks;
  }

  Faults faults;
  uint64_t pushes = 0, writes = 0, stages = 0, withdrawn = 0, stopped = 0;
  uint16_t waves = 0;

 private:
  const TestFabric& now() const { return faulty_.now(); }
  void DrawIntent() {
    intent_ = {};
    if (rng_.Chance(0.3)) return;
    if (!faulty_.cables().empty())
      intent_.closed_links = {faulty_.cables()[rng_.Below(faulty_.cables().size())].first};
    if (rng_.Chance(0.4))
      intent_.closed_switches = {faulty_.switches()[rng_.Below(faulty_.switches().size())]};
  }
  void ExpectHeld(const RoutingPlan& plan) {
    for (size_t i = 0; i < plan.rows.size(); ++i) {
      if (!plan.rows[i]) continue;
      const auto& held = devices_->held().rows[i];
      for (size_t lid = 0; lid < plan.rows[i]->size(); ++lid)
        ASSERT_EQ(held && lid < held->size() ? (*held)[lid] : kNoRoute, (*plan.rows[i])[lid]);
    }
  }

  Rng rng_;
  FaultyFabric faulty_;
  const RoutingOptions& options_;
  Intent intent_;
  std::shared_ptr<const RouteState> state_;
  std::optional<Devices> devices_;
};

RoutingOptions Only(const std::string& engine) {
  RoutingOptions options;
  options.chain = {engine};
  options.threads = 1;
  return options;
}

TEST(PushPlan, NoWriteMakesALoopOrCutsAPairServedBeforeAndAfter) {
  uint64_t stopped = 0, writes = 0;
  uint16_t waves = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    const RoutingOptions options = Only(seed % 3 ? "up_down" : "layered");
    Story story(seed, options);
    if (!story.begun()) continue;
    for (int step = 0; step < 5; ++step) story.Step(false, 0.05);
    EXPECT_EQ(story.faults.loops, 0u);
    EXPECT_EQ(story.faults.cuts, 0u);
    EXPECT_EQ(story.faults.circles, 0u);
    stopped += story.stopped, writes += story.writes;
    waves = std::max(waves, story.waves);
  }
  EXPECT_GT(stopped, 100u);
  EXPECT_GT(writes, 5000u);
  EXPECT_GT(waves, 2);
}

// The checkers find faults: the same writes in arbitrary order make loops in each of these cases.
TEST(PushPlan, AnyOtherOrderMakesLoops) {
  std::map<uint64_t, uint64_t> loops;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const RoutingOptions options = Only("up_down");
    Story story(seed, options);
    for (int step = 0; step < 5; ++step) story.Step(true, 0);
    loops[seed % 4] += story.faults.loops;
  }
  EXPECT_GT(loops[0], 0u) << "tree under a leaf";
  EXPECT_GT(loops[1], 0u) << "torus";
  EXPECT_GT(loops[2], 0u) << "irregular";
}

ReplanResult Again(const FaultyFabric& faulty, const RoutingOptions& options,
                   std::shared_ptr<const RouteState> before, ReplanGoal goal) {
  const Devices devices(*before->plan);
  const Intent none;
  ReplanInput input{
      *faulty.now().snapshot, faulty.now().lids, none, options, std::move(before), goal};
  input.applied = &devices.known();
  return Replan(input);
}

// Pending pairs of the urgent plan are served in an order compatible with all previous paths, also
// where the top switch has lost a link.
TEST(PushPlan, RoutingAroundAnyLostCableOfATreeIsHitless) {
  const TestFabric intact = MakeFatTree(4, 3).Build();
  const RoutingOptions options = Only("fat_tree");
  const Intent none;
  const auto before = Replan({*intact.snapshot, intact.lids, none, options}).after;
  ASSERT_NE(before, nullptr);
  const size_t cables = FaultyFabric(intact, 0).cables().size();
  size_t turned = 0;
  for (size_t i = 0; i < cables; ++i) {
    SCOPED_TRACE(i);
    FaultyFabric faulty(intact, i);
    faulty.Cut(faulty.cables()[i]);
    faulty.Apply();
    const ReplanResult urgent = Again(faulty, options, before, ReplanGoal::kUrgent);
    const ReplanResult whole = Again(faulty, options, urgent.after, ReplanGoal::kWhole);
    ASSERT_TRUE(urgent.push.has_value() && whole.push.has_value());
    EXPECT_TRUE(urgent.push->hitless) << urgent.push->why_not;
    EXPECT_TRUE(whole.push->hitless) << whole.push->why_not;
    EXPECT_EQ(whole.reached, ReplanGoal::kWhole);
    EXPECT_TRUE(whole.after->plan->pending.empty());
    turned += whole.after->plan->order != before->plan->order;
    // And when the cable is back, so is every entry.
    const ReplanResult settled = Again(faulty, options, whole.after, ReplanGoal::kIdealIfHitless);
    faulty.MendAll();
    const ReplanResult least = Again(faulty, options, settled.after, ReplanGoal::kUrgent);
    const ReplanResult back = Again(faulty, options, least.after, ReplanGoal::kIdealIfHitless);
    ASSERT_TRUE(settled.push.has_value() && back.push.has_value());
    EXPECT_TRUE(settled.push->hitless) << settled.push->why_not;
    EXPECT_TRUE(back.push->hitless) << back.push->why_not;
    EXPECT_TRUE(DiffPlans(*before->plan, *back.after->plan).blocks.empty()) << back.put_off;
  }
  EXPECT_GT(turned, 0u);
  EXPECT_LT(turned, cables / 2);
}

TEST(Replan, KeepsAServingPlanUnlessTheIdealPlanIsHitless) {
  const Intent none;
  uint64_t put_off = 0, taken = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(seed);
    // One lane of a torus is nearly full: there the path back may not be free.
    const bool torus = seed % 2 == 0;
    const RoutingOptions options = Only(torus ? "layered" : "up_down");
    FaultyFabric faulty((torus ? MakeTorus({5, 5}, 1) : DrawMaker(seed)).Build(), seed);
    auto state = Replan({*faulty.now().snapshot, faulty.now().lids, none, options}).after;
    if (!state) continue;
    for (int step = 0; step < 4; ++step) {
      faulty.RandomStep();
      state = Again(faulty, options, state, ReplanGoal::kWhole).after;
      ASSERT_NE(state, nullptr);
    }
    faulty.MendAll();
    const ReplanResult careful = Again(faulty, options, state, ReplanGoal::kIdealIfHitless);
    const ReplanResult ideal = Again(faulty, options, state, ReplanGoal::kIdeal);
    ASSERT_TRUE(careful.push.has_value() && ideal.push.has_value());
    if (careful.put_off.empty()) {
      ++taken;
      EXPECT_EQ(careful.reached, ReplanGoal::kIdeal);
      continue;
    }
    ++put_off;
    EXPECT_EQ(careful.reached, ReplanGoal::kWhole);
    EXPECT_TRUE(careful.push->hitless);
    EXPECT_FALSE(ideal.push->hitless);
    EXPECT_EQ(careful.put_off, ideal.push->why_not);
  }
  EXPECT_GT(put_off, 0u);
  EXPECT_GT(taken, 0u);
}

}  // namespace
}  // namespace fabricd::routing
