// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite_snapshot.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <sqlite3.h>

#include "common/status.h"
#include "store/sqlite_error.h"
#include "store/sqlite_statement.h"
#include "store/sqlite_store.h"

namespace fabricd::store {
namespace {

constexpr char kDatabase[] = "/fabricd.db";

// Beside `path`, so that a file in it can be renamed to there; removed with all that is in it.
class WorkDirectory {
 public:
  explicit WorkDirectory(const std::string& path) : path_(path + ".XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) error_ = errno;
  }
  ~WorkDirectory() {
    std::error_code ignored;
    if (error_ == 0) std::filesystem::remove_all(path_, ignored);
  }
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;
  absl::Status status() const {
    return error_ == 0 ? absl::OkStatus() : Unavailable("{}: {}", path_, std::strerror(error_));
  }
  std::string database() const { return path_ + kDatabase; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int error_ = 0;
};

// A copy of one moment, also of a database that is written meanwhile.
absl::Status CopyDatabase(const std::string& from, const std::string& to) {
  sqlite3* db = nullptr;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
  absl::Status status = SqliteStatus(db, from, sqlite3_open_v2(from.c_str(), &db, flags, nullptr));
  if (status.ok()) {
    sqlite3_extended_result_codes(db, 1);
    sqlite3_busy_timeout(db, 2000);
    Statement copy(db, "VACUUM INTO ?");
    status = SqliteStatus(db, from, copy.Bind(to).Run());
  }
  sqlite3_close(db);
  return status;
}

absl::Status Sync(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  return synced ? absl::OkStatus() : Unavailable("{}: {}", path, std::strerror(error));
}

}  // namespace

absl::StatusOr<Contents> ReadSnapshot(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return NotFound("{}: no such file", path);
  const std::string base = std::filesystem::temp_directory_path(error).string();
  const WorkDirectory work((error ? "/tmp" : base) + "/fabricd_snapshot");
  FABRICD_RETURN_IF_ERROR(work.status());
  FABRICD_RETURN_IF_ERROR(CopyDatabase(path, work.database()));
  const auto store = OpenSqliteStore(work.path());
  auto contents = store.ok() ? ReadContents(**store) : store.status();
  if (contents.ok()) return contents;
  // Not where the copy was.
  std::string message = Message(contents.status());
  if (message.starts_with(work.database())) message = path + message.substr(work.database().size());
  return MakeStatus(contents.status().code(), "{}", message);
}

absl::Status WriteSnapshot(const Contents& contents, const std::string& origin,
                           const std::string& path) {
  const WorkDirectory work(path);
  FABRICD_RETURN_IF_ERROR(work.status());
  {
    auto store = OpenSqliteStore(work.path());
    if (!store.ok()) return store.status();
    FABRICD_RETURN_IF_ERROR(WriteChanges(**store, Difference({}, Flatten(contents))));
    FABRICD_RETURN_IF_ERROR((*store)->PutMeta("snapshot_of", origin));
  }
  // The copy has no write-ahead log: its readers need no file beside it.
  const std::string copy = work.path() + "/copy.db";
  FABRICD_RETURN_IF_ERROR(CopyDatabase(work.database(), copy));
  FABRICD_RETURN_IF_ERROR(Sync(copy));
  if (rename(copy.c_str(), path.c_str()) != 0)
    return Unavailable("{}: {}", path, std::strerror(errno));
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return Sync(folder.empty() ? "." : folder);
}

}  // namespace fabricd::store
