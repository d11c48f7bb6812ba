// SPDX-License-Identifier: Apache-2.0
// Archive: converts values to bytes and back by one description of their fields, so that no field
// is written but not read. Not self-describing: the schema number of the recording identifies the
// format.
//
//   template <typename A> void Visit(A& a, policy::HeldPort& port) { a(port.node, port.port); }
//
// The reader accepts bytes from any source. Input that is truncated, too long or out of bounds
// makes it fail, and the values read so far are not used.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>

#include "common/ids.h"

namespace fabricd::recorder {

template <typename T>
concept IsStrongId = requires(const T& id) {
  { id.value() } -> std::unsigned_integral;
};

class ArchiveWriter {
 public:
  static constexpr bool kReads = false;

  template <typename... Fields>
  void operator()(Fields&... fields) {
    (One(fields), ...);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  void Number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }
  template <typename T>
  void One(T& value) {
    if constexpr (std::is_same_v<T, double>) {
      Number(std::bit_cast<uint64_t>(value));
    } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      Number(static_cast<uint64_t>(value));
    } else if constexpr (IsStrongId<T>) {
      Number(value.value());
    } else {
      Other(value);
    }
  }
  template <typename Rep, typename Period>
  void Other(std::chrono::duration<Rep, Period>& value) {
    Number(static_cast<uint64_t>(value.count()));
  }
  void Other(std::string& value) {
    Number(value.size());
    bytes_ += value;
  }
  void Other(absl::Status& value) {
    std::string message(value.message());
    Number(static_cast<uint64_t>(value.code()));
    Other(message);
  }
  template <typename T>
  void Other(std::vector<T>& values) {
    Sequence(values);
  }
  template <typename T>
  void Other(std::deque<T>& values) {
    Sequence(values);
  }
  template <typename T, size_t N>
  void Other(std::array<T, N>& values) {
    for (T& value : values) One(value);
  }
  template <typename A, typename B>
  void Other(std::pair<A, B>& pair) {
    One(pair.first), One(pair.second);
  }
  template <typename T>
  void Other(std::optional<T>& value) {
    Number(value.has_value());
    if (value) One(*value);
  }
  template <typename K, typename V>
  void Other(absl::flat_hash_map<K, V>& map) {
    std::vector<std::pair<K, V>> pairs(map.begin(), map.end());
    std::sort(pairs.begin(), pairs.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    Number(pairs.size());
    for (auto& [key, value] : pairs) One(key), One(value);
  }
  template <typename T>
  void Other(T& value) {
    Visit(*this, value);
  }
  template <typename Container>
  void Sequence(Container& values) {
    Number(values.size());
    for (auto& value : values) One(value);
  }

  std::string bytes_;
};

class ArchiveReader {
 public:
  static constexpr bool kReads = true;

  explicit ArchiveReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename... Fields>
  void operator()(Fields&... fields) {
    (One(fields), ...);
  }
  // Everything was read, and no bytes remain.
  bool ok() const { return !failed_ && bytes_.empty(); }
  void Fail() { failed_ = true; }

 private:
  uint64_t Number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    failed_ = true;
    return 0;
  }
  // The number of elements that follow. Each takes at least one byte.
  size_t Count() {
    const uint64_t count = Number();
    if (count > bytes_.size()) failed_ = true;
    return failed_ ? 0 : static_cast<size_t>(count);
  }
  template <typename T>
  void One(T& value) {
    if constexpr (std::is_same_v<T, double>) {
      value = std::bit_cast<double>(Number());
    } else if constexpr (std::is_same_v<T, bool>) {
      value = Number() != 0;
    } else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      const uint64_t number = Number();
      value = static_cast<T>(number);
      if (static_cast<uint64_t>(value) != number) failed_ = true;
    } else if constexpr (IsStrongId<T>) {
      using Value = decltype(value.value());
      const uint64_t number = Number();
      value = T(static_cast<std::decay_t<Value>>(number));
      if (value.value() != number) failed_ = true;
    } else {
      Other(value);
    }
  }
  template <typename Rep, typename Period>
  void Other(std::chrono::duration<Rep, Period>& value) {
    value = std::chrono::duration<Rep, Period>(static_cast<Rep>(Number()));
  }
  void Other(std::string& value) {
    const size_t size = Count();
    value = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
  }
  void Other(absl::Status& value) {
    const auto code = static_cast<absl::StatusCode>(Number());
    std::string message;
    Other(message);
    value = code == absl::StatusCode::kOk ? absl::OkStatus() : absl::Status(code, message);
  }
  template <typename T>
  void Other(std::vector<T>& values) {
    Sequence(values);
  }
  template <typename T>
  void Other(std::deque<T>& values) {
    Sequence(values);
  }
  template <typename T, size_t N>
  void Other(std::array<T, N>& values) {
    for (T& value : values) One(value);
  }
  template <typename A, typename B>
  void Other(std::pair<A, B>& pair) {
    One(pair.first), One(pair.second);
  }
  template <typename T>
  void Other(std::optional<T>& value) {
    value.reset();
    if (Number() != 0) One(value.emplace());
  }
  template <typename K, typename V>
  void Other(absl::flat_hash_map<K, V>& map) {
    map.clear();
    for (size_t left = Count(); left > 0 && !failed_; --left) {
      std::pair<K, V> pair;
      One(pair.first), One(pair.second);
      map.insert(std::move(pair));
    }
  }
  template <typename T>
  void Other(T& value) {
    Visit(*this, value);
  }
  template <typename Container>
  void Sequence(Container& values) {
    values.clear();
    for (size_t left = Count(); left > 0 && !failed_; --left) One(values.emplace_back());
  }

  std::string_view bytes_;
  bool failed_ = false;
};

}  // namespace fabricd::recorder
