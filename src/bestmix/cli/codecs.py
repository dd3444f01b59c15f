"""Real trials for the demo: codecs of the standard library on files of this machine."""

import bz2
import lzma
import os
import random
import sysconfig
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

Codec = tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]

PIECE = 8 * 1024
PIECES = 16  # a block from many places varies less from trial to trial than one from a single place
BLOCK = PIECE * PIECES
COSTS = ("compress_ms", "decompress_ms")
MOST_BYTES = 16_000_000  # of files to read


def codecs() -> dict[str, Codec]:
    """Compress and decompress, by name."""
    made: dict[str, Codec] = {}
    for level in (1, 2, 4, 6, 9):
        made[f"zlib-{level}"] = partial(zlib.compress, level=level), zlib.decompress
    for level in (1, 9):
        made[f"bz2-{level}"] = partial(bz2.compress, compresslevel=level), bz2.decompress
    for level in (0, 6):
        made[f"lzma-{level}"] = partial(lzma.compress, preset=level), lzma.decompress
    return made


@dataclass(frozen=True)
class Corpus:
    """The contents of some files, one after another."""

    data: bytes = field(repr=False)
    files: int
    place: str

    def block(self, key: str) -> bytes:
        """A block put together from random places; the same key gives the same."""
        rng = random.Random(key)
        starts = [rng.randrange(len(self.data) - PIECE + 1) for _ in range(PIECES)]
        return b"".join(self.data[start : start + PIECE] for start in starts)


def read_corpus(paths: list[Path]) -> Corpus:
    """Files to compress: those given, or source files and texts that any machine with Python has."""
    if paths:
        absent = [path for path in paths if not path.exists()]
        if absent:
            raise ValueError(f"--files: there is no {absent[0]}; check the path")
        corpus = _read(_walk(paths), " ".join(map(str, paths)))
        if len(corpus.data) < BLOCK:
            raise ValueError(f"--files: expected at least {BLOCK} bytes, got {len(corpus.data)}; give more files")
        return corpus
    for place in (sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"], "/usr/share", "/usr/lib"):
        corpus = _read((p for p in _walk([Path(place)]) if p.suffix in (".py", ".txt", ".html", ".xml")), place)
        if len(corpus.data) >= 8 * BLOCK:
            return corpus
    raise ValueError("--files: found too few files to compress on this machine; name some")


def _walk(paths: Iterable[Path]) -> Iterator[Path]:
    """All files, in an order that does not depend on the file system."""
    for path in paths:
        if path.is_file():
            yield path
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(f for f in folders if f not in ("site-packages", "test", "tests", "__pycache__"))
            yield from (Path(folder, name) for name in sorted(names))


def _read(paths: Iterable[Path], place: str) -> Corpus:
    parts, size = [], 0
    for path in paths:
        try:
            part = path.read_bytes() if path.is_file() else b""
        except OSError:
            continue  # others will do
        parts.append(part[: MOST_BYTES - size])
        size += len(parts[-1])
        if size >= MOST_BYTES:
            break
    return Corpus(b"".join(parts), len(parts), place)


class CodecTrials:
    """Makes trials: the share of space saved, and milliseconds per MB to compress and to decompress."""

    def __init__(self, corpus: Corpus, seed: int) -> None:
        self.codecs = codecs()
        self.corpus = corpus
        self.seed = seed
        self.made: Counter[str] = Counter()

    def __call__(self, arm: str) -> tuple[float, dict[str, float]]:
        """One trial of a codec; its block depends on the seed and on how many the codec had before."""
        self.made[arm] += 1
        block = self.corpus.block(f"{self.seed}/{arm}/{self.made[arm]}")
        compress, decompress = self.codecs[arm]
        start = time.perf_counter()
        packed = compress(block)
        middle = time.perf_counter()
        back = decompress(packed)
        end = time.perf_counter()
        if back != block:
            raise RuntimeError(f"{arm}: the block did not come back as it was; the codec is broken")
        scale = 1000.0 / (len(block) / 1e6)
        times = (middle - start) * scale, (end - middle) * scale
        return 1.0 - len(packed) / len(block), dict(zip(COSTS, times, strict=True))
