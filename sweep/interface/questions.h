// SPDX-License-Identifier: Apache-2.0
// OpenQuestions: the questions to the shell that the core waits for. It allocates their ids and
// decides whether an answer is still valid: one question of each kind is open at a time, and a
// newer one replaces it. The core passes answers on only after Close().
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/check.h"
#include "sweep/interface/events.h"

namespace fabricd::sweep {

// The index of T among the alternatives of a variant.
template <typename Variant, typename T>
struct IndexIn;
template <typename T, typename... Each>
struct IndexIn<std::variant<Each...>, T> {
  static constexpr size_t Find() {
    constexpr std::array<bool, sizeof...(Each)> kSame{std::is_same_v<T, Each>...};
    size_t index = 0;
    while (!kSame[index]) ++index;
    return index;
  }
};

// For each kind of question, the index of its alternative in Answer::what.
template <typename... Each>
constexpr std::array<size_t, sizeof...(Each)> KindsOfAnswers(const std::variant<Each...>*) {
  return {IndexIn<decltype(Answer::what), typename Each::Answer>::Find()...};
}

class OpenQuestions {
 public:
  using What = decltype(Question::what);
  using Kind = size_t;  // Index of the alternative in What.
  template <typename T>
  static constexpr Kind KindOf() {
    return IndexIn<What, T>::Find();
  }

  // New questions are appended to `asked`, which must outlive this. The caller empties it.
  explicit OpenQuestions(std::vector<Question>& asked) : asked_(asked) {}

  template <typename T>
  void Ask(T what) {
    Drop<T>();
    open_[KindOf<T>()] = QuestionId(++last_);
    asked_.push_back({QuestionId(last_), std::move(what)});
  }
  // Discards the question: its answer will be ignored. A question still in `asked` is removed.
  template <typename T>
  void Drop() {
    if (!IsOpen<T>()) return;
    std::erase_if(asked_,
                  [id = *open_[KindOf<T>()]](const Question& each) { return each.id == id; });
    open_[KindOf<T>()].reset();
  }
  template <typename T>
  bool IsOpen() const {
    return open_[KindOf<T>()].has_value();
  }

  // Closes the question that this answers, and returns its kind. nullopt: it was dropped, has been
  // answered, or was never asked.
  std::optional<Kind> Close(const Answer& answer) {
    const auto found = std::find(open_.begin(), open_.end(), std::optional(answer.id));
    if (found == open_.end()) return std::nullopt;
    found->reset();
    const Kind kind = static_cast<Kind>(found - open_.begin());
    constexpr auto kAnswers = KindsOfAnswers(static_cast<What*>(nullptr));
    FABRICD_CHECK(answer.what.index() == kAnswers[kind], "a question of kind {}, answered by {}",
                  kind, answer.what.index());
    return kind;
  }

 private:
  std::vector<Question>& asked_;
  std::array<std::optional<QuestionId>, std::variant_size_v<What>> open_;  // By kind.
  uint64_t last_ = 0;
};

}  // namespace fabricd::sweep
