// SPDX-License-Identifier: Apache-2.0
#include "routing/parallel.h"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

namespace fabricd::routing {

struct Parallel::Arena {
  explicit Arena(int threads) : arena(threads > 0 ? threads : tbb::task_arena::automatic) {}
  tbb::task_arena arena;
};

Parallel::Parallel(int threads) : arena_(std::make_unique<Arena>(threads)) {}
Parallel::~Parallel() = default;

int Parallel::concurrency() const { return arena_->arena.max_concurrency(); }

void Parallel::For(size_t count, const std::function<void(size_t)>& body) {
  arena_->arena.execute([&] {
    tbb::parallel_for(size_t{0}, count, [&](size_t index) { body(index); },
                      tbb::simple_partitioner());
  });
}

}  // namespace fabricd::routing
