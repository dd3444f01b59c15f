"""Between SQLite and the disk: records every write and sync, and can say that the disk is full.

SQLite reaches files through a table of functions, its VFS. While a ``Recorder`` is entered, the
default VFS is a copy of the system's whose writing functions are ours: they note what is asked of
the disk, then call the system's.
"""

import ctypes
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

OK, FULL = 0, 13

Pointer = ctypes.c_void_p
# Names are passed on as the pointers they are: the system keeps them, and reads what stands behind them.
Open = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, Pointer, Pointer, ctypes.c_int, Pointer)
Delete = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, ctypes.c_char_p, ctypes.c_int)
Close = ctypes.CFUNCTYPE(ctypes.c_int, Pointer)
Write = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, Pointer, ctypes.c_int, ctypes.c_int64)
Truncate = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, ctypes.c_int64)
Sync = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, ctypes.c_int)


class Methods(ctypes.Structure):
    """``sqlite3_io_methods``; what is only passed on is a bare pointer."""

    _fields_ = [
        ("version", ctypes.c_int),
        ("close", Close),
        ("read", Pointer),
        ("write", Write),
        ("truncate", Truncate),
        ("sync", Sync),
        *((f"rest{i}", Pointer) for i in range(13)),
    ]


class Vfs(ctypes.Structure):
    """``sqlite3_vfs``."""

    _fields_ = [
        ("version", ctypes.c_int),
        ("size", ctypes.c_int),
        ("longest", ctypes.c_int),
        ("next", Pointer),
        ("name", ctypes.c_char_p),
        ("data", Pointer),
        ("open", Open),
        ("delete", Delete),
        *((f"rest{i}", Pointer) for i in range(14)),
    ]


def library() -> Any:
    """The very SQLite that Python's module uses; OSError or AttributeError where it cannot be reached."""
    import _sqlite3

    loaded = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
    loaded.sqlite3_vfs_find.restype = ctypes.POINTER(Vfs)
    loaded.sqlite3_vfs_register.argtypes = [ctypes.POINTER(Vfs), ctypes.c_int]
    return loaded


def available() -> bool:
    """Whether the recorder works with this Python."""
    with suppress(OSError, AttributeError, ImportError):
        return bool(library().sqlite3_vfs_find(None))
    return False


Operation = tuple[str, str, int, bytes]  # what, which file, where or how long, with what


@dataclass
class Recorder:
    """Everything that was asked of the disk, in order; ``writes_left`` says how many fit on it."""

    operations: list[Operation] = field(default_factory=list)
    writes_left: int | None = None
    refused: int = 0
    _names: dict[int, str] = field(default_factory=dict)
    _systems: dict[int, Methods] = field(default_factory=dict)
    _kept: list[Any] = field(default_factory=list)  # what SQLite points to must not be collected

    def __enter__(self) -> "Recorder":
        self._library = library()
        self._system = self._library.sqlite3_vfs_find(None)
        ours = Vfs.from_buffer_copy(self._system.contents)
        ours.name = b"recorder"
        ours.open, ours.delete = Open(self._open), Delete(self._delete)
        self._ours = ours
        self._library.sqlite3_vfs_register(ctypes.byref(ours), 1)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._library.sqlite3_vfs_unregister(ctypes.byref(self._ours))
        self._library.sqlite3_vfs_register(self._system, 1)

    def mark(self, text: str) -> None:
        """Add a line of one's own, such as that a call has returned."""
        self.operations.append(("mark", text, 0, b""))

    def _open(self, vfs: Any, name: int | None, file: int, flags: int, out: int | None) -> int:
        code = int(self._system.contents.open(self._system, name, file, flags, out))
        slot = ctypes.cast(file, ctypes.POINTER(Pointer))
        if code == OK and slot[0]:
            self._names[file] = "" if name is None else ctypes.string_at(name).decode()
            self._systems[file] = Methods.from_address(slot[0])
            ours = Methods.from_buffer_copy(self._systems[file])
            ours.close, ours.write = Close(self._close), Write(self._write)
            ours.truncate, ours.sync = Truncate(self._truncate), Sync(self._sync)
            self._kept.append(ours)
            slot[0] = ctypes.addressof(ours)
        return code

    def _delete(self, vfs: Any, name: bytes, synced: int) -> int:
        self.operations.append(("delete", name.decode(), synced, b""))
        return int(self._system.contents.delete(self._system, name, synced))

    def _close(self, file: int) -> int:
        return int(self._systems[file].close(file))

    def _write(self, file: int, data: int, size: int, offset: int) -> int:
        if self.writes_left is not None:
            if not self.writes_left:
                self.refused += 1
                return FULL
            self.writes_left -= 1
        self.operations.append(("write", self._names[file], offset, ctypes.string_at(data, size)))
        return int(self._systems[file].write(file, data, size, offset))

    def _truncate(self, file: int, size: int) -> int:
        self.operations.append(("truncate", self._names[file], size, b""))
        return int(self._systems[file].truncate(file, size))

    def _sync(self, file: int, flags: int) -> int:
        self.operations.append(("sync", self._names[file], 0, b""))
        return int(self._systems[file].sync(file, flags))
