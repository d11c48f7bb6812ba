// SPDX-License-Identifier: Apache-2.0
// Preload shim that counts the SMPs a program sends, for bench/versus_opensm: one referee for both
// subnet managers, so that neither is believed about itself. The counters live in the file that
// COUNT_MADS_FILE names (made by the caller: kFileCells 64-bit numbers in host order) and can be
// read while the program runs, and after it was killed.
//
// Cell = method * kAttributes + attribute; method 0 Get, 1 Set, 2 all others; attributes above 0xFE
// share 0xFF. Counted are accepted umad_send calls of the two subnet management classes: repeats
// count, GMPs do not, nor do Gets of PortInfo along a directed route without a hop: those do not
// leave the node.
//
// Behind the counters stand (times are CLOCK_MONOTONIC in nanoseconds):
//   kTableAnswered   when the last answer about a LinearForwardingTable was received
//   kReregisters     PortInfo Sets with ClientReregister
//   kPortInfoSet     when the last Set of PortInfo was sent
//   kFirstSet        when the first of kSets since the caller made this 0 was sent
//   kSets            Sets of these two classes, without those of SMInfo: controls of other SMs
//   kSetTimes        when the last kRing of these were sent: the Nth, from 0, at N % kRing
//
// With COUNT_MADS_REREGISTER the answers about PortInfo say IsClientReregistrationSupported, which
// those of ibsim do not. With COUNT_MADS_REPORTS a Get of SMInfo that nobody answers in time comes
// back with ETIMEDOUT, as it does from the kernel: ibsim keeps it for a process that is stopped and
// says nothing. (Of all that it answers itself it does report timeouts.) So does each Trap that its
// sender wants to be acknowledged: libumad2sim drops the TrapRepress, which the kernel hands to the
// sender, and opensm would wait for it before its next sweep for ever.
//
// Threads: umad_send may be called from any; the counters are atomic, the requests that wait are
// behind a mutex.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kMethods = 3, kAttributes = 256, kCells = kMethods * kAttributes, kRing = 256 };
enum {
  kTableAnswered = kCells,
  kReregisters,
  kPortInfoSet,
  kFirstSet,
  kSets,
  kSetTimes,
  kFileCells = kSetTimes + kRing,
};
enum { kGetResp = 0x81, kPortInfo = 0x15, kLinearForwardingTable = 0x19, kSmInfo = 0x20 };
// Octets of an SMP, and the bits there (IBA vol 1 §14.2.5.6).
enum { kHopCount = 7 };
enum { kCapabilityMask = 64 + 20, kIsClientReregistrationSupported = 0x02 };
enum { kClientReregister = 64 + 51, kClientReregisterBit = 0x80 };
enum { kClassLidRouted = 0x01, kClassDirectedRoute = 0x81 };
enum { kGet = 0x01, kSet = 0x02, kTrap = 0x05 };

typedef int (*SendFunction)(int, int, void*, int, int, int);
typedef int (*ReceiveFunction)(int, void*, int*, int);
typedef void* (*GetMadFunction)(void*);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static SendFunction next_send;
static ReceiveFunction next_recv;
static GetMadFunction get_mad;
static uint64_t* counters;
static int reregister;
static int report;

enum { kMadBytes = 256, kAsked = 64, kSliceMs = 50, kTransactionId = 8 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  uint64_t deadline;  // CLOCK_MONOTONIC in nanoseconds; 0: not in use.
  int port, agent;
  uint8_t mad[kMadBytes];
} asked[kAsked];  // Gets of SMInfo without an answer.

