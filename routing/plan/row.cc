// SPDX-License-Identifier: Apache-2.0
#include "routing/plan/row.h"

#include <algorithm>
#include <cstring>

#include "common/check.h"

namespace fabricd::routing {

Row::Row(size_t size, uint8_t fill) { Resize(size, fill); }

Row::Row(std::initializer_list<uint8_t> entries) : Row(Unwritten(entries.size())) {
  size_t lid = 0;
  for (uint8_t value : entries) Set(lid++, value);
}

Row Row::Unwritten(size_t size) {
  Row row;
  row.SetSize(size);
  return row;
}

Row Row::Of(const uint8_t* entries, size_t size, const Row* like) {
  FABRICD_CHECK(size <= kMaxPages * kPage, "a row of {} entries", size);
  Row row;
  row.size_ = size;
  row.base_ = std::make_shared<Pages>(row.pages());
  bool changed = !like || like->size_ != size;
  for (size_t page = 0; page < row.pages(); ++page, entries += kPage) {
    const size_t count = row.PageSize(page);
    const bool same = like && page < like->pages() && like->PageSize(page) == count &&
                      std::memcmp(entries, like->page(page), count) == 0;
    std::shared_ptr<Page>& own = (*row.base_)[page];
    own = same ? like->Holder(page) : std::make_shared_for_overwrite<Page>();
    row.at_[page] = own->data();
    if (!same) std::memcpy(row.at_[page], entries, count);
    changed |= !same;
  }
  return changed ? row : *like;
}

void Row::SetSize(size_t size) {
  FABRICD_CHECK(size <= kMaxPages * kPage, "a row of {} entries", size);
  Pages& pages = WritableBase();
  const size_t had = pages.size();
  size_ = size;
  pages.resize(this->pages());
  for (size_t page = had; page < pages.size(); ++page) {
    pages[page] = std::make_shared_for_overwrite<Page>();
    at_[page] = pages[page]->data();
  }
}

// A base that no other row has, with all pages of this row.
Row::Pages& Row::WritableBase() {
  if (!base_)
    base_ = std::make_shared<Pages>();
  else if (base_.use_count() > 1)
    base_ = std::make_shared<Pages>(*base_);
  for (Own& own : own_) (*base_)[own.page] = std::move(own.data);
  own_.clear();
  return *base_;
}

std::shared_ptr<Row::Page>* Row::FindOwn(size_t page) {
  for (Own& own : own_)
    if (own.page == page) return &own.data;
  return nullptr;
}

const std::shared_ptr<Row::Page>& Row::Holder(size_t page) const {
  for (const Own& own : own_)
    if (own.page == page) return own.data;
  return (*base_)[page];
}

void Row::SetPage(size_t page, std::shared_ptr<Page> data) {
  at_[page] = data->data();
  if (std::shared_ptr<Page>* own = FindOwn(page)) {
    *own = std::move(data);
  } else if (base_.use_count() == 1) {
    (*base_)[page] = std::move(data);
  } else {
    own_.push_back({page, std::move(data)});
    if (own_.size() > kMostOwn) WritableBase();
  }
}

uint8_t* Row::WritablePage(size_t page) {
  const std::shared_ptr<Page>* own = FindOwn(page);
  // Nobody else can come to share a page of which this row holds the only pointer.
  const bool alone =
      own ? own->use_count() == 1 : base_.use_count() == 1 && (*base_)[page].use_count() == 1;
  if (!alone) {
    auto copy = std::make_shared_for_overwrite<Page>();
    std::memcpy(copy->data(), at_[page], kPage);
    SetPage(page, std::move(copy));
  }
  return at_[page];
}

void Row::WriteBlock(size_t block, const uint8_t* entries) {
  std::memcpy(WritablePage(block * kBlock / kPage) + block * kBlock % kPage, entries, kBlock);
}

void Row::Resize(size_t size, uint8_t fill) {
  const size_t old = size_;
  SetSize(size);
  for (size_t page = old / kPage; page < pages(); ++page) {
    const size_t begin = page * kPage < old ? old - page * kPage : 0, end = PageSize(page);
    if (begin < end) std::memset(WritablePage(page) + begin, fill, end - begin);
  }
}

void Row::ShareEqualPages(const Row& other) {
  for (size_t page = 0; page < std::min(pages(), other.pages()); ++page)
    if (PageSize(page) == other.PageSize(page) && at_[page] != other.at_[page] &&
        std::memcmp(this->page(page), other.page(page), PageSize(page)) == 0)
      SetPage(page, other.Holder(page));
}

bool operator==(const Row& a, const Row& b) {
  if (a.size_ != b.size_) return false;
  for (size_t page = 0; page < a.pages(); ++page)
    if (!a.SharesPage(b, page) && std::memcmp(a.page(page), b.page(page), a.PageSize(page)) != 0)
      return false;
  return true;
}

}  // namespace fabricd::routing
