// SPDX-License-Identifier: Apache-2.0
// Pages of a listing that comes from one view of the fabric and one of another publisher: of the
// collector, of verdicts. The token is that of pages.h, ".", and the number of the other view.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <absl/status/statusor.h>

#include "common/mutex.h"
#include "daemon/rpc/convert/pages.h"

namespace fabricd::rpc {

// Views that page tokens point to. Few, and for a short time: what changed since is kept twice for
// them. Any thread. `View` has a `number` of its own.
template <typename View>
class KeptViews {
 public:
  using Ptr = std::shared_ptr<const View>;
  static constexpr std::chrono::seconds kKeep{30};
  static constexpr size_t kMostKept = 4;

  void Keep(const Ptr& view) {
    MutexLock lock(mutex_);
    std::erase_if(kept_, [&](const Kept& kept) { return kept.view->number == view->number; });
    DropOld();
    if (kept_.size() >= kMostKept) kept_.erase(kept_.begin());
    kept_.push_back({view, std::chrono::steady_clock::now() + kKeep});
  }
  // Null: not kept (any more).
  Ptr Find(uint64_t number) {
    MutexLock lock(mutex_);
    DropOld();
    for (const Kept& kept : kept_) {
      if (kept.view->number == number) return kept.view;
    }
    return nullptr;
  }

 private:
  struct Kept {
    Ptr view;
    std::chrono::steady_clock::time_point until;
  };
  void DropOld() FABRICD_REQUIRES(mutex_) {
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(kept_, [&](const Kept& kept) { return kept.until < now; });
  }

  Mutex mutex_;
  std::vector<Kept> kept_ FABRICD_GUARDED_BY(mutex_);  // Oldest first.
};

// A page, and the number of the other view where its token has one.
struct NumberedPage {
  Page page;
  std::optional<uint64_t> number;
};
// Errors as Page::Open().
absl::StatusOr<NumberedPage> OpenNumbered(daemon::Models& models,
                                          const google::protobuf::Message& request);
// Adds the number to the token of the next page. False: there is none.
bool AddNumber(uint64_t number, google::protobuf::Message* response);
absl::Status PageExpired();

template <typename View>
class ViewPage {
 public:
  // `now`: what the first page comes from. Errors as Page::Open().
  static absl::StatusOr<ViewPage> Open(daemon::Models& models, std::shared_ptr<const View> now,
                                       KeptViews<View>& kept,
                                       const google::protobuf::Message& request) {
    auto opened = OpenNumbered(models, request);
    if (!opened.ok()) return opened.status();
    auto view = opened->number ? kept.Find(*opened->number) : std::move(now);
    if (view == nullptr) return PageExpired();
    return ViewPage(std::move(opened->page), std::move(view));
  }

  const query::ReadModel& model() const { return page_.model(); }
  const View& view() const { return *view_; }
  bool Take() { return page_.Take(); }
  void Close(daemon::Models& models, KeptViews<View>& kept, google::protobuf::Message* response) {
    page_.Close(models, response);
    if (AddNumber(view_->number, response)) kept.Keep(view_);
  }

 private:
  ViewPage(Page page, std::shared_ptr<const View> view)
      : page_(std::move(page)), view_(std::move(view)) {}

  Page page_;
  std::shared_ptr<const View> view_;
};

}  // namespace fabricd::rpc
