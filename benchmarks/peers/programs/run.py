"""`run.py <module> <phase> <options as JSON>`: runs a phase of the peer program in that module, its `PEER`.

The peers name a job by its module; run this way it has the same name for the sender and for the worker.
"""

import importlib
import sys

import lab

lab.main(importlib.import_module(sys.argv[1]).PEER, sys.argv[2], sys.argv[3])
