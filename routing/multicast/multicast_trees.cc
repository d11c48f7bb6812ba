// SPDX-License-Identifier: Apache-2.0
#include "routing/multicast/multicast_trees.h"

#include <algorithm>
#include <map>
#include <utility>

#include "routing/multicast/multicast_channels.h"
#include "routing/multicast/multicast_rows.h"
#include "routing/multicast/multicast_tree_maker.h"

namespace fabricd::routing {
namespace {

using SharedTree = std::shared_ptr<const MulticastTree>;

SharedTree Find(const MulticastPlan* plan, Lid mlid) {
  if (plan == nullptr) return nullptr;
  const auto it = std::lower_bound(plan->trees.begin(), plan->trees.end(), mlid,
                                   [](const SharedTree& tree, Lid l) { return tree->mlid < l; });
  return it != plan->trees.end() && (*it)->mlid == mlid ? *it : nullptr;
}

// For each lane that a group takes, which way is up.
class Orientations {
 public:
  Orientations(const TreesInput& input, const MulticastGraph& graph)
      : input_(input), graph_(graph) {}

  const Orientation& Of(const fabric::MulticastGroup& group) {
    const bool ordered = !input_.plan.order.empty();
    const auto [it, is_new] = by_lane_.try_emplace(ordered ? uint8_t{0} : LaneOf(group));
    if (is_new)
      it->second = ordered ? OrientByOrder(graph_, input_.plan.order) : ForestOf(it->first);
    return it->second;
  }

 private:
  uint8_t LaneOf(const fabric::MulticastGroup& group) const {
    return static_cast<uint8_t>(group.sl.value() % input_.plan.lanes);
  }
  Orientation ForestOf(uint8_t lane) const {
    std::vector<const MulticastTree*> before;
    for (const fabric::MulticastGroup& group : input_.groups.groups)
      if (const SharedTree tree = Find(input_.before, group.mlid); tree && LaneOf(group) == lane)
        before.push_back(tree.get());
    return FindForest(graph_, input_.lids, input_.plan, lane, before).orientation;
  }

  const TreesInput& input_;
  const MulticastGraph& graph_;
  std::map<uint8_t, Orientation> by_lane_;
};

}  // namespace

MulticastPlan MakeTrees(const TreesInput& input) {
  const MulticastGraph graph(input.usable);
  Orientations orientations(input, graph);
  MulticastTreeMaker maker(graph, input.usable, input.lids);
  if (input.before != nullptr)
    for (const SharedTree& tree : input.before->trees) maker.Count(*tree, 1);
  std::vector<SharedTree> trees;
  for (const fabric::MulticastGroup& group : input.groups.groups) {
    SharedTree before = Find(input.before, group.mlid);
    if (before != nullptr) maker.Count(*before, -1);
    MulticastTree tree = maker.Make(group, before.get(), orientations.Of(group));
    maker.Count(tree, 1);
    const bool same = before != nullptr && *before == tree;
    trees.push_back(same ? std::move(before)
                         : std::make_shared<const MulticastTree>(std::move(tree)));
  }
  return PlanOfTrees(std::move(trees), input.before);
}

}  // namespace fabricd::routing
