// SPDX-License-Identifier: Apache-2.0
#include "routing/parallel.h"

#include <algorithm>

#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

namespace fabricd::routing {

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
  arena_->arena.execute([&] {
    tbb::parallel_for(
        size_t{0}, count, [&](size_t index) { body(index); }, tbb::simple_partitioner());
  });
}

}  // namespace fabricd::routing
