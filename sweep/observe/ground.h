// SPDX-License-Identifier: Apache-2.0
// Ground: the data and engine that sweeps, surveys and runs share. All members outlive their users.
#pragma once

#include "fabric/snapshot_builder.h"
#include "mad/transaction_engine.h"
#include "sweep/device/device_table.h"
#include "sweep/interface/options.h"
#include "sweep/interface/problems.h"

namespace fabricd::sweep {

struct Ground {
  fabric::SnapshotBuilder& builder;
  DeviceTable& devices;
  mad::TransactionEngine& engine;
  ProblemList& problems;
  const CoreOptions& options;
};

}  // namespace fabricd::sweep
