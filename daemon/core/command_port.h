// SPDX-License-Identifier: Apache-2.0
// CommandPort: sends commands to the core and calls a function when the core has finished each of
// them. Any thread.
//
//   gRPC threads, verdicts ── commands ──► Inbox ──► core ── Finish() on its thread ──► `done`
//
// If the inbox is full or closed, a command is finished at once with kUnavailable.
#pragma once

#include <functional>
#include <utility>
#include <variant>

#include "common/status.h"
#include "daemon/base/backend.h"
#include "daemon/core/inbox.h"
#include "daemon/core/pending_commands.h"

namespace fabricd::daemon {

class CommandPort {
 public:
  Inbox& inbox() { return inbox_; }

  // As in Backend.
  void PostSweep(bool heavy, std::function<void(absl::Status)> done) {
    const uint64_t command =
        pending_.Add([done = std::move(done)](const sweep::FinishedCommand& finished) {
          done(finished.status);
        });
    Push(sweep::SweepCommand{command, heavy}, command);
  }
  void PostHold(HoldCommand command, HoldDone done) {
    Post(std::move(command), &sweep::FinishedCommand::hold, std::move(done));
  }
  void PostPartitions(sweep::ChangePartitions command, PartitionsDone done) {
    Post(std::variant<sweep::ChangePartitions>(std::move(command)),
         &sweep::FinishedCommand::partitions, std::move(done));
  }
  void PostMastership(MastershipCommand command, MastershipDone done) {
    Post(std::move(command), &sweep::FinishedCommand::mastership, std::move(done));
  }
  // The core has finished a command: calls its `done`.
  void Finish(const sweep::FinishedCommand& finished) { pending_.Finish(finished); }

 private:
  // `answer`: the member of the finished command that `done` receives after the status.
  template <typename... Commands, typename Answer, typename Done>
  void Post(std::variant<Commands...> wanted, Answer sweep::FinishedCommand::*answer, Done done) {
    const uint64_t command =
        pending_.Add([done = std::move(done), answer](const sweep::FinishedCommand& finished) {
          done(finished.status, finished.*answer);
        });
    std::visit(
        [&](auto&& each) {
          each.command = command;
          Push(std::move(each), command);
        },
        std::move(wanted));
  }
  void Push(sweep::Event event, uint64_t command) {
    if (inbox_.PushCommand(std::move(event))) return;
    Finish({command, Unavailable("fabricd is busy or stopping"), nullptr});
  }

  Inbox inbox_;
  PendingCommands pending_;
};

}  // namespace fabricd::daemon
