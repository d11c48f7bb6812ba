// SPDX-License-Identifier: Apache-2.0
// Preload library for opensm on ibsim: no request of performance management reaches it. A kernel
// hands requests to those only who have registered their method, which opensm has not. ibsim's shim
// hands it those that its node has no answer for, of which opensm 3.3.23 dies (SIGSEGV).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/umad.h>

enum { kPerformance = 0x04, kGet = 0x01 };

int umad_recv(int port, void* umad, int* length, int timeout_ms) {
  static int (*next)(int, void*, int*, int);
  if (next == NULL) next = (int (*)(int, void*, int*, int))dlsym(RTLD_NEXT, "umad_recv");
  const int room = *length;
  while (1) {
    const int agent = next(port, umad, length, timeout_ms);
    const unsigned char* const mad = umad_get_mad(umad);
    if (*length < 24 || mad[1] != kPerformance || mad[3] != kGet) return agent;
    *length = room;
  }
}
