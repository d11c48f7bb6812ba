// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/convert/view_page.h"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "common/number_text.h"
#include "daemon/rpc/convert/grpc_status.h"

namespace fabricd::rpc {

absl::StatusOr<NumberedPage> OpenNumbered(daemon::Models& models,
                                          const google::protobuf::Message& request) {
  const auto* field = request.GetDescriptor()->FindFieldByName("page_token");
  const std::string token = request.GetReflection()->GetString(request, field);
  if (token.empty()) {
    auto page = Page::Open(models, request);
    if (!page.ok()) return page.status();
    return NumberedPage{*std::move(page), std::nullopt};
  }
  const size_t dot = token.find('.');
  const auto number = dot == std::string::npos
                          ? std::nullopt
                          : ParseNumber<uint64_t>(std::string_view(token).substr(dot + 1));
  if (!number) return BadField("page_token", "is not one of ours");
  std::unique_ptr<google::protobuf::Message> inner(request.New());
  inner->CopyFrom(request);
  inner->GetReflection()->SetString(inner.get(), field, token.substr(0, dot));
  auto page = Page::Open(models, *inner);
  if (!page.ok()) return page.status();
  return NumberedPage{*std::move(page), number};
}

bool AddNumber(uint64_t number, google::protobuf::Message* response) {
  const auto* field = response->GetDescriptor()->FindFieldByName("next_page_token");
  const std::string token = response->GetReflection()->GetString(*response, field);
  if (token.empty()) return false;
  response->GetReflection()->SetString(response, field, fmt::format("{}.{}", token, number));
  return true;
}

absl::Status PageExpired() {
  return MakeError(absl::StatusCode::kOutOfRange, "PAGE_TOKEN_EXPIRED",
                   "the view that this listing began with is gone; list again from the start");
}

}  // namespace fabricd::rpc
