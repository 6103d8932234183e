"""A temporary SQLite file for what does not fit in memory."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable
from pathlib import Path

from headrace.errors import StoreError

_SCHEMA = """
    pragma journal_mode = off;
    pragma synchronous = off;
    pragma locking_mode = exclusive;
    create table fragments (state integer, number integer, packed blob, primary key (state, number)) without rowid;
    create table tombstones (key blob primary key, stone blob) without rowid;
"""


class SpillFile:
    """Fragments by state and number, tombstones by key. The file goes with `close`, or with the object.

    folder: where to put it; None for the system's folder of temporary files.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="headrace-", dir=folder, ignore_cleanup_errors=True)
        self._place = Path(self._folder.name) / "spill.sqlite"
        self._file = sqlite3.connect(self._place, isolation_level=None)
        self._file.executescript(_SCHEMA)

    def put_fragments(self, rows: Iterable[tuple[int, int, bytes]]) -> None:
        """Keep (state, number, packed) rows."""
        self._write("insert into fragments values (?, ?, ?)", rows)

    def take_fragments(self, state: int) -> list[bytes]:
        """A state's fragments in order; they are no longer in the file."""
        query = "select packed from fragments where state = ? order by number"
        packed = [row[0] for row in self._file.execute(query, (state,))]
        self._file.execute("delete from fragments where state = ?", (state,))
        return packed

    def put_tombstones(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep (key, tombstone) rows; a newer one replaces an older one."""
        self._write("insert or replace into tombstones values (?, ?)", rows)

    def tombstone(self, key: bytes) -> bytes | None:
        """The tombstone kept under a key."""
        row = self._file.execute("select stone from tombstones where key = ?", (key,)).fetchone()
        return row[0] if row else None

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
        self._folder.cleanup()

    def _write(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        try:
            self._file.execute("begin")
            self._file.executemany(statement, rows)
            self._file.execute("commit")
        except sqlite3.Error as error:
            raise StoreError(
                f"cannot write the temporary file: {error}",
                code="store_full",
                place=str(self._place),
                fix="make room there, or set TMPDIR to a larger disk",
            ) from error
