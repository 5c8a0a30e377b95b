"""Becomes another program that the kernel ends together with its parent.

Run as a script: ``python -I -S _tether.py PARENT_PID PROGRAM [ARGUMENT…]``. The request is made here, after
the fork and before the real program, because Python may not run code between fork and exec once it has
threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, program = int(sys.argv[1]), sys.argv[2:]
    os.umask(0o077)  # data, logs and sockets are nobody else's
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # the parent ended before the request was in place
        sys.exit("the process that started this server has already ended")
    os.execv(program[0], program)


if __name__ == "__main__":
    main()
