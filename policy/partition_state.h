// SPDX-License-Identifier: Apache-2.0
// PartitionState: all that is durable of partitions, and how requests change it. A change is worked
// out as a new state, made durable by the caller, and only then in force. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include "common/stored_row.h"
#include "policy/p_key_plan.h"
#include "policy/partitions.h"

namespace fabricd::policy {

struct PartitionRequest {
  enum class Verb : uint8_t {
    kReplace,        // All of them by `all`.
    kCreate,         // `partition`; its number 0: the lowest that is free.
    kUpdate,         // Those `fields` of the partition that `partition` names.
    kDelete,         // The partition that `partition` names.
    kAddMembers,     // Those of `partition`.
    kRemoveMembers,  // The same; their membership does not matter.
  };
  enum Field : uint8_t { kName = 1, kIndex0 = 2, kIpoib = 4, kGroups = 8, kMembers = 16 };
  Verb verb = Verb::kReplace;
  Partitions all;
  Partition partition;
  uint8_t fields = 0;
  // kReplace: what the file says of itself, so that the same file is not applied twice. Else empty.
  std::string file_digest;
  std::string request_id;  // Empty: none was given.
  // Of the request as its client sent it; 0: of what is above.
  uint64_t fingerprint = 0;
  // Why it could not be read: then only an earlier request with the same request_id answers.
  absl::Status unread = absl::OkStatus();
  // The revision that it is meant for; nullopt: any.
  std::optional<uint64_t> revision;
};

struct PartitionState {
  Partitions partitions = Partitions::BuiltIn();
  PartitionSet ever;        // All that ever were: their keys are fabricd's own.
  std::string file_digest;  // Of the file that was applied last. Empty: none was.
  uint64_t revision = 0;    // Grows with each change.
  struct Done {
    std::string request_id;
    uint64_t fingerprint = 0;  // Of the request.
    uint64_t number = 0;       // Counts on.
    uint16_t partition = 0;    // That it was about; 0: all, or not known.
    friend bool operator==(const Done&, const Done&) = default;
  };
  std::deque<Done> done;  // The last kMaxDone with a request_id, the oldest first.
  static constexpr size_t kMaxDone = 1024;
  friend bool operator==(const PartitionState&, const PartitionState&) = default;
};

inline constexpr size_t kMaxPartitionRequestId = 128;  // bytes
inline constexpr char kRequestIdReused[] = "the request_id was used for something else";

struct PartitionOutcome {
  std::shared_ptr<const PartitionState> before, after;
  uint16_t number = 0;    // The partition that it was about; 0: all.
  bool existing = false;  // A request with this request_id was done before.
};

// The state after a request; equal partitions and the same revision: there is nothing to change.
// Doing something again that is so already is no error. kNotFound: no such partition;
// kAlreadyExists: another one has the number; kAborted: it is meant for another revision;
// kInvalidArgument names what cannot be, or begins with kRequestIdReused.
absl::StatusOr<PartitionOutcome> Apply(const PartitionRequest& request,
                                       std::shared_ptr<const PartitionState> before);

// Rows are one for each partition, in the form of partitions.conf, and few others.
// kDataLoss: they are none of fabricd's. Rows of others are not looked at.
absl::StatusOr<PartitionState> LoadPartitions(const StoredRows& rows);
RowChanges PartitionRows(const PartitionState& before, const PartitionState& after);

}  // namespace fabricd::policy
