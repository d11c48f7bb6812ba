// SPDX-License-Identifier: Apache-2.0
// The files on disk, damaged as the input says. A damaged database is refused, or what is read from
// it is a valid assignment. A damaged or torn write-ahead log, which a crash leaves, costs at most
// the writes that are in it, each whole. The first byte selects the file; each patch is a place and
// new bytes, or an end.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/check.h"
#include "common/status.h"
#include "store/sqlite_store.h"
#include "tests/fuzz/bytes.h"

namespace fabricd::store {
namespace {

namespace fs = std::filesystem;
using test::FuzzBytes;

// A directory of this process's own; in memory where there is such a place, because each opened
// database is synchronised with its disk.
class Folder {
 public:
  Folder() {
    const fs::path base = fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path();
    path_ = base / ("fabricd-fuzz-" + std::to_string(getpid()));
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const char* name) const { return path_ / name; }
  std::string path() const { return path_; }

 private:
  fs::path path_;
};

const Folder& Place() {
  static const Folder folder;
  return folder;
}

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  FABRICD_CHECK(in.good(), "{}", path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void WriteAll(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<int>(bytes.size()));
}

std::vector<LidRecord> Records(uint16_t first, uint16_t count) {
  std::vector<LidRecord> records;
  for (uint16_t i = first; i < first + count; ++i) {
    records.push_back({Guid(0x0002c90300000000 + i), Lid(i), 0, 1'700'000'000 + i});
  }
  return records;
}

constexpr uint16_t kOld = 40, kNew = 20;  // Records in the database, and in the log alone.

struct Files {
  std::string database, log;
};

Files MakeFiles() {
  const std::string database = Place() / "fabricd.db";
  FABRICD_CHECK((*OpenSqliteStore(Place().path()))->PutLids(Records(1, kOld)).ok());
  const auto store = OpenSqliteStore(Place().path());
  FABRICD_CHECK((*store)->PutLids(Records(1 + kOld, kNew)).ok());
  // As a process that is killed now leaves them.
  return {ReadAll(database), ReadAll(database + "-wal")};
}

void Damage(std::string& bytes, FuzzBytes& input) {
  while (!input.AtEnd()) {
    const size_t at = input.Word() % (bytes.size() + 1);
    const uint8_t how = input.Byte();
    if (how == 255) bytes.resize(at);
    const auto piece = input.Take(1 + how % 16);
    for (size_t i = 0; i < piece.size() && at + i < bytes.size(); ++i) {
      bytes[at + i] = static_cast<char>(piece[i]);
    }
  }
}

void CheckDatabase() {
  const auto store = OpenSqliteStore(Place().path());
  if (!store.ok()) {
    FABRICD_CHECK(!Message(store.status()).empty() && !absl::IsAborted(store.status()));
    return;
  }
  auto records = (*store)->LoadLids();
  if (!records.ok()) return;
  FABRICD_CHECK(CheckLids(*records).ok(), "{}", Message(CheckLids(*records)));
  (void)(*store)->GetMeta("epoch");
}

void CheckLog() {
  const auto store = OpenSqliteStore(Place().path());
  FABRICD_CHECK(store.ok(), "{}", Message(store.status()));
  const auto records = (*store)->LoadLids();
  FABRICD_CHECK(records.ok(), "{}", Message(records.status()));
  FABRICD_CHECK(*records == Records(1, kOld) || *records == Records(1, kOld + kNew), "{} records",
                records->size());
  FABRICD_CHECK((*store)->PutLids(Records(1, kOld + 2 * kNew)).ok());
}

}  // namespace
}  // namespace fabricd::store

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fabricd::store;
  static const Files files = MakeFiles();
  fabricd::test::FuzzBytes input(data, size);
  const bool log = input.Byte() % 2 == 1;
  const std::string database = Place() / "fabricd.db";
  for (const char* more : {"-wal", "-shm", "-journal"}) fs::remove(database + more);
  Files damaged = files;
  Damage(log ? damaged.log : damaged.database, input);
  WriteAll(database, damaged.database);
  if (log) WriteAll(database + "-wal", damaged.log);
  log ? CheckLog() : CheckDatabase();
  return 0;
}
