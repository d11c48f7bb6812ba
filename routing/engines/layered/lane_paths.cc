// SPDX-License-Identifier: Apache-2.0
#include "routing/engines/layered/lane_paths.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "common/check.h"
#include "routing/engines/layered/path_chooser.h"
#include "routing/graph/lane_fan.h"
#include "routing/plan/no_index.h"

namespace fabricd::routing {
namespace {

constexpr uint8_t kDeliver = LaneWays::kDeliver, kNoWay = LaneWays::kNone;

class Finder {
 public:
  Finder(const SwitchGraph& graph, const ChannelGraph& channels, const Order& order,
         const TargetList& targets, const LaneSettings& settings, WorkBudget& budget)
      : budget_(budget),
        graph_(graph),
        channels_(channels),
        targets_(targets),
        settings_(settings),
        places_(UpDownPlaces(channels, order)),
        chooser_(graph, channels, order, targets, settings, lanes_, ways_),
        fits_(graph.size()),
        refused_(graph.size()) {
    ways_.switches = graph.size();
    ways_.load.assign(channels.size(), 0);
    ways_.out.assign(targets.targets.size() * graph.size(), kNoWay);
    lanes_.emplace_back(channels_, places_);
  }

  LaneWays Run() {
    if (settings_.up_down) return RunUpDown();
    for (uint32_t t : Sequence()) {
      if (failed_) break;
      const Target& target = targets_.targets[t];
      if (!target.carries || target.twin != Target::kNoTwin) continue;
      fan_ = &chooser_.MakeFan(target);
      chooser_.Choose(t);
      chooser_.Weigh(t);
      FitCarrying(t);
      Charge();
    }
    FinishOthers();
    if (failed_) return {};
    ways_.lanes = static_cast<uint8_t>(lanes_.size());
    ways_.ordered = lanes_.size() == 1 && !lanes_[0].HasMoved();
    return std::move(ways_);
  }

  // No dependency needs to be looked at: the rule allows no others than those of the order.
  LaneWays RunUpDown() {
    for (uint32_t t = 0; t < targets_.targets.size(); ++t) {
      const Target& target = targets_.targets[t];
      if (target.twin != Target::kNoTwin) continue;
      fan_ = &chooser_.MakeFan(target);
      chooser_.Choose(t);
      if (target.carries) chooser_.Weigh(t);
      Charge();
      if (failed_) return {};
    }
    CopyToTwins();
    ways_.ordered = true;
    return std::move(ways_);
  }

 private:
  // By class, loads do not depend on the sequence but lanes do: destinations far from each other
  // take turns, so that no lane fills up with the ways of one corner.
  std::vector<uint32_t> Sequence() const {
    const auto count = static_cast<uint32_t>(targets_.targets.size());
    std::vector<uint32_t> sequence(count);
    std::iota(sequence.begin(), sequence.end(), 0u);
    if (settings_.preference != Preference::kClass) return sequence;
    uint32_t step = std::max<uint32_t>(1, static_cast<uint32_t>(count * 0.618));
    while (std::gcd(step, count) > 1) ++step;
    for (uint32_t i = 0; i < count; ++i)
      sequence[i] = static_cast<uint32_t>(uint64_t{i} * step % count);
    return sequence;
  }
  // The work for one target.
  void Charge() {
    uint64_t steps = chooser_.steps();
    for (const ChannelOrder& order : lanes_) steps += order.steps();
    budget_.Spend(steps - std::exchange(charged_, steps));
    failed_ |= budget_.exceeded();
  }
  uint32_t HeadOf(uint32_t s, uint8_t out) const { return channels_.head[channels_.Of(s, out)]; }

