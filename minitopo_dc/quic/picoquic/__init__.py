"""The compiled extension: picoquic, picotls and a helper of this project, built into a cache.

The build needs a compiler and the headers of Python and OpenSSL, but no root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from minitopo_dc.extension import Extension
from minitopo_dc.extension.make import (
    BuildError,
    SourceDistribution,
    check_headers,
    compile_all,
    link,
    make,
    python_headers,
    write_glue,
)
from minitopo_dc.quic.stack import HEADER, Stack

SOURCE = SourceDistribution(
    requirement="aiopquic==0.6.1",  # it wants Python 3.12, its C does not
    sha256="72579146e0f22859a5a7c197246604fef460b9e1b578a2910156dff7679efd29",
    title="picoquic",
)
"""It carries picoquic 1.1.53 and the picotls that goes with it, both MIT; nothing else of it is
used. It stays in the cache, so that a change of this project's helper needs no network."""
COUPLED = ("lia", "olia")
"""Congestion controls coupled over all paths (`coupled.c`)."""
CUBIC = "cubic"
"""The congestion control of RFC 9438, on each path by itself (`cubic.c`)."""
OWN_CUBIC = "cubic-picoquic"
"""What picoquic calls `cubic`: it answers losses above 15 % only."""
CONGESTION_CONTROLS = (
    *("newreno", CUBIC, OWN_CUBIC, "bbr", "bbr1", "fast", "prague", "c4", "dcubic"),
    *COUPLED,
)
"""By picoquic's own names, but for CUBIC's, and this project's own ones."""
_HERE = Path(__file__).parent
HELPER = tuple(sorted(path.name for path in _HERE.glob("*.c")))
"""The C code of this project's own: what lets Python use picoquic with few calls."""
EXTENSION = Extension(
    name="picoquic",
    module="minitopo_dc_picoquic",
    title="picoquic",
    folder=_HERE,
    made_of=("../stack.h", "helper.h", "endpoint.h", *HELPER, "__init__.py"),
    salt=SOURCE.sha256,
)


PICOQUIC = Stack(
    name="picoquic",
    version="1.1.53.0",  # as picoquic.h of `SOURCE` says
    congestion_controls=CONGESTION_CONTROLS,
    load=EXTENSION.load,
    obstacle=EXTENSION.obstacle,
)


FLAGS = ("-O2", "-fPIC", "-w", "-D_GNU_SOURCE", "-DDISABLE_DEBUG_PRINTF")
"""-O3 and link-time optimization gain nothing (docs/measurements/clocks.md)."""
FUSION = ("-mavx2", "-maes", "-mpclmul", "-mvaes", "-mvpclmulqdq")
"""Of `fusion`, picotls' own AES-GCM, which it uses where the processor has these instructions."""
NO_FUSION = "-DPTLS_WITHOUT_FUSION"
"""OpenSSL's is used instead."""
LIBRARIES = ("-lssl", "-lcrypto", "-lpthread", "-lm")
HEADERS = ("Python.h", "openssl/ssl.h")
NOT_COMPILED = ("memory_log", "picoqmux", "winsockloop")
"""Of picoquic's folder: a copy of another folder's, and what is for a program or for Windows."""
PICOTLS = (
    *("hpke", "picotls", "pembase64", "openssl", "cifra", "uecc", "asn1", "minicrypto-pem", "ffx"),
    *("cifra/x25519", "cifra/chacha20", "cifra/aes128", "cifra/aes256", "cifra/random"),
)
CIFRA = (
    *("aes", "blockwise", "chacha20", "chash", "curve25519", "drbg", "hmac", "gcm", "gf128"),
    *("modes", "poly1305", "sha256", "sha512"),
)

