// SPDX-License-Identifier: Apache-2.0
// HostileMessages: requests that no honest client would send. Fields of every kind are filled by
// reflection, half of the requests mostly with what the daemon knows, so that they get past the
// first look-up, the others with what it should refuse. The same seed and answers make the same
// requests. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <google/protobuf/message.h>

#include "common/rng.h"

namespace fabricd::test {

class HostileMessages {
 public:
  // `names`: of what is on the fabric.
  HostileMessages(uint64_t seed, std::vector<std::string> names);

  // Some of the fields, at most some 400 KiB; seldom more than the daemon takes (1 MiB).
  void Fill(google::protobuf::Message& message);
  // What is no message of this kind, or hardly: a filled one with bytes changed, doubled, cut off;
  // any bytes; groups in groups in groups.
  std::string Damaged(const google::protobuf::Message& kind);
  // Takes up strings of an answer (names, tokens, ids), to be used in requests.
  void Learn(const google::protobuf::Message& answer);
  // Something that a field of text may be given. Nearly always UTF-8.
  std::string Text();

  Rng& rng() { return rng_; }

 private:
  void FillMessage(google::protobuf::Message& message, int depth);
  void FillField(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                 int depth);
  void Put(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
           int depth);
  // A name that is on the fabric, or a string of an answer.
  const std::string& Known();
  // What the field was in an answer, or a name.
  const std::string& Known(const std::string& field);
  std::string Bytes(size_t size);
  std::string LongText();
  int64_t Number();
  double Fraction();
  bool IsGood() { return good_ && rng_.Below(16) > 0; }

  Rng rng_;
  const std::vector<std::string> names_;
  std::map<std::string, std::vector<std::string>> learnt_;  // By field.
  int64_t budget_ = 0;  // Bytes of text that the message under way may still get.
  bool good_ = false;   // The message under way is mostly one of an honest client.
};

}  // namespace fabricd::test
