"""Becomes the program it is given, and makes sure that it dies with whoever started it.

    python -I -S mortal.py PROGRAM ARGUMENT…

A test that is itself killed leaves nothing running. The process id stays the same.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.execv(sys.argv[1], sys.argv[1:])
