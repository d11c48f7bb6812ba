// SPDX-License-Identifier: Apache-2.0
#include "recorder/key_aliases.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "mad/wire/mad_header.h"
#include "mad/wire/node_info.h"
#include "mad/wire/notice.h"
#include "mad/wire/smp.h"
#include "sweep/device/m_keys.h"

namespace fabricd::recorder {
namespace {

// Unlikely to be a real key, and recognisable in a dump.
constexpr uint64_t kFirstAlias = 0xA11A'5000'0000'0001;

constexpr size_t kMKeyOffset = 24, kDataOffset = 64;
constexpr size_t kSmKeyOffset = kDataOffset + 8;  // SMInfo: GUID, SM_Key.
// A notice has 10 bytes before its details. The details of a violation have 12 more before the
// M_Key.
constexpr size_t kNoticeTrapOffset = kDataOffset + 4, kNoticeMKeyOffset = kDataOffset + 22;
constexpr uint16_t kTrapBadMKey = 256;

uint64_t ReadKey(std::span<const uint8_t> mad, size_t offset) {
  uint64_t key = 0;
  for (size_t i = 0; i < 8; ++i) key = key << 8 | mad[offset + i];
  return key;
}

void WriteKey(std::span<uint8_t> mad, size_t offset, uint64_t key) {
  for (size_t i = 0; i < 8; ++i) mad[offset + i] = static_cast<uint8_t>(key >> (8 * (7 - i)));
}

}  // namespace

uint64_t KeyAliases::AliasOf(uint64_t key) {
  if (key == 0) return 0;
  return aliases_.try_emplace(key, kFirstAlias + aliases_.size()).first->second;
}

void KeyAliases::Replace(sweep::CoreOptions& options) {
  options.sm.sm_key = SmKey(AliasOf(options.sm.sm_key.value()));
  options.sm.m_key = MKey(AliasOf(options.sm.m_key.value()));
  // In the order of GUIDs, so that hash order has no effect.
  std::vector<std::pair<Guid, MKey*>> keys;
  std::vector<Guid> guids;
  for (auto& [guid, key] : options.sm.m_key_by_guid) keys.emplace_back(guid, &key);
  for (const auto& [guid, key] : keys) guids.push_back(guid);
  for (const auto& [port, guid] : options.sm.neighbors) guids.push_back(guid);
  std::sort(keys.begin(), keys.end());
  for (const auto& [guid, key] : keys) *key = MKey(AliasOf(key->value()));
  for (MKey& key : options.sm.former_m_keys) key = MKey(AliasOf(key.value()));
  ReplaceSecret(options.sm.m_key_secret);
  for (std::string& secret : options.sm.former_m_key_secrets) ReplaceSecret(secret);
  for (const Guid guid : guids) Learn(guid);
}

void KeyAliases::ReplaceSecret(std::string& secret) {
  if (secret.empty()) return;
  auto known = std::find_if(secrets_.begin(), secrets_.end(),
                            [&](const auto& each) { return each.first == secret; });
  if (known == secrets_.end())
    known = secrets_.insert(known, {secret, fmt::format("secret {}", secrets_.size() + 1)});
  secret = known->second;
}

void KeyAliases::Learn(Guid port_guid) {
  for (const auto& [secret, alias] : secrets_)
    aliases_.try_emplace(sweep::DeriveMKey(secret, port_guid).value(),
                         sweep::DeriveMKey(alias, port_guid).value());
}

void KeyAliases::Replace(std::span<uint8_t> mad) {
  if (mad.size() < wire::kMadBytes) return;
  const auto header = wire::MadHeader::Decode(
      std::span<const uint8_t, wire::kMadBytes>(mad.data(), wire::kMadBytes));
  const bool is_smp = header.management_class == wire::ManagementClass::kSubnLidRouted ||
                      header.management_class == wire::ManagementClass::kSubnDirectedRoute;
  if (!is_smp) return;
  if (header.attribute == wire::AttributeId::kNodeInfo && header.method == wire::Method::kGetResp)
    Learn(wire::NodeInfo::Decode(std::span<const uint8_t, wire::kSmpDataBytes>(
                                     mad.data() + kDataOffset, wire::kSmpDataBytes))
              .port_guid);
  const auto replace = [&](size_t offset) { WriteKey(mad, offset, AliasOf(ReadKey(mad, offset))); };
  replace(kMKeyOffset);
  if (header.attribute == wire::AttributeId::kPortInfo) replace(kDataOffset);
  if (header.attribute == wire::AttributeId::kSmInfo) replace(kSmKeyOffset);
  const auto trap = static_cast<uint16_t>(mad[kNoticeTrapOffset] << 8 | mad[kNoticeTrapOffset + 1]);
  if (header.attribute == wire::AttributeId::kNotice && trap == kTrapBadMKey)
    replace(kNoticeMKeyOffset);
}

}  // namespace fabricd::recorder
