// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/key_search.h"

#include <algorithm>

#include "sweep/device/m_keys.h"

namespace fabricd::sweep {

bool KeySearch::HasDerived() const { return HasDerivedMKeys(*options_); }

void KeySearch::SetKnownPorts(const std::vector<Guid>& port_guids) {
  if (HasDerived()) away_.insert(port_guids.begin(), port_guids.end());
}

void KeySearch::NoteFound(Cable cable, Guid port_guid) {
  if (!GoByGuid()) return;
  away_.erase(port_guid);
  if (cable.first) found_[cable] = port_guid;
}

void KeySearch::NoteGone(Guid port_guid) {
  if (HasDerived() && port_guid) away_.insert(port_guid);
}

std::vector<MKey> KeySearch::Next(Cable cable, std::vector<MKey> likely) {
  std::vector<MKey> keys = std::move(likely);
  const auto add = [&](Guid guid) {
    for (const MKey key : PossibleMKeys(*options_, guid)) AddMKey(key, keys);
  };
  if (const auto found = found_.find(cable); found != found_.end())
    add(found->second);
  else if (const auto before = options_->neighbors.find(cable); before != options_->neighbors.end())
    add(before->second);
  add(Guid(0));
  for (size_t left = std::min(away_.size(), kMostMKeys - keys.size()); left > 0; --left) {
    auto next = away_.upper_bound(tried_);
    if (next == away_.end()) next = away_.begin();
    tried_ = *next;
    add(tried_);
  }
  if (keys.empty()) keys.push_back(MKey(0));
  return keys;
}

}  // namespace fabricd::sweep