  // Lanes for all sources with traffic through them, near to far; fits_ and refused_ hold for the
  // ways of this target only.
  void FitCarrying(uint32_t t) {
    if (fan_->order.empty()) return;
    uint8_t* out = &ways_.Out(t, 0);
    fits_[fan_->at] = kAllLanes, refused_[fan_->at] = 0;
    for (size_t i = 1; i < fan_->order.size() && !failed_; ++i) {
      const uint32_t s = fan_->order[i];
      if (chooser_.weight(s) == 0) continue;
      const uint32_t c = channels_.Of(s, out[s]), head = channels_.head[c];
      const uint8_t next = out[head];
      if (next == kDeliver) {
        fits_[s] = kAllLanes, refused_[s] = 0;
        continue;
      }
      if (lanes_.size() == 1 && (fits_[head] & 1) && lanes_[0].Add(c, next)) {
        fits_[s] = 1, refused_[s] = 0;
        continue;
      }
      ReadLanes(c, next, s, head);
      FirstFit(t, out, s);
    }
  }
  // Of the way that goes from s by channel c to `head` and on by `next`.
  void ReadLanes(uint32_t c, uint8_t next, uint32_t s, uint32_t head) {
    LaneSet has = 0, refuses = 0;
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      has |= static_cast<LaneSet>(lanes_[lane].Has(c, next) << lane);
      refuses |= static_cast<LaneSet>(lanes_[lane].Refuses(c, next) << lane);
    }
    fits_[s] = fits_[head] & has;
    refused_[s] = refused_[head] | refuses;
  }
  void FirstFit(uint32_t t, const uint8_t* out, uint32_t s) {
    for (size_t lane = 0;; ++lane) {
      if (lane == lanes_.size() && !OpenLane()) return;
      const auto bit = static_cast<LaneSet>(1u << lane);
      if (fits_[s] & bit || (!(refused_[s] & bit) && AddWay(lane, out, s))) {
        SetLane(t, s, static_cast<uint8_t>(lane));
        return;
      }
    }
  }
  bool OpenLane() {
    if (lanes_.size() >= settings_.lanes) {
      failed_ = true;
      return false;
    }
    lanes_.emplace_back(channels_, places_);
    return true;
  }
  void SetLane(uint32_t t, uint32_t s, uint8_t lane) {
    if (lane == 0) return;
    if (ways_.lane.empty()) ways_.lane.assign(ways_.out.size(), 0);
    ways_.lane[size_t{t} * ways_.switches + s] = lane;
  }
  // All dependencies of the way from s, or none.
  bool AddWay(size_t lane, const uint8_t* out, uint32_t s) {
    const auto bit = static_cast<LaneSet>(1u << lane);
    ChannelOrder& order = lanes_[lane];
    added_.clear();
    way_.clear();
    for (uint32_t x = s; !(fits_[x] & bit); x = HeadOf(x, out[x])) way_.push_back(x);
    // From the destination on, so that what is left over after a refusal was wanted by others too.
    for (size_t i = way_.size(); i-- > 0;) {
      const uint32_t c = channels_.Of(way_[i], out[way_[i]]);
      const uint8_t next = out[channels_.head[c]];
      if (order.Has(c, next)) continue;
      if (added_.empty() ? order.Add(c, next) : order.AddForNow(c, next)) {
        added_.emplace_back(c, next);
        continue;
      }
      for (const auto& [channel, taken] : added_) order.Remove(channel, taken);
      return false;
    }
    for (uint32_t x : way_) fits_[x] |= bit;
    return true;
  }

  // Entries without traffic. Grouped by switch, so that each fan is made once.
  void FinishOthers() {
    const auto count = static_cast<uint32_t>(targets_.targets.size());
    std::vector<uint32_t> sequence(count);
    std::iota(sequence.begin(), sequence.end(), 0u);
    std::stable_sort(sequence.begin(), sequence.end(), [&](uint32_t a, uint32_t b) {
      return targets_.targets[a].at < targets_.targets[b].at;
    });
    for (uint32_t t : sequence)
      if (!failed_ && targets_.targets[t].twin == Target::kNoTwin) {
        Finish(t);
        Charge();
      }
    if (!failed_) CopyToTwins();
  }
  void CopyToTwins() {
    for (uint32_t t = 0; t < targets_.targets.size(); ++t) {
      const uint32_t twin = targets_.targets[t].twin;
      if (twin == Target::kNoTwin) continue;
      ways_.CopyTarget(twin, t);
    }
  }

