// SPDX-License-Identifier: Apache-2.0
#include "recorder/key_aliases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mad/wire/node_info.h"
#include "mad/wire/notice.h"
#include "mad/wire/port_info.h"
#include "mad/wire/sm_info.h"
#include "mad/wire/smp.h"
#include "sweep/device/m_keys.h"

namespace fabricd::recorder {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSecret = 0x5EC2'E75E'C2E7'5EC2;

std::vector<uint8_t> Encoded(const wire::Smp& smp) {
  std::vector<uint8_t> bytes(wire::kMadBytes);
  smp.Encode(std::span<uint8_t, wire::kMadBytes>(bytes.data(), wire::kMadBytes));
  return bytes;
}

bool Holds(const std::vector<uint8_t>& bytes, uint64_t key) {
  std::vector<uint8_t> wanted;
  for (int shift = 56; shift >= 0; shift -= 8) wanted.push_back(static_cast<uint8_t>(key >> shift));
  return std::search(bytes.begin(), bytes.end(), wanted.begin(), wanted.end()) != bytes.end();
}

TEST(KeyAliases, EqualKeysGetEqualAliasesAndNoneStaysNone) {
  KeyAliases aliases;
  EXPECT_EQ(aliases.AliasOf(0), 0u);
  const uint64_t first = aliases.AliasOf(kSecret);
  EXPECT_NE(first, kSecret);
  EXPECT_NE(aliases.AliasOf(1), first);
  EXPECT_EQ(aliases.AliasOf(kSecret), first);
}

TEST(KeyAliases, ReplacesTheKeysOfOptions) {
  KeyAliases aliases;
  sweep::CoreOptions options;
  options.sm.m_key = MKey(kSecret);
  options.sm.sm_key = SmKey(kSecret + 1);
  options.sm.m_key_by_guid = {{Guid(1), MKey(kSecret)}, {Guid(2), MKey(kSecret + 2)}};
  aliases.Replace(options);
  EXPECT_EQ(options.sm.m_key.value(), aliases.AliasOf(kSecret));
  EXPECT_EQ(options.sm.sm_key.value(), aliases.AliasOf(kSecret + 1));
  EXPECT_EQ(options.sm.m_key_by_guid.at(Guid(1)), options.sm.m_key);
  EXPECT_EQ(options.sm.m_key_by_guid.at(Guid(2)).value(), aliases.AliasOf(kSecret + 2));
}

TEST(KeyAliases, ReplacesTheKeysOfSmps) {
  wire::Smp info;
  info.attribute = wire::AttributeId::kPortInfo;
  info.m_key = MKey(kSecret);
  wire::PortInfo port;
  port.m_key = MKey(kSecret + 1);
  port.Encode(info.data);
  wire::Smp sm;
  sm.attribute = wire::AttributeId::kSmInfo;
  wire::SmInfo{.guid = Guid(5), .sm_key = SmKey(kSecret + 2)}.Encode(sm.data);
  for (auto bytes : {Encoded(info), Encoded(sm)}) {
    KeyAliases().Replace(bytes);
    for (uint64_t key : {kSecret, kSecret + 1, kSecret + 2}) EXPECT_FALSE(Holds(bytes, key));
    EXPECT_EQ(bytes.size(), wire::kMadBytes);
  }
}

TEST(KeyAliases, ReplacesTheMKeyThatANoticeNames) {
  wire::Smp trap;
  trap.method = wire::Method::kTrap;
  trap.attribute = wire::AttributeId::kNotice;
  trap.data[0] = 0x80;
  trap.data[4] = 1;  // Trap 256.
  for (int i = 0; i < 8; ++i) trap.data[22 + i] = static_cast<uint8_t>(kSecret >> (56 - 8 * i));
  auto bytes = Encoded(trap);
  ASSERT_TRUE(Holds(bytes, kSecret));
  KeyAliases().Replace(bytes);
  EXPECT_FALSE(Holds(bytes, kSecret));
}

TEST(KeyAliases, DerivedKeysAreReplacedByThoseThatAReplayDerives) {
  const std::string secret = "a secret of this subnet", former = "the one of before";
  KeyAliases aliases;
  sweep::CoreOptions options;
  options.sm.m_key_secret = secret;
  options.sm.former_m_key_secrets = {former};
  aliases.Replace(options);
  EXPECT_NE(options.sm.m_key_secret, secret);
  EXPECT_NE(options.sm.m_key_secret, options.sm.former_m_key_secrets[0]);
  wire::Smp answer;
  answer.method = wire::Method::kGetResp;
  answer.attribute = wire::AttributeId::kNodeInfo;
  wire::NodeInfo{.port_guid = Guid(0x77)}.Encode(answer.data);
  auto bytes = Encoded(answer);
  aliases.Replace(bytes);
  EXPECT_EQ(aliases.AliasOf(sweep::DeriveMKey(secret, Guid(0x77)).value()),
            sweep::WantedMKey(options.sm, Guid(0x77)).value());
  EXPECT_EQ(aliases.AliasOf(sweep::DeriveMKey(former, Guid(0x77)).value()),
            sweep::PossibleMKeys(options.sm, Guid(0x77))[1].value());
}

TEST(KeyAliases, LeavesOtherMadsAlone) {
  wire::Smp smp;
  smp.m_key = MKey(kSecret);
  auto bytes = Encoded(smp);
  bytes[1] = 0x04;  // Performance management.
  const auto before = bytes;
  KeyAliases aliases;
  aliases.Replace(bytes);
  EXPECT_EQ(bytes, before);
  std::vector<uint8_t> few(10, 1);
  aliases.Replace(few);
  EXPECT_EQ(few, std::vector<uint8_t>(10, 1));
}

}  // namespace
}  // namespace fabricd::recorder
