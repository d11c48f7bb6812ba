// SPDX-License-Identifier: Apache-2.0
// fabric.v1.EventService. Any thread.
#pragma once

#include "daemon/base/models.h"
#include "daemon/record/event_log.h"
#include "daemon/rpc/streams/watch_stream.h"
#include "fabric/v1/event_service.grpc.pb.h"
#include "query/read_model.h"

namespace fabricd::rpc {

class EventService final : public ::fabric::v1::EventService::CallbackService {
 public:
  EventService(daemon::Models& models, daemon::EventLog& log, WatchHub& hub)
      : models_(models), log_(log), hub_(hub) {}

  grpc::ServerUnaryReactor* ListEvents(grpc::CallbackServerContext* context,
                                       const ::fabric::v1::ListEventsRequest* request,
                                       ::fabric::v1::ListEventsResponse* response) override;
  grpc::ServerWriteReactor<::fabric::v1::WatchEventsResponse>* WatchEvents(
      grpc::CallbackServerContext* context,
      const ::fabric::v1::WatchEventsRequest* request) override;

 private:
  absl::StatusOr<std::shared_ptr<WatchStream<::fabric::v1::WatchEventsResponse>>> MakeStream(
      const ::fabric::v1::WatchEventsRequest& request);

  daemon::Models& models_;
  daemon::EventLog& log_;
  WatchHub& hub_;
};

}  // namespace fabricd::rpc
