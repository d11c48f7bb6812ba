// SPDX-License-Identifier: Apache-2.0
#include "routing/proof/order_proof.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "routing/plan/byte_scan.h"
#include "routing/plan/parallel.h"
#include "routing/proof/wiring.h"

namespace fabricd::routing {
namespace {

constexpr uint8_t kUp = 0x80, kDown = 0x40;  // As ByteScan::classify wants them.
constexpr size_t kBlock = Row::kBlock;
constexpr size_t kBlocks = Row::kPage / kBlock;  // Of one page.

uint64_t Bit(size_t i) { return uint64_t{1} << i; }

class OrderProof {
 public:
  OrderProof(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
             const RoutingPlan& plan, int threads)
      : plan_(plan), wiring_(snapshot, lids), parallel_(threads), scan_(Scan()) {}

  bool Holds() {
    if (!RowsAreWhole() || !SortByPosition()) return false;
    FillClasses();
    FindOwners();
    std::vector<uint8_t> holds(pages_, 0);
    parallel_.For(pages_, [&](size_t page) { holds[page] = PageHolds(page); });
    return std::find(holds.begin(), holds.end(), 0) == holds.end() && NobodyLeadsToExempt();
  }

 private:
  using Masks = std::vector<uint64_t>;

  const Row& row(uint32_t s) const { return *plan_.rows[wiring_.node(s).value()]; }
  uint32_t position(uint32_t s) const { return plan_.order[wiring_.node(s).value()]; }

  // One row for each switch and for nothing else, all of one length that holds every LID, in whole
  // blocks, with nothing beyond the end of the switch's table.
  bool RowsAreWhole() {
    size_t rows = 0;
    for (const auto& own : plan_.rows) rows += own != nullptr;
    if (rows != wiring_.size()) return false;
    for (uint32_t s = 0; s < wiring_.size(); ++s) {
      if (!plan_.HasRow(wiring_.node(s))) return false;
      if (row(s).size() % kBlock != 0 || row(s).size() != row(0).size()) return false;
      for (size_t lid = wiring_.lid_limit(s); lid < row(s).size(); ++lid)
        if (row(s)[lid] != kNoRoute) return false;
    }
    if (wiring_.size() > 0) pages_ = row(0).pages(), row_size_ = row(0).size();
    return wiring_.size() == 0 ||
           (row_size_ > plan_.lid_top.value() && row_size_ >= wiring_.lid_end());
  }

  bool SortByPosition() {
    if (plan_.order.size() < plan_.rows.size()) return false;
    ascending_.resize(wiring_.size());
    for (uint32_t s = 0; s < wiring_.size(); ++s) ascending_[s] = s;
    std::sort(ascending_.begin(), ascending_.end(),
              [&](uint32_t a, uint32_t b) { return position(a) < position(b); });
    for (size_t i = 1; i < ascending_.size(); ++i)
      if (position(ascending_[i - 1]) == position(ascending_[i])) return false;
    return true;
  }

  void FillClasses() {
    ports_ = wiring_.last_port() + size_t{1};
    classes_.assign(wiring_.size() * ports_, 0);
    for (uint32_t s = 0; s < wiring_.size(); ++s)
      for (size_t port = 1; port < ports_; ++port) {
        const Far& far = wiring_.far(s, static_cast<uint8_t>(port));
        // A cable of a switch to itself leads nowhere.
        if (far.IsSwitch() && far.node != s)
          classes_[s * ports_ + port] = position(far.node) > position(s) ? kUp : kDown;
      }
  }

  // Which LIDs each switch delivers, and which no switch of a component may have an entry for.
  void FindOwners() {
    for (uint32_t s = 0; s < wiring_.size(); ++s) {
      const auto [at, is_new] = component_.try_emplace(wiring_.component(s), absent_.size());
      if (is_new) absent_.emplace_back(pages_ * kBlocks, ~uint64_t{0});
      component_of_.push_back(at->second);
    }
    own_count_.assign(wiring_.size() * pages_, 0);
    for (size_t lid = 0; lid < row_size_; ++lid) {
      const Place place = wiring_.place(lid);
      if (place.at == Place::kNowhere) continue;
      absent_[component_of_[place.at]][lid / kBlock] &= ~Bit(lid % kBlock);
      ++own_count_[place.at * pages_ + lid / Row::kPage];
    }
    for (const ExemptPair& pair : plan_.exempt)
      exempt_.emplace_back(wiring_.number(pair.source_switch), pair.destination.value());
    std::sort(exempt_.begin(), exempt_.end());
  }

  bool IsExempt(uint32_t s, size_t lid) const {
    return !exempt_.empty() && std::binary_search(exempt_.begin(), exempt_.end(),
                                                  std::pair(s, static_cast<uint16_t>(lid)));
  }

