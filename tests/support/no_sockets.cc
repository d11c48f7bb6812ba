// SPDX-License-Identifier: Apache-2.0
// Part of each hermetic test program (cmake/FabricdTargets.cmake): one that opens a socket is
// killed by SIGSYS, so `tools/test --quick` runs where there is no network.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <cstddef>
#include <cstdio>
#include <iterator>

namespace {

constexpr sock_filter kFilter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

[[gnu::constructor]] void RefuseSockets() {
  const sock_fprog program = {std::size(kFilter), const_cast<sock_filter*>(kFilter)};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
    return;
  // A container may forbid filters. Then nothing is checked, and that is said.
  std::fputs("no_sockets: the kernel takes no filter; sockets are not refused\n", stderr);
}

}  // namespace
