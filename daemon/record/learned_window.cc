// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/learned_window.h"

#include <string>

#include <spdlog/spdlog.h>

#include "common/number_text.h"
#include "common/status.h"

namespace fabricd::daemon {
namespace {
constexpr const char* kKey = "smp_window";
}  // namespace

absl::StatusOr<std::optional<uint32_t>> LearnedWindow::Load(store::Store& store) {
  auto text = store.GetMeta(kKey);
  if (!text.ok()) return text.status();
  return *text ? ParseNumber<uint32_t>(**text) : std::nullopt;
}

void LearnedWindow::Note(uint32_t window, Instant now) {
  if (window == kept_ || (written_ && now - *written_ < kInterval)) return;
  const bool is_posted = post_([text = std::to_string(window)](store::Store& store) {
    if (const absl::Status written = store.PutMeta(kKey, text); !written.ok())
      spdlog::warn("the window of SMPs is not kept: {}", Message(written));
  });
  if (!is_posted) return;
  kept_ = window;
  written_ = now;
}

}  // namespace fabricd::daemon
