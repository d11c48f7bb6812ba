// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/applied_mft.h"

#include <algorithm>
#include <functional>

#include "fabric/multicast_groups.h"

namespace fabricd::sweep {
namespace {

constexpr uint16_t kAllPorts = 0xFFFF;

template <typename Combine>
AppliedMft::Block Combined(const AppliedMft::Block& a, const AppliedMft::Block& b, Combine&& how) {
  AppliedMft::Block result;
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<uint16_t>(how(a[i], b[i]));
  return result;
}

}  // namespace

void AppliedMft::Forget() {
  std::erase_if(blocks_, [](const auto& entry) {
    return !entry.second.flight || entry.second.flight->completed;
  });
  for (auto& [place, state] : blocks_) state.held = state.flight->before = std::nullopt;
  contradicted_.clear();
}

const AppliedMft::State* AppliedMft::Find(Place place) const {
  const auto it = blocks_.find(place);
  return it == blocks_.end() ? nullptr : &it->second;
}

bool AppliedMft::Knows(Place place) const {
  const State* state = Find(place);
  return state != nullptr && state->held && !state->flight;
}

AppliedMft::Block AppliedMft::Surely(Place place) const {
  const State* state = Find(place);
  if (state == nullptr || !state->held) return {};
  return state->flight ? Combined(*state->held, state->flight->bytes, std::bit_and<>())
                       : *state->held;
}

AppliedMft::Block AppliedMft::Possibly(Place place) const {
  const State* state = Find(place);
  Block anything;
  anything.fill(kAllPorts);
  if (state == nullptr || !state->held) return anything;
  return state->flight ? Combined(*state->held, state->flight->bytes, std::bit_or<>())
                       : *state->held;
}

bool AppliedMft::HasEntries() const {
  return std::any_of(blocks_.begin(), blocks_.end(),
                     [this](const auto& entry) { return Possibly(entry.first) != Block{}; });
}

void AppliedMft::AddMlids(std::set<Lid>& mlids) const {
  for (const auto& [place, state] : blocks_) {
    if (!state.held) continue;
    const Block block = Possibly(place);
    const size_t first = fabric::kFirstMulticastLid.value() + place.block * block.size();
    for (size_t i = 0; i < block.size(); ++i)
      if (block[i] != 0) mlids.insert(Lid(static_cast<uint16_t>(first + i)));
  }
}

std::shared_ptr<const routing::MulticastRow> AppliedMft::Row() const {
  routing::MulticastRow row;
  for (const auto& [place, state] : blocks_)
    if (state.held && *state.held != Block{})
      row.blocks.emplace_back(place, std::make_shared<const Block>(*state.held));
  return row.blocks.empty() ? nullptr : std::make_shared<const routing::MulticastRow>(row);
}

void AppliedMft::Confirm(Place place, const Block& block) {
  blocks_[place] = {block, std::nullopt};
  contradicted_.erase(place);
}

void AppliedMft::MarkSent(Place place, const Block& block) {
  std::optional<Block> before;
  if (Knows(place)) before = Possibly(place);
  State& state = blocks_[place];
  // If the content was unknown before, the block may now hold anything.
  state.held = before;
  state.flight = {block, before, false};
}

void AppliedMft::Complete(Place place) {
  if (const auto it = blocks_.find(place); it != blocks_.end() && it->second.flight)
    it->second.flight->completed = true;
}

void AppliedMft::MarkUnsent(Place place) {
  const auto it = blocks_.find(place);
  if (it == blocks_.end() || !it->second.flight) return;
  const std::optional<Block> before = it->second.flight->before;
  if (before)
    Confirm(place, *before);
  else
    blocks_.erase(it);
}

bool AppliedMft::IsInFlight(Place place) const {
  const State* state = Find(place);
  return state != nullptr && state->flight && !state->flight->completed;
}

void AppliedMft::AbandonInFlight() {
  for (auto& [place, state] : blocks_)
    if (state.flight) state.flight->completed = true;
}

}  // namespace fabricd::sweep
