// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/random_regular.h"

#include <algorithm>
#include <numeric>

#include <absl/container/flat_hash_set.h>

#include "common/rng.h"
#include "common/status.h"

namespace fabricd::sim {
namespace {

constexpr int kSwapsPerEdge = 10;

using Edge = std::pair<int, int>;  // Switches from 0, the lower one first.

Edge MakeEdge(int a, int b) { return {std::min(a, b), std::max(a, b)}; }

// Any regular graph will do to start from: each switch and those next to it on a circle. It exists
// for every degree, so that nothing has to be tried again.
std::vector<Edge> Circulant(int switches, int degree) {
  std::vector<Edge> edges;
  for (int i = 0; i < switches; ++i) {
    for (int step = 1; step <= degree / 2; ++step) {
      edges.push_back(MakeEdge(i, (i + step) % switches));
    }
  }
  if (degree % 2 != 0) {
    for (int i = 0; i < switches / 2; ++i) edges.push_back({i, i + switches / 2});
  }
  return edges;
}

// Exchanges the ends of two edges at a time, which keeps every degree; an exchange that would make
// a loop or a second edge of a pair is left out.
void Shuffle(std::vector<Edge>& edges, Rng& rng) {
  absl::flat_hash_set<Edge> present(edges.begin(), edges.end());
  const size_t swaps = edges.size() * kSwapsPerEdge;
  for (size_t i = 0; i < swaps; ++i) {
    Edge& first = edges[rng.Below(edges.size())];
    Edge& second = edges[rng.Below(edges.size())];
    const bool crossed = rng.Below(2) != 0;
    const Edge one = MakeEdge(first.first, crossed ? second.second : second.first);
    const Edge other = MakeEdge(first.second, crossed ? second.first : second.second);
    if (one.first == one.second || other.first == other.second || one == other ||
        present.contains(one) || present.contains(other)) {
      continue;
    }
    present.erase(first);
    present.erase(second);
    present.insert(one);
    present.insert(other);
    first = one;
    second = other;
  }
}

int RootOf(std::vector<int>& parents, int node) {
  while (parents[static_cast<size_t>(node)] != node) {
    int& parent = parents[static_cast<size_t>(node)];
    parent = parents[static_cast<size_t>(parent)];
    node = parent;
  }
  return node;
}

// Joins the pieces of a graph whose nodes have a degree of 2 or more. Each piece then has an edge
// that closes a circle and can be spared: its ends and those of an edge of another piece are
// exchanged.
void Connect(int switches, std::vector<Edge>& edges) {
  std::vector<int> parents(static_cast<size_t>(switches));
  std::iota(parents.begin(), parents.end(), 0);
  std::vector<size_t> spare_edges;
  for (size_t i = 0; i < edges.size(); ++i) {
    const int a = RootOf(parents, edges[i].first), b = RootOf(parents, edges[i].second);
    if (a == b) spare_edges.push_back(i);
    parents[static_cast<size_t>(a)] = b;
  }
  const int main = RootOf(parents, 0);
  for (size_t spare : spare_edges) {
    Edge& edge = edges[spare];
    const int piece = RootOf(parents, edge.first);
    if (piece == main) continue;
    Edge& joined = *std::find_if(edges.begin(), edges.end(), [&](const Edge& candidate) {
      return RootOf(parents, candidate.first) == main;
    });
    const Edge old = joined;
    joined = MakeEdge(old.first, edge.first);
    edge = MakeEdge(old.second, edge.second);
    parents[static_cast<size_t>(piece)] = main;
  }
}

absl::StatusOr<int> CheckedRadix(const RandomSpec& spec) {
  FABRICD_RETURN_IF_ERROR(CheckRange("switches", spec.switches, 2, static_cast<int>(kMaxNodes)));
  FABRICD_RETURN_IF_ERROR(
      CheckRange("degree", spec.degree, 1, std::min(spec.switches - 1, kMaxRadix)));
  FABRICD_RETURN_IF_ERROR(CheckRange("hosts", spec.hosts, 1, kMaxRadix));
  if (spec.degree == 1 && spec.switches > 2) {
    return InvalidArgument("degree 1: connects no more than 2 switches");
  }
  if (spec.switches % 2 != 0 && spec.degree % 2 != 0) {
    return InvalidArgument("degree {}: even, as the number of switches ({}) is odd", spec.degree,
                           spec.switches);
  }
  FABRICD_RETURN_IF_ERROR(CheckNodes(fmt::format("switches {}", spec.switches), spec.switches,
                                     static_cast<int64_t>(spec.switches) * spec.hosts));
  return RadixFor(spec.radix, spec.hosts + spec.degree,
                  fmt::format("hosts {} and degree {}", spec.hosts, spec.degree));
}

}  // namespace

std::vector<Parameter> RandomParameters(RandomSpec& spec) {
  return {{"switches", "Switches", &spec.switches},
          {"degree", "Cables of each switch to others", &spec.degree},
          {"hosts", "Hosts of each switch", &spec.hosts},
          {"radix", "Ports of each switch; 0: as many as are in use", &spec.radix},
          {"seed", "Seed of the graph, and of what the other options draw by chance", &spec.seed},
          SpeedParameter(spec.speed)};
}

SnapshotOr GenerateRandom(const RandomSpec& spec) {
  const absl::StatusOr<int> radix = CheckedRadix(spec);
  if (!radix.ok()) return radix.status();
  Rng rng(spec.seed);
  std::vector<Edge> edges = Circulant(spec.switches, spec.degree);
  Shuffle(edges, rng);
  Connect(spec.switches, edges);
  std::sort(edges.begin(), edges.end());

  FabricBuilder builder(spec.speed);
  std::vector<NodeIndex> switches;
  for (int i = 0; i < spec.switches; ++i) {
    switches.push_back(builder.AddSwitch(SwitchGuid(i), *radix, fmt::format("switch{}", i + 1)));
  }
  std::vector<int> used(switches.size(), spec.hosts);
  for (const Edge& edge : edges) {
    const size_t a = static_cast<size_t>(edge.first), b = static_cast<size_t>(edge.second);
    builder.Cable(switches[a], ++used[a], switches[b], ++used[b]);
  }
  for (int i = 0; i < spec.switches; ++i) {
    builder.AddHosts(switches[static_cast<size_t>(i)], i * spec.hosts + 1, spec.hosts);
  }
  return builder.Build();
}

}  // namespace fabricd::sim
