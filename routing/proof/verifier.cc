// SPDX-License-Identifier: Apache-2.0
#include "routing/proof/verifier.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "routing/plan/parallel.h"
#include "routing/proof/dependencies.h"
#include "routing/proof/wiring.h"

namespace fabricd::routing {
namespace {

using fabric::FabricSnapshot;
using fabric::LidTable;

// LIDs judged together: a tile of all switches stays in the L2 cache.
constexpr uint32_t kTile = Row::kBlock;
constexpr size_t kMaxFaults = 16;
constexpr size_t kMaxLoopShown = 12;
constexpr uint8_t kMostLanes = 15;  // VL15 is for management.
constexpr uint8_t kMostLevel = 15;

class Judge {
 public:
  Judge(const FabricSnapshot& snapshot, const LidTable& lids, const RoutingPlan& plan, int threads)
      : plan_(plan), wiring_(snapshot, lids), parallel_(threads) {
    size_t longest = lids.top().value() + size_t{1};
    for (const auto& row : plan.rows)
      if (row) longest = std::max(longest, row->size());
    tiles_ = (longest + kTile - 1) / kTile;
    exempt_ = ByLid(plan.exempt);
    pending_ = ByLid(plan.pending);
  }

  VerifyReport Run() {
    CheckRows();
    CheckLevels();
    std::vector<uint64_t> suspect(tiles_, 0);  // A bit per LID of the tile.
    Dependencies dependencies = CheckEntries(suspect);
    const std::vector<size_t> cycle = FindCycle(wiring_, dependencies);
    report_.deadlock_free = cycle.empty();
    // Each entry hands over to an entry or to the owner, so without a cycle of channels every walk
    // ends, and it can end only at the owner. Otherwise the walks themselves are looked at.
    if (!cycle.empty()) std::fill(suspect.begin(), suspect.end(), ~uint64_t{0});
    WalkSuspects(suspect);
    if (!cycle.empty() && plan_.lanes > 1 && plan_.lanes <= kMostLanes)
      CheckLanes();
    else if (!cycle.empty())
      AddFault(CycleText(wiring_, dependencies, cycle));
    report_.ok = fault_count_ == 0;
    return std::move(report_);
  }

 private:
  using Tile = std::vector<uint8_t>;  // [switch * kTile + LID of the tile]

