// SPDX-License-Identifier: Apache-2.0
// cli/client: one daemon to talk to: its address, calls and answers.
//
// Client: blocking calls to one fabricd. Listings come whole, all pages of one view.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "cli/terminal/exit_code.h"
#include "fabric/sim/v1/sim.grpc.pb.h"
#include "fabric/v1/admin_service.grpc.pb.h"
#include "fabric/v1/event_service.grpc.pb.h"
#include "fabric/v1/partition_service.grpc.pb.h"
#include "fabric/v1/plan_service.grpc.pb.h"
#include "fabric/v1/remediation_service.grpc.pb.h"
#include "fabric/v1/subnet_admin_service.grpc.pb.h"
#include "fabric/v1/telemetry_service.grpc.pb.h"
#include "fabric/v1/topology_service.grpc.pb.h"
#include "fabric/v1/verdict_service.grpc.pb.h"

namespace fabricd::cli {

namespace pb = ::fabric::v1;
namespace simpb = ::fabric::sim::v1;

using Timeout = std::chrono::milliseconds;
inline constexpr Timeout kShortTimeout{15'000};  // Reads.
inline constexpr Timeout kLongTimeout{600'000};  // Sweeps, exports.
inline constexpr Timeout kProbeTimeout{2'000};   // One of many questions.

inline constexpr int kMostOfPage = 5000;  // The API gives no more.

// Where a fabricd is, and who we are to it.
struct Endpoint {
  // unix:PATH, unix:///PATH, a path, or HOST:PORT; several of nodes that share their state, with
  // commas.
  std::string server;
  std::string tls_cert, tls_key, tls_ca;  // PEM files, of HOST:PORT: mutual TLS always.
};

class Client {
 public:
  // Servers that do not answer, one after the other, before a watch ends; and listings of a view
  // that is gone.
  static constexpr int kListAttempts = 3;

  // `timeout`: of every call, in place of its own. Of several servers the master is asked; where
  // none says that it is, the first that answers; where none answers, the first.
  Client(const Endpoint& endpoint, std::optional<Timeout> timeout);

  // kUsage: the endpoint's certificates cannot be had.
  const Result& usable() const { return usable_; }
  const std::string& server() const { return server_; }
  // Items of one call of a listing, 1 to kMostOfPage.
  void set_page_size(int size) { page_size_ = size; }
  pb::TopologyService::Stub& topology() { return *topology_; }
  pb::AdminService::Stub& admin() { return *admin_; }
  pb::EventService::Stub& events() { return *events_; }
  pb::RemediationService::Stub& remediation() { return *remediation_; }
  pb::PartitionService::Stub& partitions() { return *partitions_; }
  pb::PlanService::Stub& plans() { return *plans_; }
  pb::SubnetAdminService::Stub& subnet_admin() { return *subnet_admin_; }
  pb::TelemetryService::Stub& telemetry() { return *telemetry_; }
  pb::VerdictService::Stub& verdicts() { return *verdicts_; }
  simpb::SimService::Stub& sim() { return *sim_; }

  // One unary call: Call(client.topology(), &Stub::GetSm, request, &response). Where a node refuses
  // it that waits beside the master, the master is asked, with the same certificates.
  template <typename Stub, typename Base, typename Request, typename Response>
  Result Call(Stub& stub,
              grpc::Status (Base::*method)(grpc::ClientContext*, const Request&, Response*),
              const Request& request, Response* response, Timeout timeout = kShortTimeout) {
    grpc::Status status;
    {
      grpc::ClientContext context;
      SetDeadline(context, timeout);
      status = (stub.*method)(&context, request, response);
    }
    const auto master = ChannelToMaster(status);
    if (master == nullptr) return ToResult(status, server_);
    Stub there(master);
    grpc::ClientContext context;
    SetDeadline(context, timeout);
    return ToResult((there.*method)(&context, request, response), MasterOf(status));
  }

  // For commands that change what they have read: goes on at the master, if this node waits beside
  // it. kRefused: this node is not the master and names none. What it shows may be old.
  Result GoToMaster();

  // All pages in one response. A view that goes while it is being listed is listed anew.
  template <typename Request, typename Response>
  Result List(grpc::Status (pb::TopologyService::Stub::*method)(grpc::ClientContext*,
                                                                const Request&, Response*),
              Request request, Response* all) {
    return List(*topology_, method, std::move(request), all);
  }
  template <typename Stub, typename Base, typename Request, typename Response>
  Result List(Stub& stub,
              grpc::Status (Base::*method)(grpc::ClientContext*, const Request&, Response*),
              Request request, Response* all) {
    grpc::Status status;
    for (int attempt = 0; attempt < kListAttempts; ++attempt) {
      all->Clear();
      status = ListOnce(stub, method, request, all);
      if (status.error_code() != grpc::StatusCode::OUT_OF_RANGE) break;
    }
    return ToResult(status, server_);
  }

  // Asks until `probe` says that `what` is so, or fails for another reason than that nobody is
  // there: a daemon may come back.
  Result Poll(Timeout timeout, const std::string& what,
              const std::function<Result(Timeout left, bool* done)>& probe);

  // Calls on_piece for each message of a stream; a failure of on_piece ends it. Without `timeout`
  // it lasts until the other side ends it.
  template <typename Stub, typename Base, typename Request, typename Response>
  Result Stream(Stub& stub,
                std::unique_ptr<grpc::ClientReader<Response>> (Base::*method)(grpc::ClientContext*,
                                                                              const Request&),
                const Request& request, const std::function<Result(const Response&)>& on_piece,
                std::optional<Timeout> timeout = kLongTimeout) {
    return StreamUntil(stub, method, request, on_piece, EndOf(timeout)).result;
  }

  // A stream of what happens, which goes on where it was when its connection is closed: a daemon
  // closes each after a while. Of several servers it goes on at the one that is master by then. A
  // version that is not known there is left out, with a note. Ends as Stream() does, or when no
  // server answers.
  template <typename Stub, typename Base, typename Request, typename Response>
  Result Follow(Stub& stub,
                std::unique_ptr<grpc::ClientReader<Response>> (Base::*method)(grpc::ClientContext*,
                                                                              const Request&),
                Request request, const std::function<Result(const Response&)>& on_piece,
                std::optional<Timeout> timeout) {
    const auto end = EndOf(timeout);
    std::unique_ptr<Stub> elsewhere;
    int fruitless = 0;
    bool moved = false;
    for (;;) {
      bool resumable = false;
      const Ended ended =
          StreamUntil(elsewhere ? *elsewhere : stub, method, request,
                      std::function<Result(const Response&)>([&](const Response& piece) {
                        if (const std::string& version = VersionOf(piece); !version.empty()) {
                          request.set_resource_version(version);
                          resumable = true;
                        }
                        return on_piece(piece);
                      }),
                      end);
      const bool over = end && std::chrono::system_clock::now() >= *end;
      if (ended.is_too_old && moved && !request.resource_version().empty()) {
        NoteStartsAgain();
        request.clear_resource_version();
        continue;
      }
      if (ended.result.code != kUnavailable || over) return ended.result;
      fruitless = resumable ? 0 : fruitless + 1;
      if (fruitless > (has_choice() ? kListAttempts : 0)) return ended.result;
      if (!has_choice()) continue;
      moved |= ChooseAnother();
      elsewhere = std::make_unique<Stub>(channel_);
    }
  }

  // After kUnavailable: connects again, of several servers to the one that is master by then.
  // False: there is only one.
  bool GoElsewhere() {
    if (!has_choice()) return false;
    ChooseAnother();
    MakeStubs();
    return true;
  }

  // Sends pieces as long as `next` fills one.
  template <typename Stub, typename Base, typename Request, typename Response>
  Result Upload(Stub& stub,
                std::unique_ptr<grpc::ClientWriter<Request>> (Base::*method)(grpc::ClientContext*,
                                                                             Response*),
                const std::function<bool(Request*)>& next, Response* response, Timeout timeout) {
    grpc::ClientContext context;
    SetDeadline(context, timeout);
    auto writer = (stub.*method)(&context, response);
    Request piece;
    while (next(&piece) && writer->Write(piece)) {
    }
    writer->WritesDone();
    return ToResult(writer->Finish(), server_);
  }

 private:
  using TimePoint = std::chrono::system_clock::time_point;

  bool has_choice() const { return servers_.size() > 1; }
  // Connects to one of several servers: channel_, server_.
  void Choose();
  // The same again. True: it is another one than before.
  bool ChooseAnother();
  void NoteStartsAgain() const;
  void MakeStubs();  // On channel_.

  // To the node at `master`, with a note. Null: it cannot be reached with what we have.
  std::shared_ptr<grpc::Channel> ChannelTo(const std::string& master) const;
  // Null: the status names no master, or as above.
  std::shared_ptr<grpc::Channel> ChannelToMaster(const grpc::Status& status) const {
    return ChannelTo(MasterOf(status));
  }

  std::optional<TimePoint> EndOf(std::optional<Timeout> timeout) const {
    if (!timeout) return std::nullopt;
    return std::chrono::system_clock::now() + timeout_.value_or(*timeout);
  }
  void SetDeadline(grpc::ClientContext& context, Timeout timeout) const {
    context.set_deadline(*EndOf(timeout));
  }
  // To resume from; empty: not from here.
  static const std::string& VersionOf(const pb::WatchEventsResponse& message) {
    if (message.has_event()) return message.event().resource_version();
    return message.has_synced() ? message.synced().resource_version()
                                : message.bookmark().resource_version();
  }
  static const std::string& VersionOf(const pb::WatchVerdictsResponse& message) {
    if (message.has_change()) return message.change().resource_version();
    return message.has_synced() ? message.synced().resource_version()
                                : message.bookmark().resource_version();
  }
  static const std::string& VersionOf(const pb::WatchTopologyResponse& message) {
    return message.has_synced() ? message.synced().resource_version()
                                : message.bookmark().resource_version();
  }
  struct Ended {
    Result result;
    bool is_too_old = false;  // OUT_OF_RANGE: the version to resume from.
  };
  template <typename Stub, typename Base, typename Request, typename Response>
  Ended StreamUntil(Stub& stub,
                    std::unique_ptr<grpc::ClientReader<Response>> (Base::*method)(
                        grpc::ClientContext*, const Request&),
                    const Request& request, const std::function<Result(const Response&)>& on_piece,
                    const std::optional<TimePoint>& end) {
    grpc::ClientContext context;
    if (end) context.set_deadline(*end);
    auto reader = (stub.*method)(&context, request);
    Response piece;
    while (reader->Read(&piece)) {
      if (Result result = on_piece(piece); !result.ok()) {
        context.TryCancel();
        return {result};
      }
    }
    const grpc::Status status = reader->Finish();
    return {ToResult(status, server_), status.error_code() == grpc::StatusCode::OUT_OF_RANGE};
  }
  template <typename Stub, typename Method, typename Request, typename Response>
  grpc::Status ListOnce(Stub& stub, Method method, Request request, Response* all) {
    request.set_page_size(page_size_);
    do {
      grpc::ClientContext context;
      SetDeadline(context, kShortTimeout);
      Response page;
      const grpc::Status status = (stub.*method)(&context, request, &page);
      if (!status.ok()) return status;
      request.set_page_token(page.next_page_token());
      all->MergeFrom(page);
    } while (!request.page_token().empty());
    all->clear_next_page_token();
    return grpc::Status::OK;
  }

  const Endpoint endpoint_;
  const std::vector<std::string> servers_;  // As gRPC takes them.
  std::string server_;                      // Of these, or the master that one of them named.
  const std::optional<Timeout> timeout_;
  int page_size_ = kMostOfPage;
  Result usable_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<pb::TopologyService::Stub> topology_;
  std::unique_ptr<pb::AdminService::Stub> admin_;
  std::unique_ptr<pb::EventService::Stub> events_;
  std::unique_ptr<pb::RemediationService::Stub> remediation_;
  std::unique_ptr<pb::PartitionService::Stub> partitions_;
  std::unique_ptr<pb::PlanService::Stub> plans_;
  std::unique_ptr<pb::SubnetAdminService::Stub> subnet_admin_;
  std::unique_ptr<pb::TelemetryService::Stub> telemetry_;
  std::unique_ptr<pb::VerdictService::Stub> verdicts_;
  std::unique_ptr<simpb::SimService::Stub> sim_;
};

}  // namespace fabricd::cli
