// SPDX-License-Identifier: Apache-2.0
// The DependencyGraph against a search of the whole graph: dependencies and links that come and go
// at random.
#include <functional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rng.h"
#include "sim/checkers/dependency_graph.h"

namespace fabricd::sim {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using Channel = DependencyGraph::Channel;

// Switches in a ring, port 1 to the next and port 2 to the one before.
class Ring {
 public:
  explicit Ring(size_t size) : graph(size, 3), size_(size) {
    for (size_t at = 0; at < size; ++at) {
      graph.SetCable(graph.Of(at, 1), graph.Of((at + 1) % size, 2));
      graph.SetCable(graph.Of((at + 1) % size, 2), graph.Of(at, 1));
    }
    for (size_t at = 0; at < size; ++at)
      for (uint8_t port : {1, 2}) graph.SetActive(graph.Of(at, port), true);
  }
  DependencyGraph graph;

 private:
  size_t size_;
};

TEST(DependencyGraphTest, TheLastDependencyOfARingClosesTheCycle) {
  Ring ring(4);
  for (size_t at : {2, 0, 3}) {
    ring.graph.Add(ring.graph.Of(at, 1), 1);
    EXPECT_THAT(ring.graph.TakeCircle(), IsEmpty());
  }
  ring.graph.Add(ring.graph.Of(1, 1), 1);
  EXPECT_EQ(ring.graph.TakeCircle().size(), 4u);
  // It is told once.
  EXPECT_THAT(ring.graph.TakeCircle(), IsEmpty());
}

TEST(DependencyGraphTest, ACycleThatIsOpenAgainIsNotReported) {
  Ring ring(3);
  for (size_t at : {0, 1, 2}) ring.graph.Add(ring.graph.Of(at, 1), 1);
  ring.graph.Remove(ring.graph.Of(1, 1), 1);
  EXPECT_THAT(ring.graph.TakeCircle(), IsEmpty());
  ring.graph.Add(ring.graph.Of(1, 1), 1);
  EXPECT_THAT(ring.graph.TakeCircle(), Not(IsEmpty()));
}

TEST(DependencyGraphTest, ADeadLinkHasNoDependencies) {
  Ring ring(3);
  ring.graph.SetActive(ring.graph.Of(2, 1), false);
  for (size_t at : {0, 1, 2}) ring.graph.Add(ring.graph.Of(at, 1), 1);
  EXPECT_THAT(ring.graph.TakeCircle(), IsEmpty());
  ring.graph.SetActive(ring.graph.Of(2, 1), true);
  EXPECT_EQ(ring.graph.TakeCircle().size(), 3u);
}

TEST(DependencyGraphTest, TurningBackIsACycleOfTwoOnlyInBothDirections) {
  Ring ring(2);
  ring.graph.Add(ring.graph.Of(0, 1), 2);
  EXPECT_THAT(ring.graph.TakeCircle(), IsEmpty());
  ring.graph.Add(ring.graph.Of(1, 2), 1);
  EXPECT_EQ(ring.graph.TakeCircle().size(), 2u);
}

// A graph in which every switch is cabled to every other.
class Random {
 public:
  Random(size_t size, uint64_t seed) : rng_(seed), size_(size), graph_(size, size + 1) {
    for (size_t a = 0; a < size; ++a)
      for (size_t b = 0; b < size; ++b)
        if (a != b) graph_.SetCable(To(a, b), To(b, a));
  }
  // A dependency or a link is set or taken back; true: the circle that is told of is right.
  void Step() {
    const size_t a = rng_.Below(size_), b = Other({a}), c = Other({a, b});
    if (rng_.Chance(0.2)) {
      const bool active = !active_.erase(To(a, b));
      if (active) active_.insert(To(a, b));
      graph_.SetActive(To(a, b), active);
    } else if (waits_.erase({To(a, b), To(b, c)}) == 1) {
      graph_.Remove(To(a, b), graph_.PortOf(To(b, c)));
    } else {
      waits_.insert({To(a, b), To(b, c)});
      graph_.Add(To(a, b), graph_.PortOf(To(b, c)));
    }
    if (rng_.Chance(0.01)) graph_.Arrange();
    Judge();
  }
  int circles = 0;

 private:
  Channel To(size_t a, size_t b) { return graph_.Of(a, static_cast<uint8_t>(b + 1)); }
  size_t Other(std::set<size_t> than) {
    size_t one = rng_.Below(size_);
    while (than.count(one) != 0) one = rng_.Below(size_);
    return one;
  }
  bool Waits(Channel a, Channel b) const {
    return waits_.count({a, b}) != 0 && active_.count(a) != 0 && active_.count(b) != 0;
  }
  void Judge() {
    const std::vector<Channel> circle = graph_.TakeCircle();
    for (size_t i = 0; i < circle.size(); ++i)
      EXPECT_TRUE(Waits(circle[i], circle[(i + 1) % circle.size()]));
    ASSERT_EQ(circle.empty(), !HasCircle());
    if (circle.empty()) return;
    ++circles;
    // Opened, so that the next one is the next.
    waits_.erase({circle.back(), circle.front()});
    graph_.Remove(circle.back(), graph_.PortOf(circle.front()));
    while (HasCircle()) OpenAny();
  }
  void OpenAny() {
    for (const auto& wait : waits_) {
      if (!Waits(wait.first, wait.second) || !Leads(wait.second, wait.first)) continue;
      graph_.Remove(wait.first, graph_.PortOf(wait.second));
      waits_.erase(wait);
      return;
    }
  }
  bool Leads(Channel from, Channel to) const {
    std::set<Channel> seen{from};
    std::vector<Channel> open{from};
    for (size_t next = 0; next < open.size(); ++next) {
      if (open[next] == to) return true;
      for (const auto& [a, b] : waits_)
        if (a == open[next] && Waits(a, b) && seen.insert(b).second) open.push_back(b);
    }
    return false;
  }
  bool HasCircle() const {
    for (const auto& [a, b] : waits_)
      if (Waits(a, b) && Leads(b, a)) return true;
    return false;
  }

  Rng rng_;
  size_t size_;
  DependencyGraph graph_;
  std::set<std::pair<Channel, Channel>> waits_;
  std::set<Channel> active_;
};

TEST(DependencyGraphTest, RandomOnesAgreeWithASearchOfAll) {
  int circles = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(3 + seed % 4, seed);
    for (int step = 0; step < 300 && !testing::Test::HasFatalFailure(); ++step) random.Step();
    circles += random.circles;
  }
  EXPECT_GT(circles, 100);
}

}  // namespace
}  // namespace fabricd::sim
