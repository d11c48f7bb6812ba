// SPDX-License-Identifier: Apache-2.0
#include "daemon/rpc/streams/topology_watch.h"

#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "common/number_text.h"
#include "common/status.h"
#include "daemon/rpc/convert/name_filter.h"

namespace fabricd::rpc {
namespace {

using Model = std::shared_ptr<const query::ReadModel>;

class ObjectFilter {
 public:
  static absl::StatusOr<ObjectFilter> Read(const query::ReadModel& model,
                                           const pb::WatchTopologyRequest& request) {
    ObjectFilter filter;
    if (request.kind() == pb::TOPOLOGY_KIND_HOST) {
      for (const std::string& name : request.names())
        if (!model.hosts->Find(name)) return NoSuch("host", name);
      filter.hosts_.insert(request.names().begin(), request.names().end());
      return filter;
    }
    auto names = NameFilter::Read(model, request.names());
    if (!names.ok()) return names.status();
    filter.names_ = *std::move(names);
    return filter;
  }
  bool Passes(const ObjectKey& key) const {
    if (!key.host.empty()) return hosts_.empty() || hosts_.count(key.host) > 0;
    return names_.Passes(key.a) || (!key.b.IsNone() && names_.Passes(key.b));
  }

 private:
  NameFilter names_;
  std::set<std::string> hosts_;
};

// Goes from model to model; those published while a message was under way are passed over.
class Stream final : public TopologyStream {
 public:
  // `from` null: from the start.
  Stream(daemon::Models& models, TopologyDeltas& deltas, Watched watched, ObjectFilter filter,
         Model from)
      : models_(models),
        deltas_(deltas),
        watched_(watched),
        filter_(std::move(filter)),
        from_(std::move(from)) {}

 private:
  absl::StatusOr<bool> Next(bool beat, pb::WatchTopologyResponse* out) override {
    do {
      if (WriteChange(out->mutable_change())) return true;
      out->clear_change();
      if (to_) from_ = std::exchange(to_, nullptr);
      // Not before what the client has missed since the version that it comes with.
      if (from_ && looked_ && !std::exchange(synced_, true)) {
        out->mutable_synced()->set_resource_version(Version());
        return true;
      }
    } while (GoOn() || !synced_);
    if (beat) out->mutable_bookmark()->set_resource_version(Version());
    return beat;
  }
  bool WriteChange(pb::TopologyChange* out) {
    while (changes_ && at_ < changes_->size()) {
      const ObjectChange& change = (*changes_)[at_++];
      if (!filter_.Passes(change.key)) continue;
      const bool gone = change.type == pb::CHANGE_TYPE_DELETED;
      out->set_type(change.type);
      ToProto(gone ? *from_ : *to_, watched_, change.key, out);
      return true;
    }
    return false;
  }
  // False: there is no newer model.
  bool GoOn() {
    looked_ = true;
    Model now = models_.Current();
    if (from_ && from_->view == now->view) return false;
    changes_ = from_ ? deltas_.Between(from_, now, watched_)
                     : std::make_shared<const std::vector<ObjectChange>>(AllOf(*now, watched_));
    at_ = 0;
    to_ = std::move(now);
    return true;
  }
  // Of `from_`, which is kept for who comes back with it.
  std::string Version() const {
    models_.Keep(from_);
    return fmt::format("{:08x}.{}", models_.epoch(), from_->view->generation.value());
  }

  daemon::Models& models_;
  TopologyDeltas& deltas_;
  const Watched watched_;
  const ObjectFilter filter_;
  Model from_, to_;  // All changes to the first are sent; `changes_` lead to the second.
  TopologyDeltas::Delta changes_;
  size_t at_ = 0;
  bool looked_ = false;  // For a newer model, at least once.
  bool synced_ = false;
};

// The model that a client has seen the last of.
absl::StatusOr<Model> FindVersion(daemon::Models& models, const std::string& version) {
  const size_t dot = version.find('.');
  const auto part = [&](size_t at, size_t size) {
    return std::string_view(version).substr(at, size);
  };
  const auto epoch = ParseNumber<uint32_t>(part(0, dot), 16);
  const auto generation = dot == std::string::npos
                              ? std::nullopt
                              : ParseNumber<uint64_t>(part(dot + 1, std::string::npos));
  if (!epoch || !generation) return BadField("resource_version", "is not one of ours");
  Model current = models.Current();
  if (*epoch == models.epoch()) {
    if (current->view->generation.value() == *generation) return current;
    if (Model kept = models.Find(Generation(*generation))) return kept;
  }
  return MakeError(absl::StatusCode::kOutOfRange, "RESOURCE_VERSION_TOO_OLD",
                   fmt::format("version {} is not kept any more; watch from the start", version));
}

}  // namespace

absl::StatusOr<std::shared_ptr<TopologyStream>> MakeTopologyStream(
    daemon::Models& models, TopologyDeltas& deltas, const pb::WatchTopologyRequest& request) {
  if (request.kind() == pb::TOPOLOGY_KIND_UNSPECIFIED || !pb::TopologyKind_IsValid(request.kind()))
    return BadField("kind", "is none of NODE, HOST, PORT and LINK");
  const auto model = models.Ready();
  if (!model.ok()) return model.status();
  auto filter = ObjectFilter::Read(**model, request);
  if (!filter.ok()) return filter.status();
  Model from;
  if (!request.resource_version().empty()) {
    auto seen = FindVersion(models, request.resource_version());
    if (!seen.ok()) return seen.status();
    from = *std::move(seen);
  }
  return std::make_shared<Stream>(models, deltas, Watched{request.kind(), request.view()},
                                  *std::move(filter), std::move(from));
}

}  // namespace fabricd::rpc
