// SPDX-License-Identifier: Apache-2.0
// What differs between two models, as TopologyService shows it. Made once for all who go from the
// one to the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "fabric/v1/topology_service.pb.h"
#include "query/read_model.h"

namespace fabricd::rpc {

namespace pb = ::fabric::v1;

// What is watched: `kind` is one of those there are.
struct Watched {
  pb::TopologyKind kind = pb::TOPOLOGY_KIND_NODE;
  pb::PortView view = pb::PORT_VIEW_UNSPECIFIED;
  friend bool operator==(const Watched&, const Watched&) = default;
};

// One object: a node by port 0 of `a`, a port by `a`, a link by both ends, a host by its name.
struct ObjectKey {
  PortRef a, b;
  std::string host;
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

struct ObjectChange {
  pb::ChangeType type = pb::CHANGE_TYPE_ADDED;
  ObjectKey key;
};

// REQUIRES: the object is in the model.
void ToProto(const query::ReadModel& model, const Watched& watched, const ObjectKey& key,
             pb::TopologyChange* out);

// All objects of the model, in the order of the lists.
std::vector<ObjectChange> AllOf(const query::ReadModel& model, const Watched& watched);

// Any thread.
class TopologyDeltas {
 public:
  using Delta = std::shared_ptr<const std::vector<ObjectChange>>;
  using Model = std::shared_ptr<const query::ReadModel>;

  // Costs what differs, and nothing when it was asked for lately.
  Delta Between(const Model& before, const Model& now, const Watched& watched);

 private:
  static constexpr size_t kKept = 16;
  struct Known {
    Model before, now;
    Watched watched;
    Delta delta;
  };
  Mutex mutex_;  // Also held while a delta is made: it is made once.
  std::vector<Known> known_ FABRICD_GUARDED_BY(mutex_);  // Oldest first.
};

}  // namespace fabricd::rpc
