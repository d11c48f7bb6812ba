// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/convert/pages.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "common/number_text.h"
#include "daemon/rpc/convert/grpc_status.h"

namespace fabricd::rpc {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

const FieldDescriptor* Field(const Message& message, const char* name) {
  return message.GetDescriptor()->FindFieldByName(name);
}

// FNV-1a: the same in every build, which a token that outlives a restart needs.
uint32_t Hash(const std::string& bytes) {
  uint32_t hash = 2166136261u;
  for (const char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
  return hash;
}

// Of everything in the request but where the page starts and how long it is.
uint32_t ListingOf(const Message& request) {
  std::unique_ptr<Message> listing(request.New());
  listing->CopyFrom(request);
  listing->GetReflection()->ClearField(listing.get(), Field(*listing, "page_size"));
  listing->GetReflection()->ClearField(listing.get(), Field(*listing, "page_token"));
  return Hash(listing->GetDescriptor()->full_name() + '\0' + listing->SerializeAsString());
}

struct Token {
  uint32_t epoch = 0;
  uint64_t generation = 0;
  uint32_t start = 0;
  uint32_t listing = 0;
};

std::string Print(const Token& token) {
  return fmt::format("{:08x}{:016x}{:08x}{:08x}", token.epoch, token.generation, token.start,
                     token.listing);
}

std::optional<Token> Parse(const std::string& text) {
  if (text.size() != 40) return std::nullopt;
  const auto read = [&](size_t at, size_t digits, auto& value) {
    using Value = std::decay_t<decltype(value)>;
    const auto number = ParseNumber<Value>(std::string_view(text).substr(at, digits), 16);
    value = number.value_or(Value());
    return number.has_value();
  };
  Token token;
  if (!read(0, 8, token.epoch) || !read(8, 16, token.generation) || !read(24, 8, token.start) ||
      !read(32, 8, token.listing)) {
    return std::nullopt;
  }
  return token;
}

}  // namespace

absl::StatusOr<Page> Page::Open(daemon::Models& models, const Message& request) {
  const auto* reflection = request.GetReflection();
  const int32_t size = reflection->GetInt32(request, Field(request, "page_size"));
  const std::string text = reflection->GetString(request, Field(request, "page_token"));
  Page page;
  if (size < 0) return BadField("page_size", "is negative");
  if (size > 0) page.size_ = std::min(static_cast<uint32_t>(size), kMaxPageSize);
  page.listing_ = ListingOf(request);
  if (text.empty()) {
    auto model = models.Ready();
    if (!model.ok()) return model.status();
    page.model_ = *std::move(model);
    return page;
  }
  const std::optional<Token> token = Parse(text);
  if (!token) return BadField("page_token", "is not one of ours");
  if (token->listing != page.listing_) {
    return BadField("page_token", "belongs to a listing of something else");
  }
  if (token->epoch == models.epoch()) page.model_ = models.Find(Generation(token->generation));
  if (!page.model_) {
    return MakeError(absl::StatusCode::kOutOfRange, "PAGE_TOKEN_EXPIRED",
                     "the view that this listing began with is gone; list again from the start",
                     {{"generation", fmt::format("{}", token->generation)}});
  }
  page.start_ = token->start;
  return page;
}

void Page::Close(daemon::Models& models, Message* response) {
  const auto* reflection = response->GetReflection();
  const uint64_t generation = model_->view->generation.value();
  if (total_ > start_ && total_ - start_ > size_) {
    models.Keep(model_);
    reflection->SetString(response, Field(*response, "next_page_token"),
                          Print({models.epoch(), generation, start_ + size_, listing_}));
  }
  reflection->SetUInt32(response, Field(*response, "total_size"), total_);
  reflection->SetUInt32(response, Field(*response, "generation"),
                        static_cast<uint32_t>(generation));
}

}  // namespace fabricd::rpc
