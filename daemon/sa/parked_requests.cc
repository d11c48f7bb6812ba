// SPDX-License-Identifier: Apache-2.0
#include "daemon/sa/parked_requests.h"

#include <algorithm>
#include <utility>

#include "mad/wire/mad_header.h"

namespace fabricd::daemon {

bool ParkedRequests::Add(mad::IncomingMad& request, Clock::time_point until) {
  const uint16_t lid = request.from.lid.value();
  const uint64_t transaction =
      wire::MadHeader::Decode(mad::WholeMad(request.payload)).transaction_id;
  if (keys_.contains(Key{lid, request.from.qpn, transaction})) return true;
  size_t& of_lid = of_lid_[lid];
  if (parked_.size() >= kMost || of_lid >= kShare) return false;
  ++of_lid;
  keys_.insert(Key{lid, request.from.qpn, transaction});
  parked_.push_back({std::move(request), until});
  first_deadline_ = std::min(first_deadline_, until);
  return true;
}

std::vector<ParkedRequests::Parked> ParkedRequests::TakeAll() {
  keys_.clear();
  of_lid_.clear();
  first_deadline_ = Clock::time_point::max();
  return std::exchange(parked_, {});
}

}  // namespace fabricd::daemon
