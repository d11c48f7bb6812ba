// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/m_keys.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "common/check.h"

namespace fabricd::sweep {
namespace {

constexpr std::string_view kPurpose = "fabricd M_Key 1";

}  // namespace

MKey DeriveMKey(std::string_view secret, Guid port_guid) {
  std::string message(kPurpose);
  for (int shift = 56; shift >= 0; shift -= 8)
    message.push_back(static_cast<char>(port_guid.value() >> shift));
  std::array<uint8_t, 32> digest{};
  const uint8_t* const made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                   reinterpret_cast<const uint8_t*>(message.data()), message.size(),
                                   digest.data(), nullptr);
  FABRICD_CHECK(made != nullptr, "OpenSSL has no HMAC-SHA256");
  uint64_t key = 0;
  for (size_t i = 0; i < sizeof(key); ++i) key = key << 8 | digest[i];
  return MKey(key == 0 ? 1 : key);
}

bool HasDerivedMKeys(const SmOptions& options) {
  return !options.m_key_secret.empty() || !options.former_m_key_secrets.empty();
}

MKey WantedMKey(const SmOptions& options, Guid port_guid) {
  if (!options.m_key_secret.empty()) return DeriveMKey(options.m_key_secret, port_guid);
  const auto own = options.m_key_by_guid.find(port_guid);
  return own == options.m_key_by_guid.end() ? options.m_key : own->second;
}

bool IsFormerMKey(const SmOptions& options, Guid port_guid, MKey m_key) {
  const auto& keys = options.former_m_keys;
  const auto& secrets = options.former_m_key_secrets;
  return std::find(keys.begin(), keys.end(), m_key) != keys.end() ||
         std::any_of(secrets.begin(), secrets.end(), [&](const std::string& secret) {
           return DeriveMKey(secret, port_guid) == m_key;
         });
}

void AddMKey(MKey m_key, std::vector<MKey>& keys) {
  const bool is_new = std::find(keys.begin(), keys.end(), m_key) == keys.end();
  if (m_key && is_new && keys.size() < kMostMKeys) keys.push_back(m_key);
}

std::vector<MKey> PossibleMKeys(const SmOptions& options, Guid port_guid) {
  std::vector<MKey> keys;
  if (port_guid) {
    AddMKey(WantedMKey(options, port_guid), keys);
    const auto own = options.m_key_by_guid.find(port_guid);
    if (own != options.m_key_by_guid.end()) AddMKey(own->second, keys);
    for (const std::string& secret : options.former_m_key_secrets)
      AddMKey(DeriveMKey(secret, port_guid), keys);
  }
  AddMKey(options.m_key, keys);
  for (const MKey former : options.former_m_keys) AddMKey(former, keys);
  if (keys.empty()) keys.push_back(MKey(0));
  return keys;
}

}  // namespace fabricd::sweep
