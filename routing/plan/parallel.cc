// SPDX-License-Identifier: Apache-2.0
#include "routing/plan/parallel.h"

#include <algorithm>

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#ifdef FABRICD_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace fabricd::routing {
namespace {

// ThreadSanitizer does not see how oneTBB hands over work. It is told what For() promises: what the
// caller did happens before each body, and each body before what the caller does next.
#ifdef FABRICD_TSAN
void Release(char* at) { __tsan_release(at); }
void Acquire(char* at) { __tsan_acquire(at); }
#else
void Release(char*) {}
void Acquire(char*) {}
#endif

}  // namespace

struct Parallel::Arena {
  // More threads than cores gain nothing, and oneTBB would complain on stderr.
  explicit Arena(int threads)
      : arena(threads > 0 ? std::min(threads, tbb::info::default_concurrency())
                          : tbb::task_arena::automatic) {}
  tbb::task_arena arena;
};

Parallel::Parallel(int threads) : arena_(std::make_unique<Arena>(threads)) {}
Parallel::~Parallel() = default;

int Parallel::concurrency() const { return arena_->arena.max_concurrency(); }

void Parallel::For(size_t count, const std::function<void(size_t)>& body) {
  char begin, end;
  const auto run = [&](size_t index) {
    Acquire(&begin);
    body(index);
    Release(&end);
  };
  Release(&begin);
  arena_->arena.execute(
      [&] { tbb::parallel_for(size_t{0}, count, run, tbb::simple_partitioner()); });
  Acquire(&end);
}

}  // namespace fabricd::routing
