// SPDX-License-Identifier: Apache-2.0
#include "routing/repair/block_repair.h"

#include <algorithm>
#include <bit>

#include "common/check.h"
#include "routing/plan/no_index.h"

namespace fabricd::routing {
namespace {

constexpr uint32_t kMostHops = 254;

constexpr BlockResult::Entries MakeEmpty() {
  BlockResult::Entries entries{};
  for (uint8_t& entry : entries) entry = kNoRoute;
  return entries;
}
constexpr BlockResult::Entries kEmpty = MakeEmpty();

constexpr uint64_t Bit(uint32_t lid) { return uint64_t{1} << lid; }

}  // namespace

BlockRepair::BlockRepair(const RepairView& view)
    : view_(view),
      links_(*view.links),
      own_(links_.size(), kNone),
      seen_(links_.size(), 0),
      broken_(links_.size(), 0),
      is_member_(links_.size(), 0),
      used_(links_.size(), 0),
      down_(links_.size(), kNoHops),
      hops_(links_.size(), kNoHops) {}

BlockResult BlockRepair::Run(const BlockTask& task) {
  Start(task);
  FindUpstream();
  FindUsed();
  MendUsed();
  uint64_t unsolved = task.anywhere & placed_;
  for (const Record& record : records_) {
    const uint64_t left = record.lids & ~record.mended;
    const bool all = record.must || !view_.urgent;
    unsolved |= all ? left : links_.end_ports(record.at) ? left & hosts_ : 0;
  }
  ForEachBit(unsolved, [&](uint32_t lid) {
    if (!result_.needs_components) Solve(lid);
  });
  MendFree();
  LeavePending();
  Finish();
  return std::move(result_);
}

void BlockRepair::FetchAhead(const std::vector<const BlockTask*>& tasks) {
  constexpr int kHops = 3;  // The last of a tree's ways are known by then.
  steps_.clear();
  for (const BlockTask* task : tasks)
    for (const BlockTask::Broken& broken : task->broken)
      if (!broken.must && broken.at < view_.old_links->size())
        AddSteps(broken, task->block * static_cast<uint32_t>(Row::kBlock));
  for (int hop = 0; hop < kHops; ++hop) FetchSteps();
}

// Both ways of each LID: the one it had, and the one that will be tried first.
void BlockRepair::AddSteps(const BlockTask::Broken& broken, uint32_t first_lid) {
  const uint32_t s = broken.at;
  if (std::popcount(broken.lids) > 4) return;  // Many of one block share most of their ways.
  uint32_t ordinal = broken.ordinal + view_.position[s];
  bool listed = false, listed_up = false;
  ForEachBit(broken.lids, [&](uint32_t i) {
    const uint32_t lid = first_lid + i;
    const Row* row = view_.rows[s];
    if (!row || lid >= row->size()) return;
    const FarEnd old = view_.old_links->far(s, (*row)[lid]);
    if (!old.IsSwitch() || links_.place(lid).IsNowhere()) return;
    const bool up = IsUp(s, old.head);
    if (!listed || listed_up != up) ListPorts(s, up);
    listed = true, listed_up = up;
    steps_.push_back({old.head, lid});
    if (!ports_.empty())
      steps_.push_back({links_.far(s, ports_[ordinal % ports_.size()]).head, lid});
    ++ordinal;
  });
}

void BlockRepair::FetchSteps() {
  const auto row = [&](const Step& step) { return view_.rows[step.at]; };
  const auto ends = [&](const Step& step) {
    const Row* found = step.at < view_.rows.size() ? row(step) : nullptr;
    return !found || step.at == links_.place(step.lid).at;
  };
  steps_.erase(std::remove_if(steps_.begin(), steps_.end(), ends), steps_.end());
  for (const Step& step : steps_)
    __builtin_prefetch(row(step)->PlaceOfBlock(step.lid / Row::kBlock));
  const auto fits = [&](const Step& step) { return step.lid / Row::kBlock < view_.full_blocks; };
  for (const Step& step : steps_)
    if (fits(step)) __builtin_prefetch(row(step)->block(step.lid / Row::kBlock));
  for (const Step& step : steps_)
    if (fits(step)) __builtin_prefetch(links_.Ports(step.at) + (*row(step))[step.lid]);
  for (Step& step : steps_) {
    const FarEnd far = fits(step) ? links_.far(step.at, (*row(step))[step.lid]) : FarEnd{};
    step.at = far.IsSwitch() ? far.head : kNone;
  }
}

void BlockRepair::Start(const BlockTask& task) {
  task_ = &task;
  result_ = {};
  first_lid_ = task.block * static_cast<uint32_t>(Row::kBlock);
  hosts_ = placed_ = 0;
  for (uint32_t lid = 0; lid < Row::kBlock; ++lid) {
    const LidPlace at = place(lid);
    if (at.IsNowhere()) continue;
    placed_ |= Bit(lid);
    if (!at.IsSwitch()) hosts_ |= Bit(lid);
  }
  for (const BlockTask::Write& write : task.writes) Set(write.at, write.lid, write.value);
  for (const BlockTask::Broken& broken : task.broken) {
    uint64_t lids = broken.lids & placed_ & ~task.anywhere;
    if (!view_.components.empty())
      ForEachBit(lids, [&](uint32_t lid) {
        if (IsWanted(broken.at, lid)) return;
        lids &= ~Bit(lid);
        result_.stale |= Bit(lid);
      });
    AddRecord(broken.at, kNone, lids, broken.ordinal, broken.must);
  }
}

void BlockRepair::Finish() {
  for (uint32_t s : touched_) seen_[s] = broken_[s] = 0;
  touched_.clear();
  records_.clear();
  for (const auto& [s, entries] : result_.changed) own_[s] = kNone;
  std::sort(result_.changed.begin(), result_.changed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
}

const uint8_t* BlockRepair::OldEntries(uint32_t s) const {
  const Row* row = s < view_.rows.size() ? view_.rows[s] : nullptr;
  const bool has = row && (task_->block < view_.full_blocks || task_->block < row->blocks());
  return has ? row->block(task_->block) : kEmpty.data();
}

const uint8_t* BlockRepair::Entries(uint32_t s) const {
  return own_[s] == kNone ? OldEntries(s) : result_.changed[own_[s]].second.data();
}

void BlockRepair::Set(uint32_t s, uint32_t lid, uint8_t value) {
  if (own_[s] == kNone) {
    BlockResult::Entries entries;
    std::copy_n(OldEntries(s), Row::kBlock, entries.begin());
    own_[s] = static_cast<uint32_t>(result_.changed.size());
    result_.changed.emplace_back(s, entries);
  }
  result_.changed[own_[s]].second[lid] = value;
}

bool BlockRepair::IsWanted(uint32_t s, uint32_t lid) const {
  return view_.components.empty() || view_.components[s] == view_.components[place(lid).at];
}

void BlockRepair::AddRecord(uint32_t at, uint32_t parent, uint64_t lids, uint32_t ordinal,
                            bool must) {
  lids &= ~seen_[at];
  if (lids == 0) return;
  if (seen_[at] == 0) touched_.push_back(at);
  seen_[at] |= lids;
  broken_[at] |= lids;
  records_.push_back({at, parent, lids, 0, 0, ordinal, must});
}

// What leads to a broken entry is broken. Behind a switch with hosts nobody needs to look: it is
// the first to choose anew, and then all behind it arrive again.
void BlockRepair::FindUpstream() {
  for (uint32_t r = 0; r < records_.size(); ++r) {
    const Record& record = records_[r];
    const uint64_t stop = record.must || links_.end_ports(record.at) ? hosts_ : 0;
    if (record.lids & ~stop) FindUpstreamOf(r, record.lids & ~stop);
  }
}

void BlockRepair::FindUpstreamOf(uint32_t record, uint64_t lids) {
  const uint32_t s = records_[record].at;
  const FarEnd* far = links_.Ports(s);
  const uint32_t end = links_.ports(s);
  for (uint32_t port = 1; port < end; ++port)
    if (far[port].IsSwitch()) __builtin_prefetch(Entries(far[port].head));
  for (uint32_t port = 1; port < end; ++port) {
    if (!far[port].IsSwitch() || far[port].head == s) continue;
    const uint64_t found = EqualMask(Entries(far[port].head), far[port].port) & lids;
    if (found) AddRecord(far[port].head, record, found, 0, false);
  }
}

void BlockRepair::FindUsed() {
  for (auto record = records_.rbegin(); record != records_.rend(); ++record) {
    if (links_.end_ports(record->at)) record->used |= record->lids & hosts_;
    if (record->parent != kNone) records_[record->parent].used |= record->used;
  }
}

void BlockRepair::MarkMended(Record& record, uint64_t lids) {
  record.mended |= lids;
  broken_[record.at] &= ~lids;
}

void BlockRepair::PassOn(Record& record) {
  if (record.parent != kNone) MarkMended(record, record.lids & records_[record.parent].mended);
}

// Nearest to the break first: what is mended there need not be mended further up.
void BlockRepair::MendUsed() {
  constexpr size_t kBatch = 16;
  for (size_t r = 0; r < records_.size(); ++r) {
    if (r % kBatch == 0) FetchRecords(r, std::min(r + kBatch, records_.size()));
    Record& record = records_[r];
    PassOn(record);
    ForEachBit(record.used & ~record.mended, [&](uint32_t lid) {
      if (MendLikeBefore(record, lid)) MarkMended(record, Bit(lid));
    });
  }
}

// Asks memory for what the next records will most likely look at, for all of them at once: the
// ports, then the table of the switch to be tried first, then what its entry leads to.
void BlockRepair::FetchRecords(size_t begin, size_t end) {
  struct Next {
    uint32_t lid, head;
  };
  std::array<Next, 16> next;
  for (size_t r = begin; r < end; ++r) {
    const auto* ports = reinterpret_cast<const char*>(links_.Ports(records_[r].at));
    for (uint32_t line = 0; line < links_.ports(records_[r].at) * sizeof(FarEnd); line += 64)
      __builtin_prefetch(ports + line);
  }
  for (size_t r = begin; r < end; ++r) {
    const Record& record = records_[r];
    const uint64_t lids = record.used & ~record.mended;
    next[r - begin] = {0, kNone};
    if (lids == 0) continue;
    const auto lid = static_cast<uint32_t>(std::countr_zero(lids));
    next[r - begin] = {lid, FirstHead(record, lid)};
  }
  const auto for_each = [&](auto&& visit) {
    for (size_t i = 0; i < end - begin; ++i)
      if (next[i].head != kNone) visit(next[i]);
  };
  for_each(
      [&](const Next& n) { __builtin_prefetch(view_.rows[n.head]->PlaceOfBlock(task_->block)); });
  for_each([&](const Next& n) { __builtin_prefetch(Entries(n.head) + n.lid); });
  for_each(
      [&](const Next& n) { __builtin_prefetch(links_.Ports(n.head) + Entries(n.head)[n.lid]); });
}

// Where MendLikeBefore() will look first; a guess is good enough.
uint32_t BlockRepair::FirstHead(const Record& record, uint32_t lid) {
  const uint32_t s = record.at;
  if (record.must || s >= view_.old_links->size()) return kNone;
  const FarEnd old = view_.old_links->far(s, OldEntries(s)[lid]);
  if (!old.IsSwitch()) return kNone;
  ListPorts(s, IsUp(s, old.head));
  if (ports_.empty()) return kNone;
  const uint32_t head = links_.far(s, ports_[StartOf(record, lid) % ports_.size()]).head;
  return head < view_.rows.size() && view_.rows[head] ? head : kNone;
}

// Those that rise, or those that fall.
void BlockRepair::ListPorts(uint32_t s, bool up) {
  ports_.clear();
  const FarEnd* far = links_.Ports(s);
  for (uint32_t port = 1; port < links_.ports(s); ++port)
    if (far[port].IsSwitch() && far[port].head != s && IsUp(s, far[port].head) == up)
      ports_.push_back(static_cast<uint8_t>(port));
}

// Sources start at different ports: what they all have to move must not pile up at the next.
uint32_t BlockRepair::StartOf(const Record& record, uint32_t lid) const {
  return record.ordinal + static_cast<uint32_t>(std::popcount(record.lids & (Bit(lid) - 1))) +
         view_.position[record.at];
}

// What stands in a block that is written anyway costs nothing.
void BlockRepair::MendFree() {
  for (Record& record : records_) {
    PassOn(record);
    if (own_[record.at] == kNone) continue;
    ForEachBit(record.lids & ~record.mended, [&](uint32_t lid) {
      if (MendLikeBefore(record, lid)) MarkMended(record, Bit(lid));
    });
  }
}

void BlockRepair::LeavePending() {
  for (const Record& record : records_)
    if (record.lids & ~record.mended)
      result_.pending.emplace_back(record.at, record.lids & ~record.mended);
  std::sort(result_.pending.begin(), result_.pending.end());
}

// Hops from a switch to where the LID hangs; kNoHops: does not arrive, or rises after it fell
// (down_only: rises at all).
uint32_t BlockRepair::Walk(uint32_t from, uint32_t lid, bool down_only) const {
  const LidPlace to = place(lid);
  uint32_t s = from;
  bool falls = down_only;
  for (uint32_t hops = 0; hops <= kMostHops; ++hops) {
    if (s == to.at) {
      // Nearly always right, and then not worth a look at one more table.
      const bool sure = hops > 0 && !((seen_[s] | task_->anywhere) & Bit(lid));
      return sure || Entries(s)[lid] == to.port ? hops : kNoHops;
    }
    const FarEnd far = links_.far(s, Entries(s)[lid]);
    if (!far.IsSwitch()) return kNoHops;
    const bool up = !IsUp(far.head, s);
    if (falls && up) return kNoHops;
    falls |= !up;
    s = far.head;
  }
  return kNoHops;
}

uint32_t BlockRepair::OldWalk(uint32_t from, uint32_t lid) const {
  const LidPlace to = view_.old_links->place(first_lid_ + lid);
  uint32_t s = from;
  for (uint32_t hops = 0; hops <= kMostHops; ++hops) {
    if (s == to.at) return hops;
    const FarEnd far = view_.old_links->far(s, OldEntries(s)[lid]);
    if (!far.IsSwitch()) return kNoHops;
    s = far.head;
  }
  return kNoHops;
}

// Another port for one entry, so that the way is as long as before and rises or falls as before:
// nobody else has to know. First the other cables to the same switch.
bool BlockRepair::MendLikeBefore(Record& record, uint32_t lid) {
  const uint32_t s = record.at;
  if (s >= view_.old_links->size()) return false;
  const FarEnd old = view_.old_links->far(s, OldEntries(s)[lid]);
  const uint32_t hops = old.IsSwitch() ? OldWalk(s, lid) : kNoHops;
  if (hops == kNoHops || old.head == s) return false;
  const bool up = IsUp(s, old.head);
  const uint32_t start = StartOf(record, lid);
  if (record.parent == kNone) {
    const FarEnd* far = links_.Ports(s);
    ports_.clear();
    for (uint32_t port = 1; port < links_.ports(s); ++port)
      if (far[port].head == old.head) ports_.push_back(static_cast<uint8_t>(port));
    if (TakePort(s, lid, start - view_.position[s], hops, !up)) return true;
  }
  ListPorts(s, up);
  return TakePort(s, lid, start, hops, !up);
}

// The first of ports_ from `start` on that brings the LID home; of several LIDs of one end port
// each goes by another neighbour, or else by another cable, as far as there are any.
bool BlockRepair::TakePort(uint32_t s, uint32_t lid, uint32_t start, uint32_t most_hops,
                           bool down_only) {
  const auto count = static_cast<uint32_t>(ports_.size());
  const bool alone = place(lid ^ 1) != place(lid);
  for (uint32_t crowding = 0; crowding < (alone ? 1 : 4); ++crowding)
    for (uint32_t i = 0; i < count; ++i) {
      const uint8_t port = ports_[(start + i) % count];
      if (!alone && Crowding(s, lid, port) != crowding) continue;
      const uint32_t head = links_.far(s, port).head;
      if ((broken_[head] & Bit(lid)) || Walk(head, lid, down_only) >= most_hops) continue;
      Set(s, lid, port);
      return true;
    }
  return false;
}

// 0: no other LID of the same end port goes by this neighbour. 1: by another cable to it. 3: by the
// same cable.
uint32_t BlockRepair::Crowding(uint32_t s, uint32_t lid, uint8_t port) const {
  const LidPlace to = place(lid);
  const uint32_t head = links_.far(s, port).head;
  const uint8_t* entries = Entries(s);
  uint32_t crowding = 0;
  for (uint32_t other = 0; other < Row::kBlock; ++other) {
    if (other == lid || place(other) != to) continue;
    if (links_.far(s, entries[other]).head == head) crowding |= 1;
    if (entries[other] == port) crowding |= 2;
  }
  return crowding;
}

// All that fails for one LID, whatever it takes: shorter or longer ways, other classes.
void BlockRepair::Solve(uint32_t lid) {
  if (!SolveAmong(lid, false) && !result_.needs_components) SolveAmong(lid, true);
  for (Record& record : records_) MarkMended(record, record.lids & Bit(lid));
}

// False: some switch has no way as long as those that still arrive keep theirs.
bool BlockRepair::SolveAmong(uint32_t lid, bool all) {
  members_.clear();
  all ? CollectAll(lid) : CollectBroken(lid);
  std::sort(members_.begin(), members_.end(),
            [&](uint32_t a, uint32_t b) { return view_.position[a] < view_.position[b]; });
  FindHops(lid);
  bool served = true;
  for (uint32_t s : members_) {
    if (hops_[s] != kNoHops || !IsWanted(s, lid)) continue;
    served = false;
    result_.needs_components = view_.components.empty();
    if (all) result_.unserved_at = s, result_.unserved_lid = first_lid_ + lid;
  }
  if (served || (all && !result_.needs_components)) {
    // Whoever sends comes before what it sends to.
    for (uint32_t s : members_)
      if (down_[s] == kNoHops) Choose(s, lid, all);
    for (auto s = members_.rbegin(); s != members_.rend(); ++s)
      if (down_[*s] != kNoHops) Choose(*s, lid, all);
    served = true;
  }
  for (uint32_t s : members_) {
    is_member_[s] = used_[s] = 0;
    down_[s] = hops_[s] = kNoHops;
  }
  return served;
}

void BlockRepair::CollectAll(uint32_t lid) {
  for (uint32_t s = 0; s < links_.size(); ++s)
    if (links_.IsAlive(s) && IsWanted(s, lid)) members_.push_back(s), is_member_[s] = 1;
}

void BlockRepair::CollectBroken(uint32_t lid) {
  const auto add = [&](uint32_t s) {
    if (is_member_[s]) return;
    is_member_[s] = 1;
    members_.push_back(s);
  };
  if (task_->anywhere & Bit(lid)) {
    for (uint32_t s = 0; s < links_.size(); ++s)
      if (links_.IsAlive(s) && Walk(s, lid, false) == kNoHops) add(s);
    return;
  }
  for (const Record& record : records_)
    if (record.lids & ~record.mended & Bit(lid)) add(record.at);
  for (size_t next = 0; next < members_.size(); ++next) {
    const uint32_t s = members_[next];
    for (uint32_t port = 1; port < links_.ports(s); ++port) {
      const FarEnd far = links_.Ports(s)[port];
      if (far.IsSwitch() && far.head != s && Entries(far.head)[lid] == far.port) add(far.head);
    }
  }
}

// The best that the order allows each member, the others staying as they are.
void BlockRepair::FindHops(uint32_t lid) {
  const LidPlace to = place(lid);
  const bool host = hosts_ & Bit(lid);
  const auto best = [&](uint32_t s, bool up) {
    uint32_t hops = kNoHops;
    for (uint32_t port = 1; port < links_.ports(s); ++port) {
      const FarEnd far = links_.Ports(s)[port];
      if (!far.IsSwitch() || far.head == s || IsUp(s, far.head) != up) continue;
      hops = std::min(hops, HopsFrom(far.head, lid, !up) + 1);
    }
    return hops > kMostHops ? kNoHops : hops;
  };
  for (uint32_t s : members_) {
    down_[s] = s == to.at ? 0 : best(s, false);
    used_[s] = host && links_.end_ports(s) > 0;
  }
  for (auto s = members_.rbegin(); s != members_.rend(); ++s)
    hops_[*s] = down_[*s] != kNoHops ? down_[*s] : best(*s, true);
}

uint32_t BlockRepair::HopsFrom(uint32_t x, uint32_t lid, bool down_only) const {
  if (is_member_[x]) return down_only ? down_[x] : hops_[x];
  return Walk(x, lid, down_only);
}

// Of the way by one port, if it rises or falls as this switch has to; kNoHops otherwise.
uint32_t BlockRepair::HopsBy(uint32_t s, uint8_t port, uint32_t lid) const {
  const FarEnd far = links_.far(s, port);
  const bool down = down_[s] != kNoHops;
  if (!far.IsSwitch() || far.head == s || IsUp(s, far.head) == down) return kNoHops;
  const uint32_t hops = HopsFrom(far.head, lid, down);
  return hops >= kMostHops ? kNoHops : hops + 1;
}

void BlockRepair::Choose(uint32_t s, uint32_t lid, bool all) {
  const uint8_t now = Entries(s)[lid];
  if (s == place(lid).at) {
    if (now != place(lid).port) Set(s, lid, place(lid).port);
    return;
  }
  if (hops_[s] == kNoHops) {
    // A packet that goes on by an old entry could now rise again after it fell.
    if (links_.far(s, now).head != FarEnd::kDead) Set(s, lid, kNoRoute);
    result_.stale |= Bit(lid);
    return;
  }
  const auto pass_use = [&](uint8_t port) {
    const uint32_t head = links_.far(s, port).head;
    used_[head] |= is_member_[head] & used_[s];
  };
  const uint32_t kept = HopsBy(s, now, lid);
  if (kept != kNoHops && (all || !used_[s] || kept == hops_[s])) return pass_use(now);
  ports_.clear();
  for (uint32_t port = 1; port < links_.ports(s); ++port)
    if (HopsBy(s, static_cast<uint8_t>(port), lid) == hops_[s])
      ports_.push_back(static_cast<uint8_t>(port));
  uint32_t start = first_lid_ + lid;
  for (const BlockTask::Broken& broken : task_->broken)
    if (broken.at == s && (broken.lids & Bit(lid)) && !broken.must)
      start = broken.ordinal + view_.position[s] +
              static_cast<uint32_t>(std::popcount(broken.lids & (Bit(lid) - 1)));
  const auto count = static_cast<uint32_t>(ports_.size());
  const bool alone = place(lid ^ 1) != place(lid);
  FABRICD_CHECK(count > 0, "no port of switch {} gives the hops found", s);
  for (uint32_t crowding = 0;; ++crowding)
    for (uint32_t i = 0; i < count; ++i) {
      const uint8_t port = ports_[(start + i) % count];
      if (!alone && Crowding(s, lid, port) != crowding) continue;
      Set(s, lid, port);
      return pass_use(port);
    }
}

}  // namespace fabricd::routing
