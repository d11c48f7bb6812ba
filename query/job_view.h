// SPDX-License-Identifier: Apache-2.0
// Why is this job slow: the worst port by each measure, among the ports of the job's hosts, those
// that they are linked to, and those on the paths between them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "query/measures.h"

namespace fabricd::query {

enum class JobPlace : uint8_t { kHost, kEdge, kPath };
std::string_view JobPlaceName(JobPlace place);  // "HOST"

struct JobPort {
  PortRef port;
  JobPlace place = JobPlace::kHost;
};
// By (node, port), each once. Without a plan there is nothing of kPath. Costs for each port of the
// hosts the switches on its paths.
std::vector<JobPort> PortsOfJob(const ReadModel& model,
                                const std::vector<const fabric::Host*>& hosts);

struct WorstOfJob {
  std::string_view measure;  // "wait"
  PortRef port;              // None: no port has a value above 0.
  JobPlace place = JobPlace::kHost;
  Measure value;
  std::string text;  // In words.
  uint32_t ports_measured = 0;
};
struct JobView {
  uint32_t ports = 0, ports_not_fresh = 0;  // ACTIVE ones.
  std::vector<PortRef> ports_down;          // Of the hosts.
  std::vector<WorstOfJob> worst;            // Always the same measures in the same order.
};
JobView ViewJob(const Telemetry& telemetry, const std::vector<const fabric::Host*>& hosts,
                Millis errors_since);

}  // namespace fabricd::query
