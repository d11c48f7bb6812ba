// SPDX-License-Identifier: Apache-2.0
// Contexts: the daemons that a user talks to, by names of their own, in
// ~/.config/fabricctl/config.yaml:
//
//   current-context: lab
//   contexts:
//     lab:
//       server: fabric1.example:4430
//       tls-cert: /etc/fabricd/client.crt
//       tls-key: /etc/fabricd/client.key
//       tls-ca: /etc/fabricd/ca.crt
//       timeout: 30s
#pragma once

#include <map>
#include <string>

#include "cli/terminal/exit_code.h"

namespace fabricd::cli {

// Empty: not set.
struct Context {
  std::string server, tls_cert, tls_key, tls_ca, timeout;
  friend bool operator==(const Context&, const Context&) = default;
};

struct ContextFile {
  std::string current;
  std::map<std::string, Context> contexts;
  friend bool operator==(const ContextFile&, const ContextFile&) = default;
};

// kUsage: not YAML, or a key that is none of the above. Pure.
Result ParseContexts(const std::string& text, ContextFile* file);
std::string FormatContexts(const ContextFile& file);

// FABRICCTL_CONFIG, else fabricctl/config.yaml below XDG_CONFIG_HOME, else below ~/.config; empty
// without a home.
std::string ContextPath();
// No file is an empty one.
Result LoadContexts(ContextFile* file);
// As a whole, with the directories that lead to it.
Result SaveContexts(const ContextFile& file);

}  // namespace fabricd::cli
