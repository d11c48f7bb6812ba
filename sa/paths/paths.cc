// SPDX-License-Identifier: Apache-2.0
#include "sa/paths/paths.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "sa/paths/path_finder.h"

namespace fabricd::sa {

using wire::PathRecord;

namespace {

// From so many sources on, one look at all switches is cheaper than a walk from each.
constexpr size_t kManySources = 32;
// Destinations that are looked at together.
constexpr size_t kBlock = 64;

// What the ways from the sources to the LIDs of some destinations carry.
class Arrivals {
 public:
  Arrivals(const SaView& view, std::span<const uint32_t> sources)
      : view_(view), sources_(sources), many_(sources.size() >= kManySources) {}

  void LookAt(std::span<const uint32_t> destinations, const Side& side) {
    targets_.clear();
    first_target_.clear();
    for (uint32_t number : destinations) {
      const EndPort& to = view_.ends()[number];
      first_target_.push_back(targets_.size());
      for (uint32_t j = 0; j < side.lids(to); ++j)
        targets_.push_back({&to, Lid(static_cast<uint16_t>(side.first_lid(to) + j))});
    }
    if (many_) {
      carried_.resize(targets_.size());
      for (size_t t = 0; t < targets_.size(); ++t) view_.paths().WalkAll(targets_[t], carried_[t]);
    } else {
      carried_.resize(sources_.size());
      for (size_t s = 0; s < sources_.size(); ++s) {
        carried_[s].resize(targets_.size());
        view_.paths().WalkEach(view_.ends()[sources_[s]], targets_, carried_[s]);
      }
    }
  }
  // By their places in `sources` and `destinations`.
  Carriage Of(size_t source, size_t destination, Lid dlid) const {
    const size_t first = first_target_[destination];
    const size_t t = first + (dlid.value() - targets_[first].lid.value());
    if (!many_) return carried_[source][t];
    const EndPort& from = view_.ends()[sources_[source]];
    if (from.place.IsNowhere() || from.ref == targets_[t].to->ref)
      return view_.paths().Walk(from, targets_[t]);
    const Carriage way = carried_[t][from.place.at];
    return way ? Least(from.link, way) : way;
  }

 private:
  const SaView& view_;
  const std::span<const uint32_t> sources_;
  const bool many_;
  std::vector<PathTable::Target> targets_;
  std::vector<size_t> first_target_;            // [destination]
  std::vector<std::vector<Carriage>> carried_;  // many: [target][switch], else [source][target]
};

std::vector<uint32_t> OpenEnds(const PathFinder& finder, const Side& side) {
  std::vector<uint32_t> open;
  for (uint32_t number = side.first; number < side.end; ++number)
    if (finder.IsOpen(number)) open.push_back(number);
  return open;
}

uint64_t CountLids(const SaView& view, const Side& side, const std::vector<uint32_t>& ends) {
  uint64_t count = 0;
  for (uint32_t number : ends) count += side.lids(view.ends()[number]);
  return count;
}

}  // namespace

uint16_t CollectPaths(const SaView& view, const Asker& asker, const PathRecord& wanted,
                      uint64_t mask, bool single, RecordTable& table) {
  const Request request = Understand(view, asker, wanted, mask, single);
  if (request.status != wire::kStatusOk) return request.status;
  const Side &source = request.source, &destination = request.destination;
  PathFinder finder(view, asker, *request.query);
  const std::vector<uint32_t> sources = OpenEnds(finder, source);
  const std::vector<uint32_t> destinations = OpenEnds(finder, destination);
  if (CountLids(view, source, sources) * CountLids(view, destination, destinations) > kMostPairs)
    return wire::kSaStatusNoResources;
  Arrivals arrivals(view, sources);
  const uint32_t most = single ? 1 : request.query->numb_path();
  const auto append = [&](const Path&, const PathRecord& record) { return table.Append(record); };
  for (size_t begin = 0; begin < destinations.size(); begin += kBlock) {
    const auto block =
        std::span(destinations).subspan(begin, std::min(kBlock, destinations.size() - begin));
    arrivals.LookAt(block, destination);
    for (size_t to = 0; to < block.size(); ++to) {
      for (size_t from = 0; from < sources.size(); ++from) {
        const auto carried = [&](Lid dlid) { return arrivals.Of(from, to, dlid); };
        if (!finder.Pair(source, sources[from], destination, block[to], most, carried, append))
          return wire::kSaStatusNoResources;
      }
    }
  }
  return wire::kStatusOk;
}

}  // namespace fabricd::sa
