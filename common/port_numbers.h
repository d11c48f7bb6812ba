// SPDX-License-Identifier: Apache-2.0
// PortNumbers: the port numbers of a closed range, for range-for.
#pragma once

#include "common/ids.h"

namespace fabricd {

class PortNumbers {
 public:
  class Iterator {
   public:
    constexpr explicit Iterator(int number) : number_(number) {}
    constexpr PortNum operator*() const { return PortNum(static_cast<uint8_t>(number_)); }
    constexpr Iterator& operator++() {
      ++number_;
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    int number_;  // int, because the end may be 256, which is no port number.
  };

  // Empty if `first` > `last`.
  constexpr PortNumbers(PortNum first, PortNum last)
      : first_(first.value()), end_(first > last ? first.value() : last.value() + 1) {}
  constexpr Iterator begin() const { return Iterator(first_); }
  constexpr Iterator end() const { return Iterator(end_); }

 private:
  int first_, end_;
};

}  // namespace fabricd
