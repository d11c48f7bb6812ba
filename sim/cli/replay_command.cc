// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/replay_command.h"

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "common/status.h"
#include "recorder/effects_text.h"
#include "recorder/recorder.h"
#include "recorder/replay.h"

namespace fabricd::sim {
namespace {

struct ReplayArguments {
  std::string path;
  std::string until;  // A record's number, or seconds: "12.5s".
  uint64_t break_at = 0;
  bool breaks = false, lists = false;
};

// False: neither a number nor seconds.
bool ReadUntil(const std::string& text, recorder::ReplayOptions& options) {
  if (text.empty()) return true;
  try {
    size_t used = 0;
    if (text.back() == 's') {
      const double seconds = std::stod(text, &used);
      options.until_time =
          std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
      return used + 1 == text.size() && seconds >= 0;
    }
    options.until = std::stoull(text, &used);
    return used == text.size() && text.front() != '-';
  } catch (const std::exception&) {
    return false;
  }
}

// All records as text, those behind a gap too.
absl::Status List(const recorder::Recording& recording) {
  Instant now{};
  return recording.ForEach(/*beyond_gap=*/true, [&](uint64_t number, const auto& record) {
    std::string text = "start of the core";
    if (record.has_step()) {
      now += Duration(record.step().after_ns());
      const auto event = recorder::EventOf(record.step());
      text = record.step().has_answer()
                 ? fmt::format("answer of question {}", record.step().answer().question())
             : event.ok() ? recorder::TextOf(*event)
                          : Message(event.status());
    } else if (record.has_taken()) {
      now += Duration(record.taken().after_ns());
      text = fmt::format("  {} sends, {} questions, {} events, {} answers to commands",
                         record.taken().sends(), record.taken().questions(),
                         record.taken().events(), record.taken().finished());
    } else if (!record.has_start()) {
      text = fmt::format("{} records are missing", record.lost());
    }
    fmt::print("{:>8} {:>14.6f} s  {}\n", number,
               std::chrono::duration<double>(now.time_since_epoch()).count(), text);
    return true;
  });
}

int Show(const recorder::ReplayResult& result) {
  fmt::print("{} records over {:.3f} s replayed; effects recorded {:016x}, replayed {:016x}\n",
             result.records, std::chrono::duration<double>(result.time).count(),
             result.recorded_digest, result.replayed_digest);
  if (!result.stopped.empty()) fmt::print("ended early: {}\n", result.stopped);
  if (!result.difference) return kExitOk;
  fmt::print("record {} comes out otherwise{}{}:\n", result.difference->record,
             result.difference->counts.empty() ? "" : ": ", result.difference->counts);
  for (const std::string& line : result.difference->lines) fmt::print("  {}\n", line);
  return kExitFailure;
}

int Replay(const ReplayArguments& arguments) {
  recorder::ReplayOptions options;
  if (!ReadUntil(arguments.until, options)) {
    fmt::print(stderr, "fabricsim: --until {}: a record's number, or seconds as 12.5s\n",
               arguments.until);
    return kExitUsage;
  }
  if (arguments.breaks) options.break_at = arguments.break_at;
  const auto recording = recorder::Recording::Open(arguments.path);
  if (!recording.ok()) {
    fmt::print(stderr, "fabricsim: {}\n", Message(recording.status()));
    return kExitFailure;
  }
  if (arguments.lists) {
    const absl::Status listed = List(*recording);
    if (!listed.ok()) fmt::print(stderr, "fabricsim: {}\n", Message(listed));
    return listed.ok() ? kExitOk : kExitFailure;
  }
  fmt::print("recorded by {} {}, life {}\n", "fabricd", recording->header().version(),
             recording->header().life());
  const auto result = recorder::Replay(*recording, options,
                                       [](const std::string& line) { fmt::print("{}\n", line); });
  if (!result.ok()) {
    fmt::print(stderr, "fabricsim: {}\n", Message(result.status()));
    return kExitFailure;
  }
  return Show(*result);
}

}  // namespace

void AddReplay(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command = app.add_subcommand("replay", "Run the core over what fabricd has recorded");
  command->add_option("PATH", arguments->path, "A directory of recordings, or a segment")
      ->required();
  command->add_option("--until", arguments->until,
                      "End before this record, or after so long: 12.5s");
  CLI::Option* const break_at = command->add_option(
      "--break-at", arguments->break_at, "Print what goes in and comes out from this record on");
  command->add_flag("--list", arguments->lists, "Print the records, and replay nothing");
  command->callback([arguments, break_at, &run] {
    arguments->breaks = break_at->count() > 0;
    run = [arguments] { return Replay(*arguments); };
  });
}

}  // namespace fabricd::sim