SORT = (
    "void picoquic_sort_available_paths(picoquic_cnx_t *, uint64_t, uint64_t *, "
    "picoquic_path_t **, uint64_t, picoquic_tuple_t **);"
)
"""The declaration for a call in the same file: no header has it."""
COUNTERS = (
    ("lost_before_ack", "total_bytes_lost"),
    ("nb_bytes_newly_lost", "total_bytes_lost"),
    ("nb_bytes_lost_since_packet_sent", "total_bytes_lost"),
    ("nb_bytes_delivered_since_packet_sent", "delivered"),
)
"""What congestion control learns of an acknowledgement, and the counter of which path it is taken
from: that of the acknowledged packets, where picoquic takes the path that brought the
acknowledgement (docs/picoquic.md)."""
EDITED = {
    "frames.c": tuple(
        (f"{name} = path_x->{counter}", f"{name} = packet_data->path_ack[i].acked_path->{counter}")
        for name, counter in COUNTERS
    ),
    "quicctx.c": (("void picoquic_demote_path(", "void own_demote_path("),),
    "paths.c": (
        ("void picoquic_select_next_path_tuple(", "void own_select_next_path_tuple("),
        ("void picoquic_sort_available_paths(", f"{SORT}\nvoid own_sort_available_paths("),
    ),
    "streams.c": (
        (
            "uint8_t* picoquic_prepare_stream_and_datagrams(",
            "uint8_t* own_prepare_stream_and_datagrams(",
        ),
    ),
}
"""What is replaced in picoquic's files, and by what: `COUNTERS`, and the names of definitions that
the helper (`paths.c`, `schedulers.c`) wraps in a function of that name."""


def build(say: Callable[[str], None]) -> Path:
    """Make the extension unless it is here and works; return its path.

    Others who build are waited for.

    Args:
        say: told what is done next, a line each.

    Raises:
        BuildError: a compiler, headers or the sources are missing.
    """
    return make(EXTENSION, partial(_compile, say), kept=(SOURCE.archive,))


def _compile(say: Callable[[str], None], cache: Path, scratch: Path) -> Path:
    check_headers(HEADERS)
    sources = SOURCE.unpack(SOURCE.fetch(cache, say), scratch) / "third_party"
    edit(sources)
    say("compiling picoquic (10 s on two cores)")
    here = EXTENSION.folder
    glue = scratch / f"{EXTENSION.module}.c"
    headers = (HEADER, here / "helper.h")
    declared = "".join(header.read_text(encoding="ascii") for header in headers)
    write_glue(EXTENSION.module, declared, [header.name for header in headers], glue)
    paths = (here, here.parent, python_headers(), *include_paths(sources))
    fused = can_compile_fusion(scratch)
    options = (*FLAGS, *(() if fused else (NO_FUSION,)), *(f"-I{path}" for path in paths))
    files = (glue, *(here / name for name in HELPER), *source_files(sources))
    jobs = [(file, options) for file in files]
    if fused:
        # For processors with AES-NI, which needs options of its own.
        jobs.append((sources / "picotls" / "lib" / "fusion.c", (*options, *FUSION)))
    objects = compile_all(jobs, scratch)
    return link(objects, scratch / Path(EXTENSION.file_name()).name, LIBRARIES)


def can_compile_fusion(scratch: Path) -> bool:
    """Return whether the compiler knows the instructions of `fusion` (x86-64 with AES-NI)."""
    probe = scratch / "probe.c"
    probe.write_text(
        "#include <immintrin.h>\n__m256i probe(__m256i a) { return _mm256_aesenc_epi128(a, a); }\n",
        encoding="ascii",
    )
    try:
        compile_all([(probe, FUSION)], scratch)
    except BuildError:
        return False
    return True


def edit(sources: Path) -> None:
    """Replace in picoquic's files what `EDITED` says.

    Raises:
        BuildError: something is not where it was.
    """
    for name, edits in EDITED.items():
        path = sources / "picoquic" / "picoquic" / name
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        for before, after in edits:
            if text.count(before) != 1:
                raise BuildError(f"{path} has not one {before!r}")
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8", errors="surrogateescape")


def source_files(sources: Path) -> Iterator[Path]:
    """Yield the C files to compile."""
    picoquic, picotls = sources / "picoquic", sources / "picotls"
    own = sorted((picoquic / "picoquic").glob("*.c"))
    yield from (file for file in own if file.stem not in NOT_COMPILED)
    yield from sorted((picoquic / "loglib").glob("*.c"))
    yield from (picotls / "lib" / f"{name}.c" for name in PICOTLS)
    yield from (picotls / "deps" / "cifra" / "src" / f"{name}.c" for name in CIFRA)
    yield picotls / "deps" / "micro-ecc" / "uECC.c"


def include_paths(sources: Path) -> Iterator[Path]:
    """Yield the folders of their headers."""
    picotls = sources / "picotls"
    yield from (sources / "picoquic" / name for name in ("picoquic", "loglib"))
    yield picotls / "include"
    yield from (picotls / "deps" / name for name in ("cifra/src/ext", "cifra/src", "micro-ecc"))
