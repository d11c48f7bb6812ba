// SPDX-License-Identifier: Apache-2.0
// Completion of a command line: shells ask "fabricctl __complete WORD…" for what may follow. All of
// it comes from the tree of commands and from the daemon, there is no second list of verbs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/client/client.h"

namespace fabricd::cli {

class Grammar;

inline constexpr char kCompleteVerb[] = "__complete";
// Nobody waits longer for a list of names.
inline constexpr Timeout kCompletionTimeout{800};
// In place of candidates: the shell has them.
inline constexpr char kFilesDirective[] = ":files", kDirectoriesDirective[] = ":directories";

// A command line as far as it was typed.
struct TypedWords {
  const CLI::App* command = nullptr;                 // The innermost that was named.
  std::map<const CLI::Option*, std::string> values;  // Of options and positionals, the last one.
  const CLI::Option* option = nullptr;               // Whose value the last word is; null: none.
  std::string current;                               // The last word; of "--a=b" the b.
  bool only_names = false;                           // Behind "--": nothing is an option.
  std::string before;                                // What stands before it in that word: "--a=".
};
// The last word is the one that is being typed. Pure.
TypedWords ReadWords(const CLI::App& app, const std::vector<std::string>& words);

// What may stand in place of the last word, in order. Asks the daemon for names.
std::vector<std::string> Candidates(const Grammar& grammar, const TypedWords& typed);

// What a shell is to source: bash, zsh, fish; empty: another.
std::string CompletionScript(const std::string& shell);

}  // namespace fabricd::cli
