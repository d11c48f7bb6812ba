// SPDX-License-Identifier: Apache-2.0
#include "telemetry/request_window.h"

#include <algorithm>

#include "telemetry/options.h"

namespace fabricd::telemetry {
namespace {

constexpr uint32_t kSmallestWindow = 4;

}  // namespace

RequestWindow::RequestWindow(uint32_t max_size, uint32_t first_round)
    : max_size_(std::clamp(max_size, kSmallestWindow, kSlotMask + 1)),
      size_(std::min(kFirstWindow, max_size_)),
      slots_(max_size_, Slot{.round = first_round}) {
  for (uint32_t i = max_size_; i-- > 0;) free_.push_back(static_cast<uint16_t>(i));
}

TransactionId RequestWindow::Open(const Request& request) {
  const uint16_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.is_used = true;
  slot.round = (slot.round + 1) & kRoundMask;
  slot.request = request;
  ++in_flight_;
  return TransactionId(kIdBit | slot.round << kSlotBits | index);
}

const Request* RequestWindow::Find(TransactionId id) const {
  const uint32_t index = id.value() & kSlotMask;
  if ((id.value() & kIdBit) == 0 || index >= slots_.size()) return nullptr;
  const Slot& slot = slots_[index];
  const bool same = slot.is_used && slot.round == ((id.value() >> kSlotBits) & kRoundMask);
  return same ? &slot.request : nullptr;
}

std::optional<Request> RequestWindow::Close(TransactionId id) {
  const Request* found = Find(id);
  if (found == nullptr) return std::nullopt;
  const uint32_t index = id.value() & kSlotMask;
  slots_[index].is_used = false;
  free_.push_back(static_cast<uint16_t>(index));
  --in_flight_;
  if (loss_ignored_ > 0) --loss_ignored_;
  return *found;
}

void RequestWindow::OnResponse() {
  if (++responses_ < size_) return;
  responses_ = 0;
  size_ = std::min(size_ + std::max(1u, size_ / 8), max_size_);
}

void RequestWindow::OnLoss() {
  if (loss_ignored_ > 0) return;
  responses_ = 0;
  size_ = std::max(size_ / 2, kSmallestWindow);
  loss_ignored_ = in_flight_;
}

void RequestWindow::VoidAll() {
  for (Slot& slot : slots_) slot.request.is_voided = true;
}

std::vector<TransactionId> RequestWindow::Expired(Instant now) const {
  std::vector<TransactionId> expired;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].is_used && slots_[i].request.deadline <= now) {
      expired.push_back(TransactionId(kIdBit | slots_[i].round << kSlotBits | i));
    }
  }
  return expired;
}

}  // namespace fabricd::telemetry
