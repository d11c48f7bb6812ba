// SPDX-License-Identifier: Apache-2.0
#include "sa/paths.h"

#include <utility>
#include <vector>

#include "sa/path_finder.h"

namespace fabricd::sa {

using wire::PathRecord;

namespace {

// From so many sources on, one look at all switches is cheaper than a walk from each.
constexpr uint32_t kManySources = 32;

// What the ways from all sources to the LIDs of one destination carry.
class Arrivals {
 public:
  Arrivals(const SaView& view, bool many) : view_(view), many_(many) {}

  void SetDestination(const EndPort& to, const Side& side) {
    to_ = &to;
    first_ = side.first_lid(to);
    if (!many_) return;
    by_lid_.resize(side.lids(to));
    for (uint32_t j = 0; j < by_lid_.size(); ++j)
      view_.paths().WalkAll(to, Lid(static_cast<uint16_t>(first_ + j)), by_lid_[j]);
  }
  Carriage From(const EndPort& from, Lid dlid) const {
    if (!many_ || from.place.IsNowhere() || from.ref == to_->ref)
      return view_.paths().Walk(from, *to_, dlid);
    const Carriage way = by_lid_[dlid.value() - first_][from.place.at];
    return way ? Least(from.link, way) : way;
  }

 private:
  const SaView& view_;
  const bool many_;
  const EndPort* to_ = nullptr;
  uint32_t first_ = 0;
  std::vector<std::vector<Carriage>> by_lid_;
};

}  // namespace

uint16_t CollectPaths(const SaView& view, const Asker& asker, const PathRecord& wanted,
                      uint64_t mask, bool single, RecordTable& table) {
  const Request request = Understand(view, wanted, mask, single);
  if (request.status != wire::kStatusOk) return request.status;
  const Side &source = request.source, &destination = request.destination;
  PathFinder finder(view, asker, *request.query);
  std::vector<uint32_t> sources;
  for (uint32_t from = source.first; from < source.end; ++from)
    if (finder.IsOpen(from)) sources.push_back(from);
  Arrivals arrivals(view, sources.size() >= kManySources);
  const uint32_t most = single ? 1 : request.query->numb_path();
  const auto append = [&](const Path&, const PathRecord& record) { return Append(table, record); };
  for (uint32_t to = destination.first; to < destination.end; ++to) {
    if (!finder.IsOpen(to)) continue;
    arrivals.SetDestination(view.ends()[to], destination);
    for (uint32_t from : sources) {
      const auto carried = [&](Lid dlid) { return arrivals.From(view.ends()[from], dlid); };
      if (!finder.Pair(source, from, destination, to, most, carried, append))
        return wire::kSaStatusNoResources;
    }
  }
  return wire::kStatusOk;
}

}  // namespace fabricd::sa
