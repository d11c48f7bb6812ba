// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "sa/paths/path_finder.h"
#include "sa/paths/paths.h"

namespace fabricd::sa {

using wire::MultiPathRecord;
using wire::PathRecord;

namespace {

constexpr size_t kGidBytes = 16;
// Of ends on one side and of paths among which the most independent ones are looked for: the work
// grows with their product.
constexpr size_t kMostGids = 128;
constexpr size_t kMostCandidates = 4096;

// Numbers of MultiPathRecord's components that PathRecord has at another place.
constexpr unsigned kFirstShared = 6, kSharedComponents = 16;
constexpr unsigned kServiceIdHigh = 16, kIndependence = 17, kSgidCount = 19, kDgidCount = 20,
                   kServiceIdLow = 21;

bool HasComponent(uint64_t mask, unsigned number) { return (mask >> number & 1) != 0; }

// What it asks of a path, as a PathRecord asks it: the first sixteen components are the same.
std::pair<PathRecord, uint64_t> AsPathRecord(const MultiPathRecord& wanted, uint64_t mask) {
  PathRecord path;
  path.service_id = uint64_t{wanted.service_id_high} << 56 | wanted.service_id_low;
  static_cast<wire::PathTerms&>(path) = wanted;
  const uint64_t shared = mask & ((uint64_t{1} << kSharedComponents) - 1);
  return {path,
          shared << kFirstShared | (mask >> kServiceIdHigh & 1) | (mask >> kServiceIdLow & 1) << 1};
}

// False: one of them is of no end port here.
bool FindGids(const SaView& view, const Asker& asker, std::span<const uint8_t> gids, size_t first,
              size_t count, bool may_leave, std::vector<Side>& found) {
  for (size_t i = first; i < first + count; ++i) {
    const Gid gid = wire::DecodeGid(gids.subspan(i * kGidBytes).first<kGidBytes>());
    found.push_back(FindSide(view, asker, true, gid, false, {}, may_leave));
    if (found.back().status != wire::kStatusOk) return false;
  }
  return true;
}

struct Candidate {
  PathRecord record;
  std::vector<uint64_t> links;  // Sending ends of its links, sorted; not those of the end ports.
};

std::vector<uint64_t> LinksOf(const SaView& view, const Path& path) {
  const EndPort &from = view.ends()[path.from], &to = view.ends()[path.to];
  std::vector<uint64_t> links;
  if (from.place.IsNowhere() || to.place.IsNowhere() || path.from == path.to) return links;
  view.paths().Follow(from.place.at, {&to, path.dlid},
                      [&](uint32_t at, uint8_t port, const PathTable::Hop& hop) {
                        if (hop.far.IsSwitch()) links.push_back(uint64_t{at} << 8 | port);
                      });
  std::sort(links.begin(), links.end());
  return links;
}

// Moves `most` of them to the front: each the one that shares the fewest links with those before
// it, the first of several.
void SortByIndependence(std::vector<Candidate>& candidates, size_t most) {
  std::vector<size_t> shared(candidates.size());
  for (size_t chosen = 0; chosen + 1 < std::min(most, candidates.size()); ++chosen) {
    for (size_t i = chosen + 1; i < candidates.size(); ++i) {
      for (uint64_t link : candidates[chosen].links)
        shared[i] +=
            std::binary_search(candidates[i].links.begin(), candidates[i].links.end(), link) ? 1
                                                                                             : 0;
    }
    const auto best =
        std::min_element(shared.begin() + static_cast<long>(chosen) + 1, shared.end());
    const auto at = best - shared.begin();
    // By rotation, so that the rest keep their order.
    std::rotate(shared.begin() + static_cast<long>(chosen) + 1, best, best + 1);
    std::rotate(candidates.begin() + static_cast<long>(chosen) + 1, candidates.begin() + at,
                candidates.begin() + at + 1);
  }
}

}  // namespace

uint16_t CollectMultiPaths(const SaView& view, const Asker& asker, const MultiPathRecord& wanted,
                           uint64_t mask, std::span<const uint8_t> gids, RecordTable& table) {
  if (!HasComponent(mask, kSgidCount) || !HasComponent(mask, kDgidCount))
    return wire::kSaStatusInsufficientComponents;
  const size_t sources = wanted.sgid_count, destinations = wanted.dgid_count;
  const auto [path, path_mask] = AsPathRecord(wanted, mask);
  const std::optional<PathQuery> query = PathQuery::Make(path, path_mask);
  if (!query || sources == 0 || destinations == 0 || sources > kMostGids ||
      destinations > kMostGids || (sources + destinations) * kGidBytes > gids.size())
    return wire::kSaStatusRequestInvalid;
  std::vector<Side> from, to;
  if (!FindGids(view, asker, gids, 0, sources, /*may_leave=*/false, from) ||
      !FindGids(view, asker, gids, sources, destinations, /*may_leave=*/true, to))
    return wire::kSaStatusRequestInvalidGid;
  uint64_t lids_from = 0, lids_to = 0;
  for (const Side& a : from) lids_from += a.lids(view.ends()[a.first]);
  for (const Side& b : to) lids_to += b.lids(view.ends()[b.first]);
  if (lids_from * lids_to > kMostPairsSingly) return wire::kSaStatusNoResources;
  const size_t most = query->numb_path();
  const bool independent = HasComponent(mask, kIndependence) && wanted.independence != 0;
  PathFinder finder(view, asker, *query);
  std::vector<Candidate> candidates;
  for (const Side& source : from) {
    for (const Side& destination : to) {
      if (!finder.IsOpen(source.first) || !finder.IsOpen(destination.first)) continue;
      finder.PairByWalk(source, source.first, destination, destination.first, PathQuery::kMostPaths,
                        [&](const Path& found, const PathRecord& record) {
                          candidates.push_back({record, {}});
                          if (independent) candidates.back().links = LinksOf(view, found);
                          return candidates.size() < (independent ? kMostCandidates : most);
                        });
      if (!independent && candidates.size() >= most) break;
    }
  }
  if (independent) SortByIndependence(candidates, most);
  for (size_t i = 0; i < std::min(most, candidates.size()); ++i)
    if (!table.Append(candidates[i].record)) return wire::kSaStatusNoResources;
  return wire::kStatusOk;
}

}  // namespace fabricd::sa