  bool PageHolds(size_t page) const {
    // [switch * kBlocks + block] LIDs that are led down from there or delivered. Down links lead to
    // lower positions, so what is asked for has been filled in.
    Masks falls(wiring_.size() * kBlocks);
    return std::all_of(ascending_.begin(), ascending_.end(), [&](uint32_t s) {
      return EntriesHold(s, page, falls) && DownLinksHold(s, page, falls);
    });
  }

  bool EntriesHold(uint32_t s, size_t page, Masks& falls) const {
    const size_t size = row(s).PageSize(page);
    const uint8_t* entries = row(s).page(page);
    const uint64_t* absent = &absent_[component_of_[s]][page * kBlocks];
    uint64_t up[kBlocks];
    uint64_t* down = &falls[s * kBlocks];
    scan_.classify(&classes_[s * ports_], ports_, entries, size, up, down);
    uint32_t delivered = 0;
    for (size_t block = 0; block < size / kBlock; ++block) {
      const uint64_t other = ~(up[block] | down[block]);
      if (absent[block] && (absent[block] & ~scan_.find(entries + block * kBlock, kNoRoute)))
        return false;
      for (uint64_t left = other & ~absent[block]; left; left &= left - 1) {
        const auto i = static_cast<size_t>(std::countr_zero(left));
        const size_t lid = page * Row::kPage + block * kBlock + i;
        const uint8_t port = entries[block * kBlock + i];
        const Place place = wiring_.place(lid);
        if (place.at == s && place.port == port) {
          down[block] |= Bit(i);
          ++delivered;
        } else if (port != kNoRoute || !IsExempt(s, lid)) {
          return false;
        }
      }
    }
    return delivered == own_count_[s * pages_ + page] || OwnIsExempt(s, page);
  }

  // What is not delivered is exempt instead, and not led anywhere else.
  bool OwnIsExempt(uint32_t s, size_t page) const {
    const uint8_t* entries = row(s).page(page);
    for (size_t i = 0; i < row(s).PageSize(page); ++i) {
      const size_t lid = page * Row::kPage + i;
      const Place place = wiring_.place(lid);
      if (place.at == s && place.port != entries[i] && entries[i] != kNoRoute) return false;
    }
    return true;
  }

  bool DownLinksHold(uint32_t s, size_t page, const Masks& falls) const {
    const uint8_t* entries = row(s).page(page);
    for (size_t block = 0; block < row(s).PageSize(page) / kBlock; ++block) {
      uint64_t left = falls[s * kBlocks + block];
      while (left) {
        const uint8_t port = entries[block * kBlock + static_cast<size_t>(std::countr_zero(left))];
        const uint64_t same = scan_.find(entries + block * kBlock, port) & left;
        left &= ~same;
        const Far& far = wiring_.far(s, port);
        if (far.IsSwitch() && (same & ~falls[far.node * kBlocks + block])) return false;
      }
    }
    return true;
  }

  // A switch without a way to a LID must not be sent any of it.
  bool NobodyLeadsToExempt() const {
    for (const auto& [s, lid] : exempt_) {
      if (s == Wiring::kNone || lid >= row_size_ || row(s)[lid] != kNoRoute) continue;
      for (size_t port = 1; port < ports_; ++port) {
        const Far& far = wiring_.far(s, static_cast<uint8_t>(port));
        if (!far.IsSwitch()) continue;
        const Far& next = wiring_.far(far.node, row(far.node)[lid]);
        if (next.IsSwitch() && next.node == s) return false;
      }
    }
    return true;
  }

  const RoutingPlan& plan_;
  const Wiring wiring_;
  Parallel parallel_;
  const ByteScan& scan_;
  size_t pages_ = 0, row_size_ = 0;       // Of every row.
  size_t ports_ = 0;                      // One more than the highest of a link.
  std::vector<uint32_t> ascending_;       // Switches by position.
  std::vector<uint8_t> classes_;          // [switch * ports_ + port]
  std::map<uint32_t, size_t> component_;  // By lowest switch, into absent_.
  std::vector<size_t> component_of_;      // [switch] Into absent_.
  std::vector<Masks> absent_;             // [component][block] LIDs without an owner in it.
  std::vector<uint32_t> own_count_;       // [switch * pages_ + page] LIDs that it delivers.
  std::vector<std::pair<uint32_t, uint16_t>> exempt_;  // Switch, LID; sorted.
};

}  // namespace

bool OrderProves(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
                 const RoutingPlan& plan, int threads) {
  const bool ours = !plan.order.empty() && plan.lanes == 1 && plan.service_levels.empty() &&
                    plan.pending.empty() && plan.stale.empty();
  return ours && OrderProof(snapshot, lids, plan, threads).Holds();
}

VerifyReport VerifyOrdered(const fabric::FabricSnapshot& snapshot, const fabric::LidTable& lids,
                           const RoutingPlan& plan, int threads) {
  if (!OrderProves(snapshot, lids, plan, threads)) return Verify(snapshot, lids, plan, threads);
  VerifyReport report;
  report.ok = report.deadlock_free = report.by_order = true;
  return report;
}

}  // namespace fabricd::routing