static void SetUp(void) {
  *(void**)&next_send = dlsym(RTLD_NEXT, "umad_send");
  *(void**)&next_recv = dlsym(RTLD_NEXT, "umad_recv");
  *(void**)&get_mad = dlsym(RTLD_NEXT, "umad_get_mad");
  if (next_send == NULL || next_recv == NULL || get_mad == NULL) abort();
  reregister = getenv("COUNT_MADS_REREGISTER") != NULL;
  report = getenv("COUNT_MADS_REPORTS") != NULL;
  const char* const name = getenv("COUNT_MADS_FILE");
  const int fd = name != NULL ? open(name, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void* const mapped =
      mmap(NULL, kFileCells * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (mapped != MAP_FAILED) counters = mapped;
}

static void Add(unsigned cell) { __atomic_fetch_add(&counters[cell], 1, __ATOMIC_RELAXED); }

static uint64_t Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void StoreNow(unsigned cell) { __atomic_store_n(&counters[cell], Now(), __ATOMIC_RELAXED); }

static void CountSet(void) {
  uint64_t none = 0;
  const uint64_t now = Now();
  __atomic_compare_exchange_n(&counters[kFirstSet], &none, now, 0, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
  const uint64_t number = __atomic_fetch_add(&counters[kSets], 1, __ATOMIC_RELAXED);
  __atomic_store_n(&counters[kSetTimes + number % kRing], now, __ATOMIC_RELAXED);
}

static int IsSubnetManagement(const uint8_t* mad) {
  return mad[1] == kClassLidRouted || mad[1] == kClassDirectedRoute;
}

static int IsOfOwnPort(const uint8_t* mad) {
  return mad[1] == kClassDirectedRoute && mad[kHopCount] == 0;
}

static void Ask(int port, int agent, const uint8_t* mad, int timeout_ms, int retries) {
  pthread_mutex_lock(&mutex);
  for (unsigned i = 0; i < kAsked; ++i) {
    if (asked[i].deadline != 0) continue;
    asked[i].deadline = Now() + (uint64_t)timeout_ms * (uint64_t)(retries + 1) * 1000000u;
    asked[i].port = port;
    asked[i].agent = agent;
    memcpy(asked[i].mad, mad, kMadBytes);
    break;
  }
  pthread_mutex_unlock(&mutex);
}

// The low half of a transaction id is the sender's; the kernel makes the other one.
static void Answer(int port, const uint8_t* mad) {
  pthread_mutex_lock(&mutex);
  for (unsigned i = 0; i < kAsked; ++i)
    if (asked[i].port == port &&
        memcmp(asked[i].mad + kTransactionId + 4, mad + kTransactionId + 4, 4) == 0)
      asked[i].deadline = 0;
  pthread_mutex_unlock(&mutex);
}

// Gives back a request whose time is over: its agent, or -1.
static int TakeExpired(int port, void* umad, int* length) {
  int agent = -1;
  pthread_mutex_lock(&mutex);
  for (unsigned i = 0; i < kAsked && agent < 0 && *length >= kMadBytes; ++i) {
    if (asked[i].deadline == 0 || asked[i].port != port || Now() < asked[i].deadline) continue;
    asked[i].deadline = 0;
    agent = asked[i].agent;
    ib_user_mad_t* const header = umad;
    memset(header, 0, sizeof *header);
    header->agent_id = (uint32_t)agent;
    header->status = ETIMEDOUT;
    memcpy(get_mad(umad), asked[i].mad, kMadBytes);
    *length = kMadBytes;
  }
  pthread_mutex_unlock(&mutex);
  return agent;
}

// Looks between waits whether a request's time is over.
static int Receive(int port, void* umad, int* length, int timeout_ms) {
  if (!report) return next_recv(port, umad, length, timeout_ms);
  const int room = *length;
  for (;;) {
    const int agent = TakeExpired(port, umad, length);
    if (agent >= 0) return agent;
    const int slice = timeout_ms < 0 || timeout_ms > kSliceMs ? kSliceMs : timeout_ms;
    const int result = next_recv(port, umad, length, slice);
    if (result >= 0 || (result != -ETIMEDOUT && result != -EWOULDBLOCK)) return result;
    if (timeout_ms >= 0 && (timeout_ms -= slice) <= 0) return result;
    *length = room;
  }
}

int umad_send(int port, int agent, void* umad, int length, int timeout, int retries) {
  pthread_once(&once, SetUp);
  const uint8_t* const mad = get_mad(umad);
  const int counted = IsSubnetManagement(mad);
  const uint8_t method = mad[3];
  const unsigned attribute = (unsigned)mad[16] << 8 | mad[17];
  const int waits = method == kTrap || (method == kGet && attribute == kSmInfo);
  if (report && counted && waits && timeout > 0) Ask(port, agent, mad, timeout, retries);
  const int reregisters = (mad[kClientReregister] & kClientReregisterBit) != 0;
  const int result = next_send(port, agent, umad, length, timeout, retries);
  if (result < 0 || counters == NULL || !counted) return result;
  if (method == kGet && attribute == kPortInfo && IsOfOwnPort(mad)) return result;
  const unsigned row = method == kGet ? 0 : method == kSet ? 1 : 2;
  const unsigned column = attribute < kAttributes - 1 ? attribute : kAttributes - 1;
  Add(row * kAttributes + column);
  if (method != kSet || attribute == kSmInfo) return result;
  // Afterwards, so that the time of a Set is never too early.
  CountSet();
  if (attribute != kPortInfo) return result;
  StoreNow(kPortInfoSet);
  if (reregisters) Add(kReregisters);
  return result;
}

int umad_recv(int port, void* umad, int* length, int timeout) {
  pthread_once(&once, SetUp);
  const int result = Receive(port, umad, length, timeout);
  if (result < 0 || counters == NULL) return result;
  uint8_t* const mad = get_mad(umad);
  if (mad[3] != kGetResp || !IsSubnetManagement(mad)) return result;
  const unsigned attribute = (unsigned)mad[16] << 8 | mad[17];
  if (attribute == kSmInfo && report) Answer(port, mad);
  if (attribute == kLinearForwardingTable) StoreNow(kTableAnswered);
  if (attribute == kPortInfo && reregister)
    mad[kCapabilityMask] |= kIsClientReregistrationSupported;
  return result;
}
