// SPDX-License-Identifier: Apache-2.0
#include "routing/row.h"

#include <algorithm>
#include <cstring>

namespace fabricd::routing {
namespace {

size_t PagesFor(size_t size) { return (size + Row::kPage - 1) / Row::kPage; }

}  // namespace

Row::Row(size_t size, uint8_t fill) { Resize(size, fill); }

Row::Row(std::initializer_list<uint8_t> entries) : Row(Unwritten(entries.size())) {
  size_t lid = 0;
  for (uint8_t value : entries) Set(lid++, value);
}

Row Row::Unwritten(size_t size) {
  Row row;
  row.size_ = size;
  row.pages_.resize(PagesFor(size));
  for (auto& page : row.pages_) page = std::make_shared_for_overwrite<Page>();
  return row;
}

uint8_t* Row::WritablePage(size_t page) {
  std::shared_ptr<Page>& own = pages_[page];
  // Nobody else can come to share a page of which this row holds the only pointer.
  if (own.use_count() > 1) own = std::make_shared<Page>(*own);
  return own->data();
}

void Row::WriteBlock(size_t block, const uint8_t* entries) {
  std::memcpy(WritablePage(block * kBlock / kPage) + block * kBlock % kPage, entries, kBlock);
}

void Row::Resize(size_t size, uint8_t fill) {
  const size_t old = size_;
  pages_.resize(PagesFor(size));
  size_ = size;
  for (size_t page = old / kPage; page < pages(); ++page) {
    if (!pages_[page]) pages_[page] = std::make_shared_for_overwrite<Page>();
    const size_t begin = page * kPage < old ? old - page * kPage : 0, end = PageSize(page);
    if (begin < end) std::memset(WritablePage(page) + begin, fill, end - begin);
  }
}

void Row::ShareEqualPages(const Row& other) {
  for (size_t page = 0; page < std::min(pages(), other.pages()); ++page)
    if (PageSize(page) == other.PageSize(page) && pages_[page] != other.pages_[page] &&
        std::memcmp(this->page(page), other.page(page), PageSize(page)) == 0)
      pages_[page] = other.pages_[page];
}

bool operator==(const Row& a, const Row& b) {
  if (a.size_ != b.size_) return false;
  for (size_t page = 0; page < a.pages(); ++page)
    if (!a.SharesPage(b, page) && std::memcmp(a.page(page), b.page(page), a.PageSize(page)) != 0)
      return false;
  return true;
}

}  // namespace fabricd::routing