  // Keeps each entry whose dependency is there or agrees with the order; the others are left over.
  void Finish(uint32_t t) {
    fan_ = &chooser_.MakeFan(targets_.targets[t]);
    if (fan_->order.empty()) return;
    uint8_t* out = &ways_.Out(t, 0);
    out[fan_->at] = kDeliver;
    fits_[fan_->at] = kAllLanes;
    std::fill(refused_.begin(), refused_.end(), LaneSet{0});
    left_.clear();
    settled_.assign(1, fan_->at);
    for (size_t i = 1; i < fan_->order.size(); ++i) {
      const uint32_t s = fan_->order[i];
      if (out[s] != kNoWay && Keep(t, out, s)) {
        settled_.push_back(s);
        continue;
      }
      out[s] = kNoWay;
      left_.push_back(s);
    }
    if (left_.empty()) return;
    GrowLegal(t, out);
    GrowAny(t, out);
  }
  bool Keep(uint32_t t, const uint8_t* out, uint32_t s) {
    const uint32_t c = channels_.Of(s, out[s]), head = channels_.head[c];
    const uint8_t next = out[head];
    if (next == kNoWay) return false;
    fits_[s] = LegalLanes(c, next, fits_[head]);
    if (fits_[s] == 0) return false;
    Settle(t, s, c, next, Lane(t, s));
    return true;
  }
  uint8_t Lane(uint32_t t, uint32_t s) const { return ways_.Lane(t, s); }
  // Lanes of `among` that have the dependency; if none, one that would take it without a search.
  LaneSet LegalLanes(uint32_t c, uint8_t next, LaneSet among) const {
    if (next == kDeliver) return kAllLanes;
    LaneSet has = 0, agrees = 0;
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      const auto bit = static_cast<LaneSet>(1u << lane);
      if (!(among & bit)) continue;
      if (lanes_[lane].Has(c, next))
        has |= bit;
      else if (agrees == 0 && lanes_[lane].Agrees(c, next))
        agrees = bit;
    }
    return has ? has : agrees;
  }
  // The entry of s leaves by c; its lane is `lane` if that fits, else the first that does.
  void Settle(uint32_t t, uint32_t s, uint32_t c, uint8_t next, uint8_t lane) {
    if (!(fits_[s] >> lane & 1)) lane = static_cast<uint8_t>(__builtin_ctz(fits_[s]));
    if (next != kDeliver) {
      const bool added = lanes_[lane].Add(c, next);
      FABRICD_CHECK(added, "a lane refuses what agrees with its order");
    }
    if (lane != Lane(t, s)) {
      SetLane(t, s, lane);
      if (lane == 0) ways_.lane[size_t{t} * ways_.switches + s] = 0;
    }
  }

