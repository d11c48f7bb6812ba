// SPDX-License-Identifier: Apache-2.0
// Codecs against libibmad as oracle, field by field with random values: what mad_set_field wrote
// must decode, and what Encode wrote must be what mad_get_field reads. The two directions share no
// code of ours, so an error made twice in the same way is found too.
#pragma once

#include <functional>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>
#include <infiniband/mad.h>

#include "tests/unit/mad/wire/random_block.h"

namespace fabricd::wire::testing {

inline constexpr int kRounds = 200;

template <typename Value>
struct Field {
  MAD_FIELDS field;
  int bits;
  std::function<uint64_t(const Value&)> get;
  std::function<void(Value&, uint64_t)> set;
};

template <typename Member>
uint64_t ToNumber(const Member& member) {
  if constexpr (requires { member.value(); }) {
    return member.value();
  } else {
    return static_cast<uint64_t>(member);
  }
}

template <typename Value, typename Member>
Field<Value> Of(MAD_FIELDS field, int bits, Member Value::*member) {
  return {field, bits, [member](const Value& value) { return ToNumber(value.*member); },
          [member](Value& value, uint64_t number) {
            if constexpr (requires { (value.*member).value(); }) {
              value.*member = Member(static_cast<typename Member::Value>(number));
            } else {
              value.*member = static_cast<Member>(number);
            }
          }};
}

inline uint64_t RandomNumber(Rng& rng, int bits) { return rng.Next() >> (64 - bits); }

inline void SetOracle(uint8_t* block, MAD_FIELDS field, int bits, uint64_t number) {
  if (bits == 64) {
    mad_set_field64(block, 0, field, number);
  } else {
    mad_set_field(block, 0, field, static_cast<uint32_t>(number));
  }
}

inline uint64_t GetOracle(uint8_t* block, MAD_FIELDS field, int bits) {
  return bits == 64 ? mad_get_field64(block, 0, field) : mad_get_field(block, 0, field);
}

// libibmad touches whole 32-bit words and 64-bit quantities: room behind the block keeps that
// harmless.
template <typename Value, size_t kBytes>
void CompareBothWays(const std::vector<Field<Value>>& fields) {
  Rng rng(kBytes + fields.size());
  for (int round = 0; round < kRounds; ++round) {
    std::array<uint8_t, kBytes + 8> received{};
    Value expected;
    for (const Field<Value>& field : fields) {
      const uint64_t number = RandomNumber(rng, field.bits);
      SetOracle(received.data(), field.field, field.bits, number);
      field.set(expected, number);
    }
    const Value decoded = Value::Decode(std::span(received).template first<kBytes>());
    std::array<uint8_t, kBytes + 8> sent{};
    expected.Encode(std::span(sent).template first<kBytes>());
    for (const Field<Value>& field : fields) {
      EXPECT_EQ(field.get(decoded), field.get(expected)) << mad_field_name(field.field);
      EXPECT_EQ(GetOracle(sent.data(), field.field, field.bits), field.get(expected))
          << mad_field_name(field.field);
    }
    EXPECT_EQ(received, sent);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace fabricd::wire::testing
