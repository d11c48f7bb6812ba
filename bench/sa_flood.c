// SPDX-License-Identifier: Apache-2.0
// A client that asks Subnet Administration for paths between random LIDs, a window of requests at a
// time, by libibumad: the same program on hardware and, under the preload shim, on ibsim. With
// "bare" it asks the device under the SM's LID for its NodeInfo instead, which no subnet manager
// takes part in: on ibsim that is what the simulator itself takes.
//
// usage: sa_flood REQUESTS WINDOW HIGHEST_LID SEED [bare]
// Prints: ANSWERED BUSY REFUSED LOST SECONDS P50_US P99_US
#include <arpa/inet.h>
#include <infiniband/umad.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kSaClass = 3, kSaVersion = 2, kGetPath = 0x35, kMadBytes = 256, kTimeoutMs = 2000 };
enum { kSmpClass = 1, kSmpVersion = 1, kNodeInfo = 0x11 };
enum { kDlid = 4, kSlid = 5, kNumbPath = 12 };  // Components of PathRecord.

static double Now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int Compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void Store16(uint8_t* at, unsigned value) {
  at[0] = (uint8_t)(value >> 8);
  at[1] = (uint8_t)value;
}

// Its number is in the low half of the TransactionID: the upper one is the kernel's.
static void Send(int port, int agent, unsigned sm_lid, uint32_t number, unsigned lids, int bare) {
  uint8_t umad[512] = {0};
  uint8_t* mad = umad_get_mad(umad);
  mad[0] = 1;
  mad[1] = bare ? kSmpClass : kSaClass;
  mad[2] = bare ? kSmpVersion : kSaVersion;
  mad[3] = 0x01;
  Store16(mad + 12, number >> 16);
  Store16(mad + 14, number & 0xFFFF);
  Store16(mad + 16, bare ? kNodeInfo : kGetPath);
  const uint64_t mask = 1ull << kDlid | 1ull << kSlid | 1ull << kNumbPath;
  for (int i = 0; i < 8 && !bare; ++i) mad[48 + i] = (uint8_t)(mask >> (56 - 8 * i));
  uint8_t* path = mad + 56;
  if (!bare) {
    Store16(path + 40, 1 + (unsigned)random() % lids);
    Store16(path + 42, 1 + (unsigned)random() % lids);
    path[49] = 1;  // NumbPath
  }
  umad_set_addr(umad, (int)sm_lid, bare ? 0 : 1, 0, bare ? 0 : (int)0x80010000);
  umad_set_pkey(umad, 0);
  if (umad_send(port, agent, umad, kMadBytes, kTimeoutMs, 0) < 0) {
    perror("umad_send");
    exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    fprintf(stderr, "usage: sa_flood REQUESTS WINDOW HIGHEST_LID SEED [bare]\n");
    return 2;
  }
  const uint32_t requests = (uint32_t)atol(argv[1]), window = (uint32_t)atol(argv[2]);
  const unsigned lids = (unsigned)atol(argv[3]);
  const int bare = argc == 6;
  srandom((unsigned)atol(argv[4]));
  umad_init();
  umad_port_t facts;
  if (umad_get_port(NULL, 0, &facts) < 0) {
    fprintf(stderr, "no port\n");
    return 1;
  }
  const unsigned sm_lid = (unsigned)facts.sm_lid;
  const int port = umad_open_port(NULL, 0);
  const int agent = umad_register(port, bare ? kSmpClass : kSaClass,
                                  bare ? kSmpVersion : kSaVersion, 0, NULL);
  double* sent = calloc(requests + 1, sizeof(double));
  double* took = calloc(requests + 1, sizeof(double));
  if (port < 0 || agent < 0 || !sent || !took) {
    fprintf(stderr, "cannot open the port\n");
    return 1;
  }
  uint32_t next = 1, done = 0, answered = 0, busy = 0, refused = 0, lost = 0;
  const double begin = Now();
  while (done < requests) {
    while (next <= requests && next - 1 - done < window) {
      sent[next] = Now();
      Send(port, agent, sm_lid, next, lids, bare);
      ++next;
    }
    uint8_t umad[512];
    int length = kMadBytes;
    if (umad_recv(port, umad, &length, kTimeoutMs * 2) < 0) break;
    const uint8_t* mad = umad_get_mad(umad);
    const uint32_t number =
        (uint32_t)mad[12] << 24 | (uint32_t)mad[13] << 16 | (uint32_t)mad[14] << 8 | mad[15];
    const unsigned status = (unsigned)mad[4] << 8 | mad[5];
    if (number == 0 || number > requests) continue;
    took[done++] = Now() - sent[number];
    if (umad_status(umad) != 0)
      ++lost;
    else if (status == 0)
      ++answered;
    else if (status == 1)
      ++busy;
    else
      ++refused;
  }
  const double seconds = Now() - begin;
  lost += requests - done;
  qsort(took, done, sizeof(double), Compare);
  printf("%u %u %u %u %.3f %.0f %.0f\n", answered, busy, refused, lost, seconds,
         done ? took[done / 2] * 1e6 : 0, done ? took[done * 99 / 100] * 1e6 : 0);
  return 0;
}
