// SPDX-License-Identifier: Apache-2.0
#include "sweep/program/writer_set.h"

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>

#include "common/check.h"

namespace fabricd::sweep {
namespace {

template <typename Writer>
constexpr bool Owns(Work work) {
  return std::find(Writer::kWorks.begin(), Writer::kWorks.end(), work) != Writer::kWorks.end();
}

// Calls `use` with the writer that the work belongs to, of those that are of the kind `Base`.
// False: there is none.
template <typename Base, typename... Writers>
bool WithOwner(const std::tuple<Writers&...>& writers, Work work, const auto& use) {
  const auto try_one = [&]([[maybe_unused]] auto& writer) {
    using Writer = std::remove_reference_t<decltype(writer)>;
    if constexpr (std::derived_from<Writer, Base>)
      return Owns<Writer>(work) && (use(writer), true);
    else
      return false;
  };
  return std::apply([&](auto&... each) { return (try_one(each) || ...); }, writers);
}

template <typename... Writers>
bool TakeLate(std::type_identity<std::tuple<Writers&...>>, const LateAnswer& late) {
  return ((Owns<Writers>(late.item.work) && Writers::OnLateAnswer(late)) || ...);
}

}  // namespace

void WriterSet::List(ProgramStage stage, WorkQueue& queue) {
  std::apply([&](auto&... each) { (each.List(stage, queue), ...); }, All());
}

QueuedWriter& WriterSet::QueuedOf(Work work) {
  QueuedWriter* owner = nullptr;
  WithOwner<QueuedWriter>(All(), work, [&](QueuedWriter& writer) { owner = &writer; });
  FABRICD_CHECK(owner != nullptr, "work {} is not queued", static_cast<int>(work));
  return *owner;
}

void WriterSet::OnAnswer(const WorkItem& item, const mad::Completion& completion) {
  const bool is_owned = WithOwner<AttributeWriter>(
      All(), item.work, [&](AttributeWriter& writer) { writer.OnAnswer(item, completion); });
  FABRICD_CHECK(is_owned, "work {} has no writer", static_cast<int>(item.work));
}

bool WriterSet::OnLateAnswer(const WorkItem& item, const mad::Completion& completion,
                             fabric::SnapshotBuilder& builder, DeviceTable& devices) {
  if (completion.method != wire::Method::kSet) return false;
  devices.applied().ClearBusy(item.ref(), completion.attribute);
  using Writers = decltype(std::declval<WriterSet&>().All());
  return TakeLate(std::type_identity<Writers>(), {item, completion, builder, devices});
}

}  // namespace fabricd::sweep
