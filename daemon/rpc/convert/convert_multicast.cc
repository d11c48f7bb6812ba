// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/convert/convert_multicast.h"

#include <algorithm>
#include <utility>

#include "daemon/rpc/convert/convert.h"
#include "fabric/rate.h"
#include "routing/multicast/multicast_shape.h"
#include "sa/records/record_text.h"

namespace fabricd::rpc {
namespace {

// Null: there is none.
const routing::MulticastTree* TreeOf(const sa::SaView& view, Lid mlid) {
  const routing::MulticastPlan* plan = view.input().multicast.get();
  if (plan == nullptr) return nullptr;
  const auto found =
      std::lower_bound(plan->trees.begin(), plan->trees.end(), mlid,
                       [](const auto& tree, Lid wanted) { return tree->mlid < wanted; });
  return found == plan->trees.end() || (*found)->mlid != mlid ? nullptr : found->get();
}

// The view may be of an earlier moment than the names.
bool IsNamed(const query::ReadModel& model, NodeIndex node) {
  return model.view->snapshot->node(node) != nullptr;
}

void AddBranch(const query::ReadModel& model, const sa::SaView& view, PortRef port, bool is_member,
               pb::MulticastSwitch* out) {
  pb::MulticastBranch* branch = out->add_branches();
  branch->set_port(port.port.value());
  branch->set_member(is_member);
  const PortRef peer = port.port == PortNum(0) ? PortRef{} : view.snapshot().port(port)->peer;
  if (!peer.IsNone() && IsNamed(model, peer.node)) ToProto(model, peer, branch->mutable_peer());
}

void AddTree(const query::ReadModel& model, const sa::SaView& view,
             const routing::MulticastTree& tree, pb::MulticastGroup* out) {
  for (const auto& place : routing::ShapeOf(tree, view.snapshot()).places) {
    if (!IsNamed(model, place.node)) continue;
    pb::MulticastSwitch* added = out->add_tree();
    added->set_guid(fmt::format("0x{:016x}", view.snapshot().node(place.node)->guid().value()));
    added->set_name(model.name(place.node));
    added->set_depth(place.depth);
    added->set_up_port(place.up.value());
    std::vector<std::pair<PortNum, bool>> branches;
    for (PortNum port : place.down) branches.emplace_back(port, false);
    for (PortNum port : place.ends) branches.emplace_back(port, true);
    std::sort(branches.begin(), branches.end());
    for (const auto& [port, is_member] : branches)
      AddBranch(model, view, {place.node, port}, is_member, added);
  }
}

void AddMember(const query::ReadModel& model, const sa::Member& member,
               const routing::MulticastTree* tree, pb::MulticastGroup* out) {
  pb::MulticastMember* added = out->add_members();
  added->set_gid(sa::AddressOf(member.gid));
  added->set_node_name(NodeNameOf(model, member.gid));
  added->set_proxy(member.requester != member.gid);
  for (const auto& [bit, word] : {std::pair(sa::kJoinFull, "Full"), std::pair(sa::kJoinNon, "Non"),
                                  std::pair(sa::kJoinSendOnly, "SendOnlyNon"),
                                  std::pair(sa::kJoinSendOnlyFull, "SendOnlyFull")})
    if ((member.join_state & bit) != 0) added->add_join_states(word);
  if (tree == nullptr) return;
  for (const routing::UnservedMember& unserved : tree->unserved)
    if (unserved.port_guid == member.gid.guid())
      added->set_unserved(routing::UnservedName(unserved.reason));
}

}  // namespace

std::string NodeNameOf(const query::ReadModel& model, Gid gid) {
  const PortRef port = model.snapshot().FindPort(gid.guid());
  return port.IsNone() ? "" : model.name(port.node);
}

void ToProto(const query::ReadModel& model, const sa::SaView* view, const sa::Group& group,
             pb::MulticastGroup* out) {
  const wire::McMemberRecord& record = group.record;
  out->set_mgid(sa::AddressOf(record.mgid));
  out->set_mlid(record.mlid.value());
  out->set_p_key(record.p_key.value());
  out->set_q_key(record.q_key);
  out->set_mtu(128u << record.mtu);
  out->set_rate_gbps(fabric::GbpsOfRate(record.rate));
  out->set_sl(record.sl.value());
  out->set_permanent(group.permanent);
  const routing::MulticastTree* tree = view == nullptr ? nullptr : TreeOf(*view, record.mlid);
  for (const sa::Member& member : group.members) AddMember(model, member, tree, out);
  if (tree != nullptr) AddTree(model, *view, *tree, out);
}

}  // namespace fabricd::rpc
