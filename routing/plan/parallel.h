// SPDX-License-Identifier: Apache-2.0
// Parallel: a loop over independent indices on a bounded number of cores. Each index may write only
// what belongs to it, so the result is the same whatever the number of threads. The only place of
// this library that knows oneTBB.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace fabricd::routing {

class Parallel {
 public:
  // 0: all cores.
  explicit Parallel(int threads);
  ~Parallel();
  // How many bodies may run at once. Only for sizing scratch space.
  int concurrency() const;
  // Calls body(i) once for each i < count, in any order and from several threads; returns when all
  // are done.
  void For(size_t count, const std::function<void(size_t)>& body);

 private:
  struct Arena;
  std::unique_ptr<Arena> arena_;
};

}  // namespace fabricd::routing
