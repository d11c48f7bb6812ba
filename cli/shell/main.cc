// SPDX-License-Identifier: Apache-2.0
#include "cli/shell/command_line.h"

int main(int argc, char** argv) { return fabricd::cli::RunCommandLine(argc, argv); }