  // Entries for what is left over by dependencies that cost no search, whichever way is nearest.
  void GrowLegal(uint32_t t, uint8_t* out) {
    is_left_.assign(ways_.switches, 0);
    for (uint32_t s : left_) is_left_[s] = 1;
    size_t begin = 0;
    if (left_.size() < settled_.size()) {
      begin = settled_.size();
      for (uint32_t s : left_) TakeBest(t, out, s, [](uint32_t) { return true; });
    }
    round_.assign(ways_.switches, 0);
    uint32_t round = 0;
    while (begin < settled_.size()) {
      const size_t end = settled_.size();
      ++round;
      touched_.clear();
      for (size_t i = begin; i < end; ++i) {
        const uint32_t x = settled_[i];
        round_[x] = round;
        for (uint32_t n = graph_.neighbor_begin[x]; n < graph_.neighbor_begin[x + 1]; ++n)
          if (const uint32_t y = graph_.neighbors[n].head; is_left_[y] == 1) {
            is_left_[y] = 2;
            touched_.push_back(y);
          }
      }
      begin = end;
      for (uint32_t y : touched_) {
        is_left_[y] = 1;
        TakeBest(t, out, y, [&](uint32_t x) { return round_[x] == round; });
      }
    }
    left_.erase(
        std::remove_if(left_.begin(), left_.end(), [&](uint32_t s) { return !is_left_[s]; }),
        left_.end());
  }
  // Gives s the first legal entry to a settled neighbour, one whose dependency exists if possible.
  template <typename Wanted>
  void TakeBest(uint32_t t, uint8_t* out, uint32_t s, Wanted&& wanted) {
    uint32_t best = kNone;
    LaneSet lanes = 0;
    for (uint32_t c = channels_.begin[s]; c < channels_.begin[s + 1]; ++c) {
      const uint32_t head = channels_.head[c];
      if (out[head] == kNoWay || is_left_[head] || !wanted(head)) continue;
      const LaneSet legal = LegalLanes(c, out[head], fits_[head]);
      if (legal == 0) continue;
      const bool exists = out[head] == kDeliver ||
                          lanes_[static_cast<size_t>(__builtin_ctz(legal))].Has(c, out[head]);
      if (best == kNone || exists) best = c, lanes = legal;
      if (exists) break;
    }
    if (best == kNone) return;
    out[s] = channels_.OutOf(best);
    fits_[s] = lanes;
    Settle(t, s, best, out[channels_.head[best]], 0);
    is_left_[s] = 0;
    settled_.push_back(s);
  }
  // Whatever some lane accepts; a new one in the end.
  void GrowAny(uint32_t t, uint8_t* out) {
    for (bool progress = true; progress && !left_.empty() && !failed_;) {
      progress = false;
      for (uint32_t& s : left_) {
        for (uint32_t c = channels_.begin[s]; c < channels_.begin[s + 1] && out[s] == kNoWay; ++c) {
          const uint32_t head = channels_.head[c];
          if (out[head] == kNoWay) continue;
          out[s] = channels_.OutOf(c);
          ReadLanes(c, out[head], s, head);
          size_t lane = 0;
          while (lane < lanes_.size() && (refused_[s] >> lane & 1 || !AddWay(lane, out, s))) ++lane;
          if (lane == lanes_.size())
            out[s] = kNoWay;
          else
            SetLane(t, s, static_cast<uint8_t>(lane));
        }
        if (out[s] == kNoWay) continue;
        progress = true;
        s = kNone;
      }
      left_.erase(std::remove(left_.begin(), left_.end(), kNone), left_.end());
      if (!progress && !left_.empty() && OpenLane()) progress = true;
    }
  }

  WorkBudget& budget_;
  uint64_t charged_ = 0;
  const SwitchGraph& graph_;
  const ChannelGraph& channels_;
  const TargetList& targets_;
  const LaneSettings& settings_;
  const std::vector<uint32_t> places_;  // Of channels, as every lane starts.
  LaneWays ways_;
  std::vector<ChannelOrder> lanes_;
  bool failed_ = false;
  PathChooser chooser_;
  const Fan* fan_ = nullptr;      // Of the target.
  std::vector<LaneSet> fits_;     // [switch] Lanes that have all of its way.
  std::vector<LaneSet> refused_;  // [switch] Lanes that refuse some part of it.
  std::vector<std::pair<uint32_t, uint8_t>> added_;
  std::vector<uint32_t> way_, left_, settled_, touched_, round_;
  std::vector<uint8_t> is_left_;
};

}  // namespace

uint32_t LaneWays::MostLoad() const {
  return load.empty() ? 0 : *std::max_element(load.begin(), load.end());
}

void LaneWays::CopyTarget(size_t from, size_t to) {
  const auto copy = [&](std::vector<uint8_t>& bytes) {
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(from * switches);
    std::copy_n(first, switches, bytes.begin() + static_cast<std::ptrdiff_t>(to * switches));
  };
  copy(out);
  if (!lane.empty()) copy(lane);
}

LaneWays FindLaneWays(const SwitchGraph& graph, const ChannelGraph& channels, const Order& order,
                      const TargetList& targets, const LaneSettings& settings, WorkBudget& budget) {
  return Finder(graph, channels, order, targets, settings, budget).Run();
}

}  // namespace fabricd::routing
