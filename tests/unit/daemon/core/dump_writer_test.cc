// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/dump_writer.h"

#include <fstream>
#include <future>
#include <sstream>

#include <gtest/gtest.h>

#include "common/status.h"
#include "tests/unit/store/temp_dir.h"

namespace fabricd::daemon {
namespace {

using Dumps = std::map<std::string, std::string>;

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(DumpWriterTest, WritesEachFileIntoAFolderThatItMakes) {
  const store::TempDir parent;
  const std::string folder = parent.path() + "/a/b";
  DumpWriter writer(folder, [] { return Dumps{{"one", "text 1\n"}, {"two", "text 2\n"}}; });
  writer.Post();
  writer.Stop();
  EXPECT_EQ(TextOf(folder + "/one"), "text 1\n");
  EXPECT_EQ(TextOf(folder + "/two"), "text 2\n");
}

TEST(DumpWriterTest, MakesNothingWithoutAFolder) {
  int made = 0;
  DumpWriter writer("", [&] {
    ++made;
    return Dumps();
  });
  writer.Post();
  writer.Stop();
  EXPECT_EQ(made, 0);
}

TEST(DumpWriterTest, WritesTheNewestViewOnceForAllPostsThatWait) {
  const store::TempDir folder;
  std::promise<void> begun, release;
  int made = 0;
  DumpWriter writer(folder.path(), [&] {
    if (++made == 1) {
      begun.set_value();
      release.get_future().wait();
    }
    return Dumps{{"number", std::to_string(made)}};
  });
  writer.Post();
  begun.get_future().wait();
  for (int i = 0; i < 5; ++i) writer.Post();
  release.set_value();
  writer.Stop();
  EXPECT_EQ(made, 2);
  EXPECT_EQ(TextOf(folder.path() + "/number"), "2");
}

TEST(DumpWriterTest, GoesOnAfterAFailure) {
  const store::TempDir folder;
  std::promise<void> failed;
  int made = 0;
  DumpWriter writer(folder.path(), [&]() -> absl::StatusOr<Dumps> {
    if (++made == 1) {
      failed.set_value();
      return Unavailable("no plan yet");
    }
    return Dumps{{"number", std::to_string(made)}};
  });
  writer.Post();
  failed.get_future().wait();
  writer.Post();
  writer.Stop();
  EXPECT_EQ(TextOf(folder.path() + "/number"), "2");
}

}  // namespace
}  // namespace fabricd::daemon