  void AddFault(std::string text) {
    ++fault_count_;
    if (report_.faults.size() < kMaxFaults) report_.faults.push_back(std::move(text));
  }
  using LidAndSwitch = std::pair<uint32_t, uint32_t>;
  std::vector<LidAndSwitch> ByLid(const std::vector<ExemptPair>& pairs) const {
    std::vector<LidAndSwitch> sorted;
    for (const ExemptPair& pair : pairs)
      sorted.emplace_back(pair.destination.value(), wiring_.number(pair.source_switch));
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
  static bool Has(const std::vector<LidAndSwitch>& sorted, uint32_t s, size_t lid) {
    return !sorted.empty() && std::binary_search(sorted.begin(), sorted.end(),
                                                 LidAndSwitch(static_cast<uint32_t>(lid), s));
  }
  bool IsExempt(uint32_t s, size_t lid) const { return Has(exempt_, s, lid); }
  bool IsPending(uint32_t s, size_t lid) const { return Has(pending_, s, lid); }
  bool IsStale(size_t lid) const {
    return std::binary_search(plan_.stale.begin(), plan_.stale.end(),
                              Lid(static_cast<uint16_t>(lid)));
  }

  void CheckRows() {
    for (uint32_t s = 0; s < wiring_.size(); ++s) {
      if (!plan_.HasRow(wiring_.node(s)))
        AddFault(wiring_.Name(s) + " has no table");
      else if (plan_.rows[wiring_.node(s).value()]->size() % kTile != 0)
        AddFault(fmt::format("the table of {} has {} entries, which are no whole blocks",
                             wiring_.Name(s), plan_.rows[wiring_.node(s).value()]->size()));
      else
        CheckTableEnd(s, *plan_.rows[wiring_.node(s).value()]);
    }
    for (uint32_t i = 0; i < plan_.rows.size(); ++i)
      if (plan_.rows[i] && wiring_.number(NodeIndex(i)) == Wiring::kNone)
        AddFault(fmt::format("there is a table for node {}, which is no living switch", i));
  }

  // What stands beyond the end of a table is written nowhere.
  void CheckTableEnd(uint32_t s, const Row& row) {
    for (size_t lid = wiring_.lid_limit(s); lid < row.size(); ++lid) {
      if (row[lid] == kNoRoute) continue;
      return AddFault(fmt::format("{}: {} has a route beyond LinearFDBCap {}", wiring_.Name(s),
                                  wiring_.LidName(lid), wiring_.lid_limit(s)));
    }
  }

  // More lanes than there are data VLs, and levels that no packet can carry, are no lanes at all.
  void CheckLevels() {
    if (plan_.lanes < 1 || plan_.lanes > kMostLanes) {
      AddFault(fmt::format("the plan has {} lanes, not 1 to {}", plan_.lanes, kMostLanes));
      return;
    }
    for (uint32_t s = 0; s < wiring_.size() && plan_.lanes > 1; ++s) {
      const size_t node = wiring_.node(s).value();
      if (node >= plan_.service_levels.size() || !plan_.service_levels[node]) continue;
      const Row& levels = *plan_.service_levels[node];
      for (size_t lid = 0; lid < levels.size(); ++lid)
        if (levels[lid] > kMostLevel) {
          AddFault(fmt::format("{}: {} has service level {}", wiring_.Name(s), wiring_.LidName(lid),
                               levels[lid]));
          break;
        }
    }
  }

  void CopyTile(size_t tile, Tile& out) const {
    out.assign(size_t{wiring_.size()} * kTile, kNoRoute);
    for (uint32_t s = 0; s < wiring_.size(); ++s) {
      if (!plan_.HasRow(wiring_.node(s))) continue;
      const Row& row = *plan_.rows[wiring_.node(s).value()];
      const size_t begin = tile * kTile, end = std::min(row.size(), begin + kTile);
      if (begin < end) std::memcpy(&out[size_t{s} * kTile], row.block(tile), end - begin);
    }
  }

  // Looks at each entry and the one it hands over to. Marks the LIDs that have a wrong one.
  Dependencies CheckEntries(std::vector<uint64_t>& suspect) {
    const size_t parts = std::min<size_t>(std::max<size_t>(tiles_, 1), 2 * parallel_.concurrency());
    std::vector<Dependencies> found(parts, Dependencies(wiring_));
    parallel_.For(parts, [&](size_t part) {
      Tile tile;
      for (size_t t = part * tiles_ / parts; t < (part + 1) * tiles_ / parts; ++t) {
        CopyTile(t, tile);
        suspect[t] = CheckTile(t, tile, found[part]);
      }
    });
    for (size_t part = 1; part < parts; ++part) found[0].Merge(found[part]);
    return std::move(found[0]);
  }

  uint64_t CheckTile(size_t t, const Tile& tile, Dependencies& dependencies) const {
    std::array<uint32_t, kTile> at, component;
    for (uint32_t i = 0; i < kTile; ++i) {
      at[i] = wiring_.place(t * kTile + i).at;
      component[i] = at[i] == Place::kNowhere ? Wiring::kNone : wiring_.component(at[i]);
    }
    uint64_t suspect = 0;
    for (uint32_t s = 0; s < wiring_.size(); ++s) {
      const uint8_t* entries = &tile[size_t{s} * kTile];
      const uint32_t own_component = wiring_.component(s);
      for (uint32_t i = 0; i < kTile; ++i) {
        const Far& far = wiring_.far(s, entries[i]);
        if (far.IsSwitch()) {
          const uint8_t next = tile[size_t{far.node} * kTile + i];
          dependencies.Add(far.channel, next);
          if (component[i] == own_component && s != at[i] && next != kNoRoute) continue;
          suspect |= uint64_t{1} << i;
        } else if (!IsRightEnd(s, t * kTile + i, entries[i])) {
          suspect |= uint64_t{1} << i;
        }
      }
    }
    return suspect;
  }

  // All lanes together can wait in a circle: looks at each with the ways that take it.
  void CheckLanes() {
    using LaneParts = std::vector<Dependencies>;  // [lane]
    const size_t parts = std::min<size_t>(std::max<size_t>(tiles_, 1), 2 * parallel_.concurrency());
    std::vector<LaneParts> found(parts, LaneParts(plan_.lanes, Dependencies(wiring_)));
    parallel_.For(parts, [&](size_t part) {
      Tile tile;
      for (size_t t = part * tiles_ / parts; t < (part + 1) * tiles_ / parts; ++t) {
        CopyTile(t, tile);
        for (uint32_t i = 0; i < kTile; ++i) FollowLanes(t * kTile + i, &tile[i], found[part]);
      }
    });
    report_.deadlock_free = true;
    for (uint8_t lane = 0; lane < plan_.lanes; ++lane) {
      for (size_t part = 1; part < parts; ++part) found[0][lane].Merge(found[part][lane]);
      const std::vector<size_t> cycle = FindCycle(wiring_, found[0][lane]);
      if (cycle.empty()) continue;
      report_.deadlock_free = false;
      AddFault(fmt::format("lane {}: {}", lane, CycleText(wiring_, found[0][lane], cycle)));
    }
  }
  // The ways from all switches to one LID, each on the lane of its service level.
  void FollowLanes(size_t lid, const uint8_t* entries, std::vector<Dependencies>& lanes) const {
    if (wiring_.place(lid).at == Place::kNowhere) return;
    std::vector<uint16_t> passed(wiring_.size(), 0);  // Lanes on which a way was here before.
    for (uint32_t source = 0; source < wiring_.size(); ++source) {
      const uint8_t level =
          plan_.ServiceLevel(wiring_.node(source), Lid(static_cast<uint16_t>(lid)));
      const auto lane = static_cast<uint8_t>(level % plan_.lanes);
      uint32_t s = source;
      while (!(passed[s] >> lane & 1)) {
        passed[s] = static_cast<uint16_t>(passed[s] | 1u << lane);
        const Far& far = wiring_.far(s, entries[size_t{s} * kTile]);
        if (!far.IsSwitch()) break;
        lanes[lane].Add(far.channel, entries[size_t{far.node} * kTile]);
        s = far.node;
      }
    }
  }

  // Of an entry that leads to no other switch.
  bool IsRightEnd(uint32_t s, size_t lid, uint8_t out) const {
    const Place place = wiring_.place(lid);
    const bool wanted =
        place.at != Place::kNowhere && wiring_.component(place.at) == wiring_.component(s);
    if (out == kNoRoute) return !wanted || IsExempt(s, lid);
    return s == place.at && out == place.port;
  }

  // What following one LID's entries from everywhere shows.
  struct Walks {
    uint64_t unreachable = 0, loops = 0, faults = 0;
    std::vector<std::string> texts;
    void Add(std::string text) {
      ++faults;
      if (texts.size() < kMaxFaults) texts.push_back(std::move(text));
    }
  };

  void WalkSuspects(const std::vector<uint64_t>& suspect) {
    std::vector<Walks> walks(tiles_);
    parallel_.For(tiles_, [&](size_t t) {
      if (suspect[t] == 0) return;
      Tile tile;
      CopyTile(t, tile);
      for (uint32_t i = 0; i < kTile; ++i)
        if (suspect[t] >> i & 1) Walk(t * kTile + i, &tile[i], walks[t]);
    });
    for (Walks& part : walks) {
      report_.unreachable_pairs += part.unreachable;
      report_.loops += part.loops;
      for (std::string& text : part.texts) AddFault(std::move(text));
      fault_count_ += part.faults - part.texts.size();
    }
  }

  enum class Fate : uint8_t { kUnknown, kOnTheWay, kArrives, kLost, kLeftOut };

  // `entries[s * kTile]` is the entry of switch s.
  void Walk(size_t lid, const uint8_t* entries, Walks& walks) const {
    const Place place = wiring_.place(lid);
    std::vector<Fate> fate(wiring_.size(), Fate::kUnknown);
    std::vector<uint32_t> path;
    for (uint32_t source = 0; source < wiring_.size(); ++source) {
      const bool wanted =
          place.at != Place::kNowhere && wiring_.component(place.at) == wiring_.component(source);
      if (!wanted) {
        const uint8_t out = entries[size_t{source} * kTile];
        const Far& far = wiring_.far(source, out);
        // What is left of an earlier plan may end nowhere, but not in somebody else's hands.
        const bool left = IsStale(lid) || IsPending(source, lid);
        const bool harmless = left && out != 0 && far.node != Far::kEndPort;
        if (out != kNoRoute && !harmless)
          walks.Add(fmt::format("{}: {} cannot be reached from here but has a route by port {}",
                                wiring_.Name(source), wiring_.LidName(lid), out));
        continue;
      }
      path.clear();
      uint32_t s = source;
      Fate end = Fate::kUnknown;
      while (end == Fate::kUnknown) {
        if (fate[s] == Fate::kOnTheWay) {
          ++walks.loops;
          walks.Add(LoopText(lid, path, s));
          end = Fate::kLost;
        } else if (fate[s] != Fate::kUnknown) {
          end = fate[s];
        } else {
          fate[s] = Fate::kOnTheWay;
          path.push_back(s);
          end = Hop(lid, place, entries[size_t{s} * kTile], s, walks);
        }
      }
      for (uint32_t passed : path) fate[passed] = end;
      if (end == Fate::kArrives || IsExempt(source, lid) || IsPending(source, lid)) continue;
      ++walks.unreachable;
      if (end == Fate::kLeftOut)
        walks.Add(fmt::format("{}: {} is led to a switch without a route to it",
                              wiring_.Name(source), wiring_.LidName(lid)));
    }
  }

  // Follows one entry: moves `s` on and returns kUnknown, or tells how the walk ends.
  Fate Hop(size_t lid, Place place, uint8_t out, uint32_t& s, Walks& walks) const {
    const auto lost = [&](const std::string& what) {
      walks.Add(fmt::format("{}: {} {}", wiring_.Name(s), wiring_.LidName(lid), what));
      return Fate::kLost;
    };
    if (s == place.at && out == place.port) return Fate::kArrives;
    if (out == kNoRoute)
      return IsExempt(s, lid) || IsPending(s, lid) ? Fate::kLeftOut : lost("has no route");
    if (out == 0) return lost("is delivered to this switch itself");
    const Far& far = wiring_.far(s, out);
    if (far.node == Far::kDead)
      return IsPending(s, lid) ? Fate::kLeftOut
                               : lost(fmt::format("leaves by port {}, which is down", out));
    if (far.node == Far::kEndPort)
      return lost(fmt::format("is delivered to {}", wiring_.PeerName(s, out)));
    s = far.node;
    return Fate::kUnknown;
  }

  std::string LoopText(size_t lid, const std::vector<uint32_t>& path, uint32_t again) const {
    const auto first = std::find(path.begin(), path.end(), again);
    std::string text = fmt::format("{} loops:", wiring_.LidName(lid));
    for (auto s = first; s != path.end() && s - first < std::ptrdiff_t{kMaxLoopShown}; ++s)
      text += fmt::format("{} {}", s == first ? "" : " ->", wiring_.Name(*s));
    return text + " -> back";
  }

  const RoutingPlan& plan_;
  const Wiring wiring_;
  Parallel parallel_;
  size_t tiles_ = 0;
  std::vector<LidAndSwitch> exempt_, pending_;  // Sorted.
  uint64_t fault_count_ = 0;
  VerifyReport report_;
};

}  // namespace

VerifyReport Verify(const FabricSnapshot& snapshot, const LidTable& lids, const RoutingPlan& plan,
                    int threads) {
  return Judge(snapshot, lids, plan, threads).Run();
}

}  // namespace fabricd::routing
