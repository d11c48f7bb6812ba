// SPDX-License-Identifier: Apache-2.0
// What `get` shows of Subnet Administration: records, services, subscriptions, multicast groups.
#pragma once

#include "cli/verbs/resource.h"
#include "fabric/v1/subnet_admin_service.pb.h"

namespace fabricd::cli {

// Names: the type of record; of paths also their source and destination; FIELD=VALUE of those that
// are wanted.
Result FetchRecords(Client& client, const GetOptions& options, bool wide,
                    std::unique_ptr<google::protobuf::Message>* answer);
Result FetchServices(Client& client, const GetOptions& options, bool wide,
                     std::unique_ptr<google::protobuf::Message>* answer);
Result FetchSubscriptions(Client& client, const GetOptions& options, bool wide,
                          std::unique_ptr<google::protobuf::Message>* answer);
Result FetchMulticast(Client& client, const GetOptions& options, bool wide,
                      std::unique_ptr<google::protobuf::Message>* answer);

// All that the call gives.
Result CollectGroups(Client& client, const pb::ListMulticastGroupsRequest& request,
                     pb::ListMulticastGroupsResponse* groups);

// `now_ms`: milliseconds since 1970.
Table RecordTable(const pb::ListRecordsResponse& records, bool wide);
Table ServiceTable(const pb::ListServicesResponse& services, bool wide, int64_t now_ms);
Table SubscriptionTable(const pb::ListSubscriptionsResponse& subscriptions, bool wide);
Table MulticastTable(const pb::ListMulticastGroupsResponse& groups, bool wide);

}  // namespace fabricd::cli
