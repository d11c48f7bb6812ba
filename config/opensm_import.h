// SPDX-License-Identifier: Apache-2.0
// From OpenSM's configuration to one of fabricd, line by line, so that an operator sees what
// becomes of each. Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.h"

namespace fabricd::config {

struct OpensmFiles {
  std::string conf;  // Text of opensm.conf: "KEY VALUE" a line, # comments.
  // Text of files beside it, by name. Of these only their presence counts: the result refers to
  // partitions.conf, guid2lid, guid2mkey and neighbors where they are given.
  std::map<std::string, std::string> files;
  std::string directory = "/etc/opensm";  // Where those files are.
};

enum class Verdict {
  kTaken,          // fabricd has the same key.
  kTranslated,     // fabricd says it otherwise.
  kImplied,        // It asks for what fabricd does anyway.
  kDropped,        // fabricd has nothing of the kind.
  kNotUnderstood,  // No line of OpenSM's, or no value that fabricd could take.
};
const char* VerdictName(Verdict verdict);  // "not understood"

struct ImportedLine {
  int line = 0;  // From 1; 0: a file as a whole.
  std::string file;
  std::string key;
  std::string value;  // kMasked for an M_Key, SM_Key or SA key.
  Verdict verdict = Verdict::kNotUnderstood;
  std::string message;
};

struct OpensmImport {
  Config config;
  std::string yaml;  // The keys that came of it, each with its origin; LoadYaml() gives `config`.
  std::vector<ImportedLine> lines;
};

// Never fails: what is not understood is left out and told. A key that stands twice counts as it
// stands last, as in OpenSM.
OpensmImport ImportOpensm(const OpensmFiles& files);

// One line for each line of the input that is no comment, and a last one with the counts.
std::string ImportReport(const OpensmImport& import);

}  // namespace fabricd::config
