"""The mix of compression codecs that saves the most space, within limits on mean time."""

import bz2
import lzma
import random
import sys
import sysconfig
import time
import zlib
from functools import partial
from pathlib import Path

import bestmix as bm

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

# Real data: the source files of this Python.
sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
text = b"".join(path.read_bytes() for path in sources)
codecs = {
    "zlib-1": (partial(zlib.compress, level=1), zlib.decompress),
    "zlib-6": (partial(zlib.compress, level=6), zlib.decompress),
    "bz2-9": (partial(bz2.compress, compresslevel=9), bz2.decompress),
    "lzma-0": (partial(lzma.compress, preset=0), lzma.decompress),
    "lzma-6": (partial(lzma.compress, preset=6), lzma.decompress),
}
rng = random.Random(0)


def trial(name):
    """Compress a random block and bring it back: the share of space saved, and processor ms per MB."""
    start = rng.randrange(len(text) - 65536)
    block = text[start : start + 65536]
    compress, decompress = codecs[name]
    times = [time.process_time()]
    packed = compress(block)
    times.append(time.process_time())
    decompress(packed)
    times.append(time.process_time())
    ms = [1e9 * (b - a) / len(block) for a, b in zip(times, times[1:], strict=False)]
    return 1 - len(packed) / len(block), {"compress_ms": ms[0], "decompress_ms": ms[1]}


def typical(name, cost):
    """The median of a few trials: what a limit can be set from, on any machine."""
    return sorted(trial(name)[1][cost] for _ in range(9))[4]


bounds = {
    "compress_ms": float(f"{typical('lzma-6', 'compress_ms') / 3:.2g}"),
    "decompress_ms": float(f"{0.6 * typical('bz2-9', 'decompress_ms'):.2g}"),
}
print("Limits:", bounds)
rec = bm.identify(bm.Problem(list(codecs), bounds), trial, budget=600)
print(rec)

figure = bm.plots.recommendation_figure(rec)
bm.plots.save(figure, folder / "codecs.png")
