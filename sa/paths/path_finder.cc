// SPDX-License-Identifier: Apache-2.0
#include "sa/paths/path_finder.h"

namespace fabricd::sa {

using wire::PathRecord;

namespace {

constexpr uint64_t kLinkLocalPrefix = 0xFE80000000000000;

}  // namespace

uint32_t FindGid(const SaView& view, const Asker& asker, const Gid& gid) {
  const bool ours = gid.prefix == view.sm().gid_prefix || gid.prefix == kLinkLocalPrefix;
  return ours ? asker.FindPort(view, gid.guid()) : EndPorts::kNone;
}

// A unicast GID of neither this subnet nor every one.
bool IsElsewhere(const SaView& view, const Gid& gid) {
  return gid.prefix != view.sm().gid_prefix && gid.prefix != kLinkLocalPrefix && gid.prefix != 0 &&
         !gid.IsMulticast();
}

Side FindSide(const SaView& view, const Asker& asker, bool by_gid, const Gid& gid, bool by_lid,
              Lid lid, bool may_leave) {
  Side side;
  side.given = by_gid || by_lid;
  if (!side.given) {
    side.end = view.ends().size();
    return side;
  }
  uint32_t found = EndPorts::kNone;
  if (by_gid) {
    const bool leaves = may_leave && IsElsewhere(view, gid);
    found = leaves ? view.FindRouter(gid.prefix) : FindGid(view, asker, gid);
    if (found == EndPorts::kNone) {
      side.status = wire::kSaStatusRequestInvalidGid;
      return side;
    }
    if (leaves)
      side.beyond = gid;
    else if (view.ends()[found].guid != gid.guid())
      side.alias = gid.guid();
  }
  if (by_lid) {
    const uint32_t owner = view.ends().FindLid(lid);
    if (owner == EndPorts::kNone || (by_gid && owner != found)) return side;
    found = owner;
    side.lid = lid;
  }
  side.first = found;
  side.end = found + 1;
  return side;
}

PKey PathFinder::PKeyOf(const EndPort& a, const EndPort& b) const {
  const PKey asked = query_.p_key();
  if (!asked) return view_.p_keys().Shared(a.p_keys, b.p_keys);
  return view_.p_keys().MayTalk(a.p_keys, b.p_keys, asked) ? asked : PKey();
}

bool PathFinder::Describe(const Path& path, const EndPort& a, const EndPort& b, PKey p_key) {
  Carriage carriage = path.carriage;
  uint8_t life_time = a.ref == b.ref ? 0 : view_.sm().packet_life_time;
  if (!query_.Fit(carriage, life_time)) return false;
  const PathTable& paths = view_.paths();
  const uint8_t planned = paths.ServiceLevel(a, path.dlid);
  const std::optional<uint8_t> sl = query_.FitServiceLevel(planned, paths.lanes());
  if (!sl) return false;
  const bool sure = sure_of_way_back_ && paths.HasTable(b);
  const bool reversible = sure || LeadsBack(path, a, b, planned);
  if (query_.reversible() && !reversible) return false;
  prototype_.dgid = {view_.sm().gid_prefix, b.guid.value()};
  prototype_.sgid = {view_.sm().gid_prefix, a.guid.value()};
  prototype_.dlid = path.dlid;
  prototype_.slid = path.slid;
  prototype_.reversible = reversible;
  prototype_.p_key = p_key;
  prototype_.sl = fabricd::ServiceLevel(*sl);
  prototype_.mtu = carriage.mtu;
  prototype_.rate = fabric::CodeOfRate(carriage.rate);
  prototype_.packet_life_time = life_time;
  prototype_.preference = path.preference;
  return true;
}

bool PathFinder::LeadOut(Gid beyond) {
  // A router forwards nothing that it would lower to 0 (§19.2.4.1).
  const std::optional<uint8_t> asked = query_.hop_limit();
  if (asked && *asked <= 1) return false;
  prototype_.dgid = beyond;
  prototype_.hop_limit = asked.value_or(kMostHops);
  return true;
}

// Answers travel on the service level of what they answer, so that must be good both ways.
bool PathFinder::LeadsBack(const Path& path, const EndPort& a, const EndPort& b,
                           uint8_t planned) const {
  const PathTable& paths = view_.paths();
  const bool same_lane =
      paths.ServiceLevel(b, path.slid) % paths.lanes() == planned % paths.lanes();
  return same_lane && static_cast<bool>(paths.Walk(b, {&a, path.slid}));
}

Request Understand(const SaView& view, const Asker& asker, const PathRecord& wanted, uint64_t mask,
                   bool single) {
  Request request;
  request.query = PathQuery::Make(wanted, mask);
  request.source = FindSide(view, asker, Has(mask, PathComponent::kSgid), wanted.sgid,
                            Has(mask, PathComponent::kSlid), wanted.slid, /*may_leave=*/false);
  request.destination = FindSide(view, asker, Has(mask, PathComponent::kDgid), wanted.dgid,
                                 Has(mask, PathComponent::kDlid), wanted.dlid, /*may_leave=*/true);
  if (single && (!request.source.given || !request.destination.given)) {
    request.status = wire::kSaStatusInsufficientComponents;
  } else if (!request.query) {
    request.status = wire::kSaStatusRequestInvalid;
  } else {
    request.status = std::max(request.source.status, request.destination.status);
  }
  return request;
}

}  // namespace fabricd::sa
