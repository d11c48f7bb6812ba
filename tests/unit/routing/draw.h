// SPDX-License-Identifier: Apache-2.0
// Random fabrics for the property tests of the tables.
#pragma once

#include <rapidcheck.h>

#include "tests/support/fabrics.h"

namespace fabricd::testing {

// A three-level tree below `top` with some of its cables out, a torus, or a random graph.
inline FabricMaker DrawMaker(const TreeLevel& top) {
  const auto seed = *rc::gen::arbitrary<uint64_t>();
  switch (*rc::gen::inRange(0, 4)) {
    case 0: {
      FabricMaker maker = MakeTree({top,
                                    {*rc::gen::inRange(1, 4), *rc::gen::inRange(1, 4)},
                                    {*rc::gen::inRange(1, 4), *rc::gen::inRange(1, 3), 2}});
      Rng rng(seed);
      for (size_t cable = maker.cable_count(); cable-- > 0;)
        if (maker.IsSwitchCable(cable) && rng.Chance(0.15)) maker.RemoveCable(cable);
      return maker;
    }
    case 1:
      return MakeTorus({*rc::gen::inRange(1, 5), *rc::gen::inRange(1, 5)}, *rc::gen::inRange(0, 3));
    default:
      return MakeRandom(*rc::gen::inRange(1, 14), *rc::gen::inRange(0, 30),
                        *rc::gen::inRange(0, 16), seed);
  }
}

}  // namespace fabricd::testing
