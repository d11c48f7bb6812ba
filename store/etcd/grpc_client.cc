// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/grpc_client.h"

#include <utility>

#include "common/status.h"
#include "store/etcd/grpc_members.h"
#include "store/etcd/grpc_watch.h"

namespace fabricd::store::etcd {
namespace {

pb::RangeRequest ToProto(const RangeRequest& request) {
  pb::RangeRequest out;
  out.set_key(request.key);
  out.set_range_end(request.range_end);
  out.set_limit(request.limit);
  out.set_revision(request.revision);
  return out;
}

void ToProto(const Comparison& comparison, pb::Compare* out) {
  out->set_key(comparison.key);
  out->set_result(pb::Compare::EQUAL);
  switch (comparison.field) {
    case Comparison::Field::kVersion:
      out->set_target(pb::Compare::VERSION);
      out->set_version(comparison.is);
      break;
    case Comparison::Field::kCreateRevision:
      out->set_target(pb::Compare::CREATE);
      out->set_create_revision(comparison.is);
      break;
    case Comparison::Field::kModRevision:
      out->set_target(pb::Compare::MOD);
      out->set_mod_revision(comparison.is);
      break;
  }
}

void ToProto(const Change& change, pb::RequestOp* out) {
  if (change.is_delete) {
    pb::DeleteRangeRequest& deletion = *out->mutable_request_delete_range();
    deletion.set_key(change.key);
    deletion.set_range_end(change.range_end);
    return;
  }
  pb::PutRequest& put = *out->mutable_request_put();
  put.set_key(change.key);
  put.set_value(change.value);
  put.set_lease(change.lease);
}

class GrpcClient final : public Client {
 public:
  explicit GrpcClient(std::unique_ptr<Members> members) : members_(std::move(members)) {}

  void Limit(std::optional<std::chrono::milliseconds> time) override { members_->Limit(time); }

  absl::StatusOr<RangeResult> Range(const RangeRequest& request) override {
    pb::RangeResponse response;
    const pb::RangeRequest sent = ToProto(request);
    FABRICD_RETURN_IF_ERROR(members_->Call([&](Member& member, grpc::ClientContext& context) {
      return member.kv->Range(&context, sent, &response);
    }));
    RangeResult result{
        {}, response.more(), response.header().revision(), response.header().cluster_id()};
    for (const pb::KeyValue& kv : response.kvs()) result.kvs.push_back(FromProto(kv));
    return result;
  }

  absl::StatusOr<int64_t> Put(const std::string& key, const std::string& value,
                              int64_t lease) override {
    pb::PutRequest request;
    request.set_key(key);
    request.set_value(value);
    request.set_lease(lease);
    pb::PutResponse response;
    FABRICD_RETURN_IF_ERROR(
        members_->Call(CallKind::kChange, [&](Member& member, grpc::ClientContext& context) {
          return member.kv->Put(&context, request, &response);
        }));
    return response.header().revision();
  }

  absl::StatusOr<int64_t> DeleteRange(const std::string& key,
                                      const std::string& range_end) override {
    pb::DeleteRangeRequest request;
    request.set_key(key);
    request.set_range_end(range_end);
    pb::DeleteRangeResponse response;
    FABRICD_RETURN_IF_ERROR(
        members_->Call(CallKind::kChange, [&](Member& member, grpc::ClientContext& context) {
          return member.kv->DeleteRange(&context, request, &response);
        }));
    return response.deleted();
  }

  absl::StatusOr<TransactionResult> Commit(const Transaction& transaction) override {
    pb::TxnRequest request;
    for (const Comparison& comparison : transaction.comparisons)
      ToProto(comparison, request.add_compare());
    for (const Change& change : transaction.changes) ToProto(change, request.add_success());
    for (const RangeRequest& read : transaction.reads)
      *request.add_failure()->mutable_request_range() = ToProto(read);
    pb::TxnResponse response;
    FABRICD_RETURN_IF_ERROR(
        members_->Call(CallKind::kChange, [&](Member& member, grpc::ClientContext& context) {
          return member.kv->Txn(&context, request, &response);
        }));
    TransactionResult result{response.succeeded(), response.header().revision(), {}};
    for (const pb::ResponseOp& part : response.responses())
      for (const pb::KeyValue& kv : part.response_range().kvs())
        result.kvs.push_back(FromProto(kv));
    return result;
  }

  absl::StatusOr<Lease> GrantLease(std::chrono::seconds ttl) override {
    pb::LeaseGrantRequest request;
    request.set_ttl(ttl.count());
    pb::LeaseGrantResponse response;
    FABRICD_RETURN_IF_ERROR(members_->Call([&](Member& member, grpc::ClientContext& context) {
      return member.lease->LeaseGrant(&context, request, &response);
    }));
    if (!response.error().empty()) return Internal("etcd: lease: {}", response.error());
    return Lease{response.id(), std::chrono::seconds(response.ttl())};
  }

  absl::StatusOr<std::chrono::seconds> KeepAlive(int64_t lease) override {
    pb::LeaseKeepAliveRequest request;
    request.set_id(lease);
    pb::LeaseKeepAliveResponse response;
    // A stream of one request: what a stream that stays open saves is not worth its failures.
    FABRICD_RETURN_IF_ERROR(members_->Call([&](Member& member, grpc::ClientContext& context) {
      const auto stream = member.lease->LeaseKeepAlive(&context);
      stream->Write(request);
      stream->WritesDone();
      const bool answered = stream->Read(&response);
      const grpc::Status status = stream->Finish();
      if (answered || !status.ok()) return answered ? grpc::Status::OK : status;
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "no answer to a keepalive");
    }));
    if (response.ttl() <= 0) return NotFound("etcd: lease {:#x} has expired", lease);
    return std::chrono::seconds(response.ttl());
  }

  absl::Status RevokeLease(int64_t lease) override {
    pb::LeaseRevokeRequest request;
    request.set_id(lease);
    pb::LeaseRevokeResponse response;
    return members_->Call([&](Member& member, grpc::ClientContext& context) {
      return member.lease->LeaseRevoke(&context, request, &response);
    });
  }

  absl::StatusOr<MemberStatus> Status() override {
    pb::StatusResponse response;
    FABRICD_RETURN_IF_ERROR(members_->Call([&](Member& member, grpc::ClientContext& context) {
      return member.maintenance->Status(&context, {}, &response);
    }));
    return MemberStatus{response.version(),
                        response.leader(),
                        response.dbsize(),
                        {response.errors().begin(), response.errors().end()}};
  }

  std::unique_ptr<Watch> StartWatch(WatchRequest request, WatchHandler& handler) override {
    return std::make_unique<GrpcWatch>(*members_, std::move(request), handler);
  }

 private:
  const std::unique_ptr<Members> members_;
};

}  // namespace

KeyValue FromProto(const pb::KeyValue& kv) {
  return {kv.key(), kv.value(), kv.create_revision(), kv.mod_revision(), kv.version(), kv.lease()};
}

absl::StatusOr<std::unique_ptr<Client>> MakeGrpcClient(ClientOptions options) {
  auto members = Members::Make(std::move(options));
  if (!members.ok()) return members.status();
  return std::unique_ptr<Client>(std::make_unique<GrpcClient>(*std::move(members)));
}

}  // namespace fabricd::store::etcd
