// SPDX-License-Identifier: Apache-2.0
// PathFinder: the paths between two end ports that a request allows, one after the other; for all
// the answers about paths. Internal to sa. Used by one request.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "mad/wire/sa_path_records.h"
#include "sa/paths/path_query.h"
#include "sa/view/asker.h"

namespace fabricd::sa {

// The end ports, and of a port with several LIDs those, that a request leaves open on one side.
struct Side {
  uint16_t status = wire::kStatusOk;
  uint32_t first = 0, end = 0;  // Numbers in SaView::ends(); equal: nobody.
  Lid lid;                      // Of the one end port; 0: any of its LIDs.
  Guid alias;                   // The GUID that it is asked for by; 0: its own.
  Gid beyond;                   // In another subnet, behind the one end port, a router's; 0: here.
  bool given = false;

  uint32_t first_lid(const EndPort& port) const { return lid ? lid.value() : port.base_lid; }
  uint32_t lids(const EndPort& port) const { return lid ? 1 : port.lid_end() - port.base_lid; }
};

// kNone: not an end port of this subnet.
uint32_t FindGid(const SaView& view, const Asker& asker, const Gid& gid);
// `may_leave`: a GID of another subnet is looked for behind its router.
Side FindSide(const SaView& view, const Asker& asker, bool by_gid, const Gid& gid, bool by_lid,
              Lid lid, bool may_leave);

// What is found out of one path.
struct Path {
  uint32_t from, to;  // Numbers in SaView::ends().
  Lid slid, dlid;
  Carriage carriage;
  uint8_t preference = 0;
};

// Pairs of LIDs that one request may have looked at (ERR_NO_RESOURCES beyond): what it asks of
// paths may rule out all of them, so a bound on the answer bounds no work. Singly: each by a walk.
inline constexpr uint64_t kMostPairs = uint64_t{1} << 22;
inline constexpr uint64_t kMostPairsSingly = uint64_t{1} << 16;

class PathFinder {
 public:
  PathFinder(const SaView& view, const Asker& asker, const PathQuery& query)
      : view_(view), asker_(asker), query_(query), prototype_(query.prototype()) {
    sure_of_way_back_ = view.paths().AlwaysLeadsBack() && view.paths().lanes() == 1;
  }

  bool IsOpen(uint32_t number) const {
    const EndPort& end = view_.ends()[number];
    return !end.isolated && asker_.MaySee(view_, end);
  }

  // Calls emit(path, record) for each path of the pair, at most `most`; both ends IsOpen().
  // carried(dlid) is what the way carries, as Walk() has it. False: emit() said that it is enough.
  template <typename Carried, typename Emit>
  bool Pair(const Side& source, uint32_t from, const Side& destination, uint32_t to, uint32_t most,
            const Carried& carried, const Emit& emit) {
    const EndPort &a = view_.ends()[from], &b = view_.ends()[to];
    const PKey p_key = PKeyOf(a, b);
    if (!p_key) return true;
    const uint32_t slids = source.lids(a), dlids = destination.lids(b);
    const uint32_t longer = std::max(slids, dlids), pairs = slids * dlids;
    Path path{from, to, {}, {}, {}, 0};
    uint32_t found = 0;
    // First each LID of the one with one of the other, then shifted against each other.
    for (uint32_t k = 0; k < pairs && found < most; ++k) {
      const uint32_t step = k % longer, shift = k / longer;
      const uint32_t i = slids == longer ? step : (step + shift) % slids;
      const uint32_t j = slids == longer ? (step + shift) % dlids : step;
      path.slid = Lid(static_cast<uint16_t>(source.first_lid(a) + i));
      path.dlid = Lid(static_cast<uint16_t>(destination.first_lid(b) + j));
      path.carriage = carried(path.dlid);
      path.preference = static_cast<uint8_t>(std::min<uint32_t>(found, 255));
      if (!path.carriage || !Describe(path, a, b, p_key)) continue;
      if (destination.beyond && !LeadOut(destination.beyond)) return true;
      ++found;
      if (source.alias) prototype_.sgid.low = source.alias.value();
      if (destination.alias) prototype_.dgid.low = destination.alias.value();
      if (!emit(path, prototype_)) return false;
    }
    return true;
  }

  // The same, for a pair alone: its ways are walked one by one.
  template <typename Emit>
  bool PairByWalk(const Side& source, uint32_t from, const Side& destination, uint32_t to,
                  uint32_t most, const Emit& emit) {
    const EndPort &a = view_.ends()[from], &b = view_.ends()[to];
    const auto walk = [&](Lid dlid) { return view_.paths().Walk(a, {&b, dlid}); };
    return Pair(source, from, destination, to, most, walk, emit);
  }

 private:
  PKey PKeyOf(const EndPort& a, const EndPort& b) const;
  // Makes the record of it. False: not what is asked for.
  bool Describe(const Path& path, const EndPort& a, const EndPort& b, PKey p_key);
  // Makes the record one of a path over a router. False: the HopLimit that is asked for ends there.
  bool LeadOut(Gid beyond);
  bool LeadsBack(const Path& path, const EndPort& a, const EndPort& b, uint8_t planned) const;

  const SaView& view_;
  const Asker& asker_;
  const PathQuery& query_;
  wire::PathRecord prototype_;
  bool sure_of_way_back_ = false;
};

// The two sides of a request, and what is wrong with it.
struct Request {
  uint16_t status = wire::kStatusOk;
  Side source, destination;
  std::optional<PathQuery> query;
};

Request Understand(const SaView& view, const Asker& asker, const wire::PathRecord& wanted,
                   uint64_t mask, bool single);

}  // namespace fabricd::sa
