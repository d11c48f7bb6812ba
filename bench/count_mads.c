// SPDX-License-Identifier: Apache-2.0
// Preload shim that counts the SMPs a program sends, for bench/versus_opensm: one referee for both
// subnet managers, so that neither is believed about itself. The counters live in the file that
// COUNT_MADS_FILE names (made by the caller: kCells 64-bit numbers in host order) and can be read
// while the program runs.
//
// Cell = method * kAttributes + attribute; method 0 Get, 1 Set, 2 all others; attributes above 0xFE
// share 0xFF. Counted are accepted umad_send calls of the two subnet management classes: repeats
// count, GMPs do not.
//
// Behind the counters stands one more number: CLOCK_MONOTONIC, in nanoseconds, when the last answer
// about a LinearForwardingTable was received.
//
// Threads: umad_send may be called from any; the counters are atomic.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kMethods = 3, kAttributes = 256, kCells = kMethods * kAttributes };
enum { kGetResp = 0x81, kLinearForwardingTable = 0x19 };
enum { kClassLidRouted = 0x01, kClassDirectedRoute = 0x81, kGet = 0x01, kSet = 0x02 };

typedef int (*SendFunction)(int, int, void*, int, int, int);
typedef int (*ReceiveFunction)(int, void*, int*, int);
typedef void* (*GetMadFunction)(void*);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static SendFunction next_send;
static ReceiveFunction next_recv;
static GetMadFunction get_mad;
static uint64_t* counters;

static void SetUp(void) {
  *(void**)&next_send = dlsym(RTLD_NEXT, "umad_send");
  *(void**)&next_recv = dlsym(RTLD_NEXT, "umad_recv");
  *(void**)&get_mad = dlsym(RTLD_NEXT, "umad_get_mad");
  if (next_send == NULL || next_recv == NULL || get_mad == NULL) abort();
  const char* const name = getenv("COUNT_MADS_FILE");
  const int fd = name != NULL ? open(name, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void* const mapped =
      mmap(NULL, (kCells + 1) * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped != MAP_FAILED) counters = mapped;
}

int umad_send(int port, int agent, void* umad, int length, int timeout, int retries) {
  pthread_once(&once, SetUp);
  const uint8_t* const mad = get_mad(umad);
  const uint8_t class = mad[1];
  const uint8_t method = mad[3];
  const unsigned attribute = (unsigned)mad[16] << 8 | mad[17];
  const int result = next_send(port, agent, umad, length, timeout, retries);
  if (result < 0 || counters == NULL) return result;
  if (class != kClassLidRouted && class != kClassDirectedRoute) return result;
  const unsigned row = method == kGet ? 0 : method == kSet ? 1 : 2;
  const unsigned column = attribute < kAttributes - 1 ? attribute : kAttributes - 1;
  __atomic_fetch_add(&counters[row * kAttributes + column], 1, __ATOMIC_RELAXED);
  return result;
}

int umad_recv(int port, void* umad, int* length, int timeout) {
  pthread_once(&once, SetUp);
  const int result = next_recv(port, umad, length, timeout);
  if (result < 0 || counters == NULL) return result;
  const uint8_t* const mad = get_mad(umad);
  if (mad[3] != kGetResp || ((unsigned)mad[16] << 8 | mad[17]) != kLinearForwardingTable)
    return result;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  __atomic_store_n(&counters[kCells], (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                   __ATOMIC_RELAXED);
  return result;
}
