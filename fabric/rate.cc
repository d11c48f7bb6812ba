// SPDX-License-Identifier: Apache-2.0
#include "fabric/rate.h"

#include <array>

namespace fabricd::fabric {
namespace {

struct Rate {
  uint8_t code;
  double gigabits;
};
// [rank - 1]
constexpr std::array<Rate, kTopRate> kRates{
    {{2, 2.5},  {5, 5},    {3, 10},   {11, 14},  {6, 20},   {15, 25},  {19, 28},   {4, 30},
     {7, 40},   {20, 50},  {12, 56},  {8, 60},   {9, 80},   {16, 100}, {13, 112},  {10, 120},
     {14, 168}, {17, 200}, {18, 300}, {21, 400}, {22, 600}, {23, 800}, {24, 1200}, {25, 1600}}};

}  // namespace

RateRank RankOfRate(uint8_t code) {
  for (RateRank rank = 1; rank <= kTopRate; ++rank)
    if (kRates[rank - 1u].code == code) return rank;
  return 0;
}

uint8_t CodeOfRate(RateRank rank) {
  return rank == 0 || rank > kTopRate ? 0 : kRates[rank - 1u].code;
}

double GbpsOfRate(uint8_t code) {
  const RateRank rank = RankOfRate(code);
  return rank == 0 ? 0 : kRates[rank - 1u].gigabits;
}

RateRank RateOfLink(wire::LinkSpeed speed, int physical_lanes) {
  const double gigabits = wire::RateOf(speed, physical_lanes).nominal;
  RateRank rank = 1;
  while (rank < kTopRate && kRates[rank].gigabits <= gigabits) ++rank;
  return rank;
}

}  // namespace fabricd::fabric
