// SPDX-License-Identifier: Apache-2.0
// SeriesText: Prometheus' text format (version 0.0.4) for families that have a series of each port.
// A large fabric has a million of these: prometheus-cpp keeps an object of each and prints it
// through a stream, which takes five to ten times as long (docs/PERFORMANCE.md). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/time.h"

namespace fabricd::http {

// `name="value"`, the value made UTF-8 and escaped.
std::string Label(std::string_view name, const std::string& value);

class SeriesText {
 public:
  enum class Type { kCounter, kGauge };

  explicit SeriesText(size_t expected_bytes = 0) { text_.reserve(expected_bytes); }

  // A family without series leaves nothing. REQUIRES: `help` has no backslash and no line end, and
  // no other family has the name.
  void Begin(std::string_view name, std::string_view help, Type type = Type::kGauge);
  // A series of the family that was begun last. `labels`: of Label(), with commas between; empty:
  // none.
  void Add(std::string_view labels, double value);
  void Add(std::string_view labels, uint64_t value);
  void Add(std::string_view labels, Duration value);  // In seconds.

  // What something else has written: whole families.
  void AddText(std::string_view text) { text_ += text; }

  const std::string& text() const { return text_; }
  std::string Take() { return std::move(text_); }

 private:
  void AddName(std::string_view labels);

  std::string text_;
  std::string head_;  // HELP and TYPE, until the first series.
  std::string name_;
};

}  // namespace fabricd::http
