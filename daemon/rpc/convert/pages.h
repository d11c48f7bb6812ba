// SPDX-License-Identifier: Apache-2.0
// Pages of a listing: every page comes from the view of the first (AIP-158).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <absl/status/statusor.h>

#include "daemon/base/models.h"
#include "query/read_model.h"

namespace google::protobuf {
class Message;
}

namespace fabricd::rpc {

inline constexpr uint32_t kDefaultPageSize = 500;
inline constexpr uint32_t kMaxPageSize = 5000;

// Counts the items of a listing and says which of them belong to this page.
class Page {
 public:
  // `request` has page_size and page_token; its other fields are what is listed and are the same
  // for all pages, or the token is refused (INVALID_ARGUMENT). OUT_OF_RANGE, PAGE_TOKEN_EXPIRED:
  // the view is gone.
  static absl::StatusOr<Page> Open(daemon::Models& models,
                                   const google::protobuf::Message& request);

  const query::ReadModel& model() const { return *model_; }
  // Once for each item of the whole listing, in order. True: it is of this page.
  bool Take() {
    const uint32_t at = total_++;
    return at >= start_ && at - start_ < size_;
  }
  // Sets next_page_token, total_size and generation of `response`.
  void Close(daemon::Models& models, google::protobuf::Message* response);

 private:
  std::shared_ptr<const query::ReadModel> model_;
  uint32_t start_ = 0, size_ = kDefaultPageSize, total_ = 0;
  uint32_t listing_ = 0;  // Hash of what is listed.
};

}  // namespace fabricd::rpc
