// SPDX-License-Identifier: Apache-2.0
// FuzzBytes: takes the values of a script from a fuzzer's input, front to back. Behind the end
// there are zeros. One thread. Fit: a whole input as so many bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fabricd::test {

// Cut, or filled with zeros, to its length.
template <size_t kBytes>
std::array<uint8_t, kBytes> Fit(std::span<const uint8_t> input) {
  std::array<uint8_t, kBytes> bytes{};
  std::copy_n(input.begin(), std::min(input.size(), kBytes), bytes.begin());
  return bytes;
}

class FuzzBytes {
 public:
  FuzzBytes(const uint8_t* data, size_t size) : rest_(data, size) {}
  bool AtEnd() const { return rest_.empty(); }
  uint8_t Byte() {
    if (rest_.empty()) return 0;
    const uint8_t byte = rest_.front();
    rest_ = rest_.subspan(1);
    return byte;
  }
  uint16_t Word() { return static_cast<uint16_t>(Byte() << 8 | Byte()); }
  // Fewer where the input ends.
  std::span<const uint8_t> Take(size_t count) {
    const auto taken = rest_.first(std::min(count, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  // Up to and without the next line feed, or to the end.
  std::string Line() {
    const auto end = std::find(rest_.begin(), rest_.end(), uint8_t{'\n'});
    std::string line(rest_.begin(), end);
    rest_ = rest_.subspan(std::min(line.size() + 1, rest_.size()));
    return line;
  }
  std::string Rest() {
    const auto taken = Take(rest_.size());
    return {taken.begin(), taken.end()};
  }
  // Overwrites a piece of `bytes` with a piece of the input; nothing when it is empty.
  void Patch(std::span<uint8_t> bytes) {
    if (bytes.empty()) return;
    const size_t at = Byte() % bytes.size();
    const auto piece = Take(std::min<size_t>(1 + Byte() % 16, bytes.size() - at));
    std::copy(piece.begin(), piece.end(), bytes.begin() + static_cast<ptrdiff_t>(at));
  }

 private:
  std::span<const uint8_t> rest_;
};

}  // namespace fabricd::test
