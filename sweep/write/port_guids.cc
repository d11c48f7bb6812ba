// SPDX-License-Identifier: Apache-2.0
#include "sweep/write/port_guids.h"

#include <algorithm>

namespace fabricd::sweep {
namespace {

constexpr size_t kEntries = wire::GuidInfo::kEntries;

}  // namespace

const wire::GuidInfo* PortGuids::Find(PortRef port, size_t block) const {
  const auto* held = applied_.FindGuids(port);
  return held == nullptr ? nullptr : held->Find(block);
}

std::vector<PortGuids::Read> PortGuids::Reads(const fabric::Node& node) const {
  std::vector<Read> reads;
  for (const auto& [ref, port] : node.EndPorts()) {
    if (!port.known) continue;
    const bool any = desired_.read_all && !node.IsSwitch() && port.info.guid_cap > 1;
    // Reads all blocks up to the last one with an allocation. So every earlier block without one is
    // either known, or is read too.
    size_t end = any ? 1 : 0;
    // Blocks that were requested but not returned.
    if (const auto* held = applied_.FindGuids(ref)) end = std::max(end, held->size());
    for (const fabric::AliasBlock& said : desired_.aliases->Of(port.guid))
      if (said.block * kEntries < port.info.guid_cap) end = std::max(end, said.block + size_t{1});
    for (size_t block = 0; block < end; ++block)
      if (Find(ref, block) == nullptr) reads.push_back({ref, static_cast<uint8_t>(block)});
  }
  return reads;
}

bool PortGuids::GoesOn(PortRef ref, uint8_t block, const wire::GuidInfo& info) const {
  const fabric::Port* port = snapshot_.port(ref);
  const bool empty =
      std::all_of(info.guids.begin(), info.guids.end(), [](Guid guid) { return !guid; });
  return desired_.read_all && port != nullptr && !empty &&
         (block + 1u) * kEntries < port->info.guid_cap && Find(ref, block + size_t{1}) == nullptr;
}

std::vector<PortGuids::Write> PortGuids::Writes(const fabric::Node& node) const {
  std::vector<Write> writes;
  for (const auto& [ref, port] : node.EndPorts()) {
    if (!port.known) continue;
    for (const fabric::AliasBlock& said : desired_.aliases->Of(port.guid)) {
      const wire::GuidInfo* held = Find(ref, said.block);
      if (held == nullptr) continue;
      wire::GuidInfo wanted = *held;
      for (size_t entry = 0; entry < kEntries; ++entry) {
        const size_t index = said.block * kEntries + entry;
        if ((said.said >> entry & 1) != 0 && index != 0 && index < port.info.guid_cap)
          wanted.guids[entry] = said.info.guids[entry];
      }
      if (wanted != *held || applied_.FindGuids(ref)->IsContradicted(said.block))
        writes.push_back({ref, said.block, wanted});
    }
  }
  return writes;
}

}  // namespace fabricd::sweep
