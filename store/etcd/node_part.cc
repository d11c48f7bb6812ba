// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/node_part.h"

#include <random>

#include "common/status.h"

namespace fabricd::store::etcd {
namespace {
constexpr char kInstanceKey[] = "instance";
}  // namespace

bool IsAway(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

absl::Status NodePart::JoinHistory(const LocalCopy& copy) {
  const absl::Status joined = history_.Join();
  return IsAway(joined) && !copy.mark.empty() ? absl::OkStatus() : joined;
}

absl::StatusOr<std::string> InstanceOf(Store& local) {
  auto known = local.GetMeta(kInstanceKey);
  if (!known.ok()) return known.status();
  if (*known) return **known;
  std::random_device device;
  const std::string made = fmt::format("{:08x}{:08x}", device(), device());
  FABRICD_RETURN_IF_ERROR(local.PutMeta(kInstanceKey, made));
  return made;
}

std::string CopyMark(const std::string& prefix, const std::string& sequence) {
  return fmt::format("{} {}", prefix, WriteOf(sequence));
}

std::string CopyNote(const std::string& mark) {
  return fmt::format("it is a copy of what is in etcd below {}", mark.substr(0, mark.find(' ')));
}

absl::StatusOr<LocalCopy> ReadLocalCopy(Store& local) {
  const auto mark = local.GetMeta(kCopyKey);
  if (!mark.ok()) return mark.status();
  auto contents = ReadContents(local);
  if (!contents.ok()) return contents.status();
  LocalCopy copy{mark->value_or(""), *std::move(contents)};
  if (copy.mark.empty() && !copy.contents.empty())
    return FailedPrecondition(
        "the state directory has state of its own ({}), which etcd would hide: `fabricd store "
        "migrate --to etcd` takes it there; or use another state directory",
        CountText(copy.contents));
  return copy;
}

absl::Status WriteLocalCopy(Store& local, const FlatRows& before, const FlatRows& rows,
                            const std::string& prefix, const std::string& sequence) {
  FABRICD_RETURN_IF_ERROR(WriteChanges(local, Difference(before, rows)));
  // Behind the rows: a copy that has more than its mark says is only taken for an older one.
  return local.PutMeta(kCopyKey, CopyMark(prefix, sequence));
}

}  // namespace fabricd::store::etcd
