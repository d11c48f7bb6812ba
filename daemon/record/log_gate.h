// SPDX-License-Identifier: Apache-2.0
// LogGate: limits the log lines that are written, so that no source can fill the disk. Lines that
// differ only in words with digits (names, numbers, times) are of one kind. Pure, single thread.
//   each kind        Limits::kind_burst lines, then one per Limits::kind_interval; the next line
//                    that is written has the number of lines left out before it
//   all kinds        Limits::burst lines, then one per Limits::interval
//   kinds            Limits::kinds; further ones share the limits of one
// If a kind stops with lines left out, one line has their number (TakeSummaries).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/time.h"

namespace fabricd::daemon {

class LogGate {
 public:
  struct Limits {
    size_t kind_burst = 20;
    Duration kind_interval = std::chrono::seconds(10);
    size_t burst = 500;
    Duration interval = std::chrono::milliseconds(200);
    size_t kinds = 256;
  };
  struct Verdict {
    bool write = false;
    uint64_t left_out = 0;  // Of the same kind, before this line.
  };
  struct Summary {
    int level = 0;
    std::string last;  // The last line that was left out.
    uint64_t left_out = 0;
  };

  LogGate() : LogGate(Limits{}) {}
  explicit LogGate(Limits limits);

  // `now` must not go backwards.
  Verdict Admit(int level, std::string_view text, Instant now);
  // Summaries of kinds that may write again but had no further line. Removes idle kinds.
  std::vector<Summary> TakeSummaries(Instant now);
  size_t kinds() const { return kinds_.size(); }

  // The line with each word that contains digits replaced by one character. Public for its test.
  static std::string KindOf(std::string_view text);

 private:
  // Holds tokens, one per line: full at `most`, plus one per `interval`.
  class Bucket {
   public:
    Bucket(size_t most, Duration interval) : most_(most), interval_(interval), tokens_(most) {}
    bool Has(Instant now) {
      Refill(now);
      return tokens_ > 0;
    }
    void Take() { --tokens_; }
    bool IsFull(Instant now) {
      Refill(now);
      return tokens_ == most_;
    }

   private:
    void Refill(Instant now);
    size_t most_;
    Duration interval_;
    size_t tokens_;
    Instant filled_{};
  };
  struct Kind {
    Bucket bucket;
    Summary held;
  };
  Kind& Find(int level, std::string_view text);

  const Limits limits_;
  Bucket all_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace fabricd::daemon
