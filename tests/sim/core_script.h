// SPDX-License-Identifier: Apache-2.0
// CoreScript: a core on a simulated fabric, driven by lines of text. What the core does comes back
// as text: requests that it sends, by kind; questions; events; finished commands; log lines; and
// each change of its phase. tests/golden/core/README.md has the commands.
//
// It is a shell of the core as the simulation's is, but answers to questions can be held back. Time
// is virtual and the same script gives the same text.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/fabric/sim_fabric.h"
#include "sweep/core.h"

namespace fabricd::test {

class CoreScript {
 public:
  // What one command leads to, a line for each; faults of the command itself too.
  std::string Run(const std::string& line);

 private:
  using Words = std::vector<std::string>;

  std::string Fabric(const Words& words);
  std::string Options(const Words& words);
  std::string Start(const Words& words);
  std::string ForATime(const Words& words);
  std::string Until(const Words& words);
  std::string Cable(const Words& words, bool plug);
  std::string Mute(const Words& words, bool mute);
  std::string Power(const Words& words, bool on);
  std::string Trap(const Words& words);
  std::string OtherSm(const Words& words);
  std::string Handover(const Words& words);
  std::string Sweep(const Words& words);
  std::string Hold(const Words& words);
  std::string Keep(const Words& words, bool keep);
  std::string Answer(const Words& words);
  std::string Show() const;

  // Runs until nothing is due before `end`, or `until` holds. False: it never did.
  bool Advance(Instant end, const std::function<bool()>& until);
  Instant NextInstant() const;
  void Step(sweep::Event event);
  void TakeEffects();
  void OnQuestion(sweep::Question question);
  void NoteSent(const mad::OutgoingMad& mad);
  void NotePhase();
  void Note(std::string text);
  void FlushSent();
  sweep::Answer AnswerTo(const sweep::Question& question, const absl::Status& status);
  PortRef Port(const std::string& text, std::string& fault) const;
  std::optional<NodeIndex> Node(const std::string& text, std::string& fault) const;

  Instant now_{std::chrono::seconds(1)};
  sweep::CoreOptions options_;
  std::unique_ptr<sim::SimFabric> fabric_;
  PortRef host_;
  std::unique_ptr<sweep::Core> core_;
  std::shared_ptr<const sweep::FabricView> view_;  // The last one published.
  std::map<Guid, fabric::LidRecord> durable_;
  std::set<std::string> kept_kinds_;          // Of questions that are not answered at once.
  std::vector<sweep::Question> kept_;         // Those that were asked, the newest of each kind.
  sweep::Phase phase_ = sweep::Phase::kIdle;  // As last written.
  std::vector<std::string> lines_;            // Of the command under way.
  std::vector<std::pair<std::string, size_t>> sent_;  // Since the last line, in order.
  std::set<std::string> seen_;  // Kinds of requests and questions of this command.
};

}  // namespace fabricd::test
