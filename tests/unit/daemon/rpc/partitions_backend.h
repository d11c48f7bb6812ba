// SPDX-License-Identifier: Apache-2.0
// A small fabric whose core keeps partitions as the real one does, and makes them durable at once.
#pragma once

#include <memory>
#include <vector>

#include "tests/unit/daemon/rpc/small_fabric.h"

namespace fabricd::rpc::testing {

struct PartitionsBackend {
  PartitionsBackend() {
    backend.on_partitions = [this](sweep::ChangePartitions command,
                                   const daemon::PartitionsDone& done) {
      asked.push_back(command);
      if (!refusal.ok()) return done(refusal, nullptr);
      auto outcome = policy::Apply(command.request, fabric.partitions);
      if (!outcome.ok()) return done(outcome.status(), nullptr);
      if (!command.validate_only) {
        fabric.partitions = outcome->after;
        Publish();
      }
      done(absl::OkStatus(), std::make_shared<const policy::PartitionOutcome>(*std::move(outcome)));
    };
  }
  void Publish() {
    auto view = fabric.View(++generation);
    view->tables = tables;
    view->partitions_in_effect = in_effect;
    backend.Publish(std::move(view));
  }

  SmallFabric fabric;
  FakeBackend backend{fabric.View()};
  std::vector<sweep::ChangePartitions> asked;
  absl::Status refusal;
  std::shared_ptr<const fabric::TablesByPort> tables;
  bool in_effect = true;
  uint64_t generation = 10;
};

}  // namespace fabricd::rpc::testing
