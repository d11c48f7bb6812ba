// SPDX-License-Identifier: Apache-2.0
// Row: one byte per LID for one switch (its egress ports, or service levels). A value that shares:
// a copy costs a pointer per page, and writing to a copy copies only the page written, so that a
// plan which moves one destination on a thousand switches costs a thousand pages, not a thousand
// tables. Like any value it may be read by many threads and written by one.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

namespace fabricd::routing {

class Row {
 public:
  static constexpr size_t kBlock = 64;          // LIDs of one LinearForwardingTable MAD.
  static constexpr size_t kPage = 32 * kBlock;  // LIDs that are shared or copied together.

  Row() = default;
  Row(size_t size, uint8_t fill);
  Row(std::initializer_list<uint8_t> entries);
  // The caller writes every entry before anyone reads it.
  static Row Unwritten(size_t size);

  size_t size() const { return size_; }
  size_t blocks() const { return size_ / kBlock; }
  size_t pages() const { return pages_.size(); }
  size_t PageSize(size_t page) const { return page + 1 < pages() ? kPage : size_ - page * kPage; }

  // REQUIRES for all: within size().
  uint8_t operator[](size_t lid) const { return (*pages_[lid / kPage])[lid % kPage]; }
  const uint8_t* page(size_t page) const { return pages_[page]->data(); }
  const uint8_t* block(size_t block) const {
    return pages_[block * kBlock / kPage]->data() + block * kBlock % kPage;
  }
  // The page to write to: a copy of its own first if other rows share it.
  uint8_t* WritablePage(size_t page);
  void WriteBlock(size_t block, const uint8_t* entries);
  void Set(size_t lid, uint8_t value) { WritablePage(lid / kPage)[lid % kPage] = value; }

  void Resize(size_t size, uint8_t fill);
  // Takes `other`'s pages in place of equal ones.
  void ShareEqualPages(const Row& other);
  bool SharesPage(const Row& other, size_t page) const {
    return page < pages() && page < other.pages() && pages_[page] == other.pages_[page];
  }
  friend bool operator==(const Row& a, const Row& b);

 private:
  using Page = std::array<uint8_t, kPage>;
  size_t size_ = 0;
  std::vector<std::shared_ptr<Page>> pages_;  // Written only while this row is the one owner.
};

}  // namespace fabricd::routing
