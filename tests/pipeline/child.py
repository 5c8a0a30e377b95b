"""Runs commands of the pipeline one after the other, and says how each ended: a machine for Java is started only once.

::

    python -m tests.pipeline.child "archive …" "reconcile …"
"""

from __future__ import annotations

import shlex
import sys
import warnings

from rmq_core.pipeline.__main__ import main

if __name__ == "__main__":
    # What is interrupted in the middle of talking to Java may be told so by PySpark, on a busy machine.
    warnings.filterwarnings("ignore", "Unable to cleanly shutdown Spark JVM process", RuntimeWarning)
    for command in sys.argv[1:]:
        print(f"exit {main(shlex.split(command))}", flush=True)
