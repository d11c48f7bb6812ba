// SPDX-License-Identifier: Apache-2.0
// Preload library: a port that goes away. Once the file $LOSE_DEVICE exists, reads of umad handles
// fail as the kernel's do after a device was removed. With $LOSE_ISSM, the port's issm device is
// that path.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/umad.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int umad_recv(int port, void* umad, int* length, int timeout_ms) {
  static int (*next)(int, void*, int*, int);
  if (next == NULL) next = (int (*)(int, void*, int*, int))dlsym(RTLD_NEXT, "umad_recv");
  const char* const gone = getenv("LOSE_DEVICE");
  if (gone == NULL || access(gone, F_OK) != 0) return next(port, umad, length, timeout_ms);
  errno = EIO;
  return -EIO;
}

int umad_get_issm_path(const char* device, int port, char path[], int room) {
  static int (*next)(const char*, int, char[], int);
  if (next == NULL)
    next = (int (*)(const char*, int, char[], int))dlsym(RTLD_NEXT, "umad_get_issm_path");
  const char* const given = getenv("LOSE_ISSM");
  if (given == NULL) return next(device, port, path, room);
  snprintf(path, (size_t)room, "%s", given);
  return 0;
}
