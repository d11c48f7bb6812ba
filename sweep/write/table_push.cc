// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/table_push.h"

#include <utility>

#include "common/check.h"

namespace fabricd::sweep {

TablePush::TablePush(std::vector<routing::TableWrite> writes)
    : writes_(std::move(writes)), left_(writes_.size()) {
  EnterStages();
}

// Enters the next stage that has writes, unless a stage has failed.
void TablePush::EnterStages() {
  while (ready_.empty() && outstanding_ == 0 && left_ > 0) {
    if (stage_failed_) {
      skipped_ += left_;
      left_ = 0;
      return;
    }
    const size_t begin = stage_end_;
    while (stage_end_ < writes_.size() && writes_[stage_end_].stage == writes_[begin].stage)
      ++stage_end_;
    chains_.clear();
    std::vector<uint16_t> blocks;  // By first write, so that hash order has no effect.
    for (size_t i = begin; i < stage_end_; ++i) {
      Chain& chain = chains_[writes_[i].block];
      if (chain.writes.empty()) blocks.push_back(writes_[i].block);
      chain.writes.push_back(static_cast<uint32_t>(i));
    }
    for (uint16_t block : blocks) Release(chains_[block]);
  }
}

// Makes the next wave ready.
void TablePush::Release(Chain& chain) {
  if (chain.failed) {
    const size_t rest = chain.writes.size() - chain.next;
    skipped_ += rest;
    left_ -= rest;
    chain.next = chain.writes.size();
    return;
  }
  if (chain.next == chain.writes.size()) return;
  const uint16_t wave = writes_[chain.writes[chain.next]].wave;
  while (chain.next < chain.writes.size() && writes_[chain.writes[chain.next]].wave == wave) {
    ready_.push_back(chain.writes[chain.next++]);
    ++chain.outstanding;
  }
}

std::optional<routing::TableWrite> TablePush::Next(const IsBusy& is_busy) {
  for (size_t looked = 0, size = ready_.size(); looked < size; ++looked) {
    const uint32_t index = ready_.front();
    ready_.pop_front();
    const routing::TableWrite& write = writes_[index];
    if (in_flight_.contains(KeyOf(write.node, write.block)) || is_busy(write.node, write.block)) {
      ready_.push_back(index);
      continue;
    }
    in_flight_.emplace(KeyOf(write.node, write.block), write);
    ++outstanding_;
    ++sent_;
    --left_;
    return write;
  }
  return std::nullopt;
}

void TablePush::OnAnswer(NodeIndex node, uint16_t block, bool ok) {
  FABRICD_CHECK(in_flight_.erase(KeyOf(node, block)) == 1, "block {} of node index {}", block,
                node);
  --outstanding_;
  Chain& chain = chains_[block];
  chain.failed |= !ok;
  stage_failed_ |= !ok;
  if (--chain.outstanding == 0) Release(chain);
  EnterStages();
}

}  // namespace fabricd::sweep
