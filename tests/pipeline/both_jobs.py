"""``python both_jobs.py ARCHIVE REPORTS``: archive, then reconcile, in one session wherever the environment says.

Prints what they did, and keeps the session until standard input ends.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict

from rmq_core.pipeline.jobs.archive import archive
from rmq_core.pipeline.jobs.reconcile import Inputs, reconcile
from rmq_core.pipeline.session import open_session
from rmq_core.pipeline.sources.options import SourceOptions

if __name__ == "__main__":
    path, reports = sys.argv[1:]
    options = SourceOptions(os.environ["RMQ_URL"], os.environ["RMQ_NAMESPACE"], (), 2)
    session = open_session("both", log="spark.log")
    did = archive(session, options, path)
    summary = reconcile(session, Inputs(options, path, reports))
    found = {"archived": asdict(did), "summary": summary, "master": session.sparkContext.master}
    print(json.dumps(found), flush=True)
    sys.stdin.read()
    session.stop()
