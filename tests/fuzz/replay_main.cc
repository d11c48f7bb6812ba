// SPDX-License-Identifier: Apache-2.0
// Runs a fuzzer's entry point where libFuzzer is not there to do it (gcc builds): over the corpus
// files, then over mutations of them, the same ones in every run. Arguments: files or folders, and
// -mutations=N for about N mutations in all; libFuzzer's flags are ignored. Fails when there was
// nothing to run. An input that ends the program is left in crash-PROGRAM in the working directory.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/rng.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// There when a sanitizer is.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

namespace fs = std::filesystem;
using fabricd::Rng;

// Mutations may grow an input to this, as libFuzzer's default does.
constexpr size_t kMaxBytes = 4096;

// What runs now, for the handlers below: they may only make system calls.
const char* current_data = nullptr;
size_t current_size = 0;
char crash_file[256];

void KeepInput() {
  const int fd = open(crash_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return;
  const bool kept = write(fd, current_data, current_size) == static_cast<ssize_t>(current_size);
  close(fd);
  if (!kept) return;
  for (const char* part : {"the input is in ", static_cast<const char*>(crash_file), "\n"}) {
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) return;
  }
}

void OnSignal(int number) {
  KeepInput();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void CatchEnds(const char* program) {
  std::snprintf(crash_file, sizeof crash_file, "crash-%s", fs::path(program).filename().c_str());
  std::signal(SIGABRT, OnSignal);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(KeepInput);
    return;
  }
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTERM}) std::signal(number, OnSignal);
}

std::vector<fs::path> FilesOf(const fs::path& root) {
  if (!fs::is_directory(root)) return {root};
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void Run(const std::string& input) {
  current_data = input.data();
  current_size = input.size();
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

size_t Place(const std::string& text, Rng& rng) { return rng.Below(text.size() + 1); }

// A piece of `text`, short ones more often.
std::string Piece(const std::string& text, Rng& rng) {
  const size_t at = Place(text, rng);
  return text.substr(at, rng.Below(1 + (uint64_t{1} << rng.Below(9))));
}

// Another number where the text has one: the ends of the ranges of what numbers are kept in.
void ChangeNumber(std::string& text, Rng& rng) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto from = text.begin() + static_cast<ptrdiff_t>(Place(text, rng));
  const auto begin = std::find_if(from, text.end(), is_digit);
  const auto end = std::find_if_not(begin, text.end(), is_digit);
  static constexpr const char* kNumbers[] = {
      "0",     "1",      "-1",         "2",          "7",
      "63",    "64",     "255",        "256",        "49151",
      "49152", "65535",  "65536",      "1.5",        "1e30",
      "nan",   "0xffff", "4294967295", "2147483648", "18446744073709551616"};
  text.replace(begin, end, kNumbers[rng.Below(std::size(kNumbers))]);
}

void MutateOnce(std::string& text, const std::vector<std::string>& corpus, Rng& rng) {
  const size_t at = Place(text, rng);
  switch (rng.Below(8)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(text[at] ^ 1 << rng.Below(8));
      break;
    case 1:
      if (at < text.size()) text[at] = static_cast<char>(rng.Next());
      break;
    case 2: {
      static constexpr char kEnds[] = {0, 1, '\x7f', '\x80', '\xff', '\n', ' ', '"'};
      if (at < text.size()) text[at] = kEnds[rng.Below(sizeof kEnds)];
      break;
    }
    case 3: text.erase(at, rng.Below(1 + (uint64_t{1} << rng.Below(9)))); break;
    case 4: text.insert(at, std::string(1 + rng.Below(8), static_cast<char>(rng.Next()))); break;
    case 5: text.insert(at, Piece(text, rng)); break;
    case 6: {
      const std::string piece = Piece(corpus[rng.Below(corpus.size())], rng);
      text.replace(at, rng.Chance(0.5) ? piece.size() : 0, piece);
      break;
    }
    default: ChangeNumber(text, rng);
  }
  if (text.size() > kMaxBytes) text.resize(kMaxBytes);
}

void RunMutations(const std::vector<std::string>& corpus, size_t count) {
  for (size_t number = 0; number < count; ++number) {
    // Of its place alone, so that one more mutation or input leaves the others as they were.
    Rng rng(number);
    std::string input = corpus[rng.Below(corpus.size())];
    for (uint64_t left = 1 + rng.Below(4); left > 0; --left) MutateOnce(input, corpus, rng);
    Run(input);
  }
}

}  // namespace

int main(int argc, char** argv) {
  static constexpr char kMutations[] = "-mutations=";
  CatchEnds(argv[0]);
  size_t mutations = 0;
  std::vector<std::string> corpus;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with(kMutations)) {
      const char* end = argument.data() + argument.size();
      if (std::from_chars(argument.data() + std::strlen(kMutations), end, mutations).ptr != end) {
        std::fprintf(stderr, "%s: not a number\n", argument.c_str());
        return 1;
      }
    }
    if (argument.starts_with("-")) continue;
    for (const fs::path& file : FilesOf(argument)) {
      std::ifstream in(file, std::ios::binary);
      if (!in) {
        std::fprintf(stderr, "cannot read %s\n", file.c_str());
        return 1;
      }
      corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
      Run(corpus.back());
    }
  }
  if (corpus.empty()) {
    std::fprintf(stderr, "no corpus file found\n");
    return 1;
  }
  RunMutations(corpus, mutations);
  std::printf("%zu inputs, %zu mutations of them\n", corpus.size(), mutations);
  return 0;
}
