"""Somebody else as whom a server runs that is not to run as root."""

from __future__ import annotations

import os
import pwd
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rmq_core.errors import EmbeddedServerError


@dataclass(frozen=True)
class Unprivileged:
    """``command``: what comes before a program to run it as that user. Where we are not root, all of it is nothing."""

    uid: int | None = None
    gid: int | None = None
    command: tuple[str, ...] = ()

    @classmethod
    def where_we_are_root(cls, server: str, user: str, *, dies_by: str) -> Self:
        """``user``, or else ``nobody``. ``dies_by``: the signal that ends the server when this process ends.

        Raises ``EmbeddedServerError`` where there is nobody to run it as.
        """
        if os.geteuid() != 0:
            return cls()
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            raise EmbeddedServerError(f"{server} is not run as root, and there is no setpriv to run it as another user")
        for name in (user, "nobody"):
            try:
                found = pwd.getpwnam(name)
            except KeyError:
                continue
            ids = [f"--reuid={found.pw_uid}", f"--regid={found.pw_gid}", "--clear-groups"]
            # Changing the user takes back what ties the server to us.
            return cls(found.pw_uid, found.pw_gid, (setpriv, *ids, f"--pdeathsig={dies_by}"))
        raise EmbeddedServerError(f"{server} is not run as root, and there is no user {user} or nobody")

    def give(self, path: Path) -> None:
        """Make it the user's own."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)
