// SPDX-License-Identifier: Apache-2.0
// Statement: a prepared SQLite statement for the parts of the store. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include <sqlite3.h>

namespace fabricd::store {

// One prepared statement. Bind in order, then Step until it is false or an error.
class Statement {
 public:
  Statement(sqlite3* db, const char* sql) {
    error_ = sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& Bind(const std::string& text) {
    if (error_ == SQLITE_OK) {
      error_ = sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                                 SQLITE_TRANSIENT);
    }
    return *this;
  }
  Statement& Bind(int64_t number) {
    if (error_ == SQLITE_OK) error_ = sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  Statement& BindBytes(const std::string& bytes) {
    if (error_ == SQLITE_OK) {
      error_ =
          sqlite3_bind_blob64(statement_, ++bound_, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
    }
    return *this;
  }
  // True with a row. False at the end or on an error: see error().
  bool Step() {
    if (error_ != SQLITE_OK) return false;
    const int result = sqlite3_step(statement_);
    if (result != SQLITE_ROW && result != SQLITE_DONE) error_ = result;
    return result == SQLITE_ROW;
  }
  // Makes it ready for the next values.
  int Reset() {
    if (error_ == SQLITE_OK) error_ = sqlite3_reset(statement_);
    bound_ = 0;
    return error_;
  }
  // Runs a statement that has no rows.
  int Run() {
    Step();
    return Reset();
  }
  std::string Text(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return text ? std::string(text, sqlite3_column_bytes(statement_, column)) : std::string();
  }
  std::string Bytes(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return bytes ? std::string(bytes, sqlite3_column_bytes(statement_, column)) : std::string();
  }
  int64_t Number(int column) const { return sqlite3_column_int64(statement_, column); }
  int error() const { return error_; }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
  int error_ = SQLITE_OK;
};

}  // namespace fabricd::store
