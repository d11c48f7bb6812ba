// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/client.h"

#include <iterator>
#include <utility>

namespace fabricd::store::etcd {

std::string EndOfPrefix(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xFF) prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');
  prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

namespace {

// Of a read whose revision was compacted between two pages.
constexpr int kMostReads = 3;

absl::StatusOr<RangeResult> ReadPages(Client& client, RangeRequest request) {
  RangeResult all;
  do {
    auto part = client.Range(request);
    if (!part.ok()) return part.status();
    if (request.revision == 0) {
      all.revision = request.revision = part->revision;
      all.cluster = part->cluster;
    }
    std::move(part->kvs.begin(), part->kvs.end(), std::back_inserter(all.kvs));
    if (!part->more || part->kvs.empty()) return all;
    request.key = all.kvs.back().key + '\0';
  } while (true);
}

}  // namespace

absl::StatusOr<RangeResult> RangeAll(Client& client, RangeRequest request, int64_t page) {
  request.limit = page;
  absl::StatusOr<RangeResult> all = ReadPages(client, request);
  for (int read = 1; read < kMostReads && request.revision == 0; ++read) {
    if (!absl::IsOutOfRange(all.status())) break;
    all = ReadPages(client, request);
  }
  return all;
}

}  // namespace fabricd::store::etcd
