// SPDX-License-Identifier: Apache-2.0
// Row: one byte per LID for one switch (its egress ports, or service levels). A value that shares:
// a copy takes hold of all pages at once, and writing to a copy copies only the page written, so
// that a plan which moves one destination on a thousand switches costs a thousand pages, not a
// thousand tables. Like any value it may be read by many threads and written by one.
//
// The pages that a row was made with are held together by a base that its copies share; what a copy
// writes are pages of its own. Counting references page by page would touch every page of a row in
// order to copy it, which costs more than the writing.
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
  // A copy of `entries`, sharing the pages of `like` (may be null) that are equal.
  static Row Of(const uint8_t* entries, size_t size, const Row* like);

  size_t size() const { return size_; }
  size_t blocks() const { return size_ / kBlock; }
  size_t pages() const { return (size_ + kPage - 1) / kPage; }
  size_t PageSize(size_t page) const { return page + 1 < pages() ? kPage : size_ - page * kPage; }

  // REQUIRES for all: within size().
  uint8_t operator[](size_t lid) const { return at_[lid / kPage][lid % kPage]; }
  const uint8_t* page(size_t page) const { return at_[page]; }
  const uint8_t* block(size_t block) const {
    return at_[block * kBlock / kPage] + block * kBlock % kPage;
  }
  // For prefetching only: what block() has to read first.
  const void* PlaceOfBlock(size_t block) const { return &at_[block * kBlock / kPage]; }
  // The page to write to: a copy of its own first if other rows share it.
  uint8_t* WritablePage(size_t page);
  void WriteBlock(size_t block, const uint8_t* entries);
  void Set(size_t lid, uint8_t value) { WritablePage(lid / kPage)[lid % kPage] = value; }

  void Resize(size_t size, uint8_t fill);
  // Takes `other`'s pages in place of equal ones.
  void ShareEqualPages(const Row& other);
  bool SharesPage(const Row& other, size_t page) const {
    return page < pages() && page < other.pages() && at_[page] == other.at_[page];
  }
  friend bool operator==(const Row& a, const Row& b);

 private:
  using Page = std::array<uint8_t, kPage>;
  using Pages = std::vector<std::shared_ptr<Page>>;
  struct Own {
    size_t page;
    std::shared_ptr<Page> data;
  };
  static constexpr size_t kMaxPages = 0x10000 / kPage;
  static constexpr size_t kMostOwn = 4;  // Each keeps a page of the base alive that nobody reads.

  void SetSize(size_t size);
  Pages& WritableBase();
  std::shared_ptr<Page>* FindOwn(size_t page);
  const std::shared_ptr<Page>& Holder(size_t page) const;
  void SetPage(size_t page, std::shared_ptr<Page> data);

  size_t size_ = 0;
  std::shared_ptr<Pages> base_;           // Written only while this row is the one owner.
  std::vector<Own> own_;                  // In place of pages of the base.
  std::array<uint8_t*, kMaxPages> at_{};  // [page]
};

}  // namespace fabricd::routing
