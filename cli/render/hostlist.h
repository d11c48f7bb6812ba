// SPDX-License-Identifier: Apache-2.0
// Lists of names as Slurm writes them: "node[01-16,20],login1", "rack[1-2]node[1-4]". Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/exit_code.h"

namespace fabricd::cli {

inline constexpr size_t kMostNames = 65536;

// The names in the order written; a range keeps its leading zeros. Nothing, and what is wrong in
// *error, for brackets that do not match, ranges that are none, or more than kMostNames.
//
// `ports`: a bracket that ends a name holds port numbers, as in ibsim's files: "leaf[1-2][3-4]" is
// leaf1/3, leaf1/4, leaf2/3, leaf2/4.
std::optional<std::vector<std::string>> ExpandHostlist(const std::string& text, bool ports,
                                                       std::string* error);

// The shortest list of these names in their order, numbers that follow each other as ranges:
// "node[01-16,20],login1". ExpandHostlist() gives them back.
std::string FormatHostlist(const std::vector<std::string>& names);

// All of `words`, added to *names; kUsage where one is no hostlist.
Result ExpandNames(const std::vector<std::string>& words, bool ports,
                   std::vector<std::string>* names);

}  // namespace fabricd::cli
