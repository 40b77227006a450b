"""Picoquic's sources from a package registry, and the extension made of them and `helper.c`.

The source distribution of `aiopquic` carries picoquic and picotls, both MIT; nothing else of it is
used. A compiler, Python's headers and OpenSSL's are needed, no root: what is made goes to a cache.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cffi import FFI

from minitopo_dc.picoquic.library import MODULE, SOURCE, cache_directory, extension_name

COMPILER = "cc"
FLAGS = ("-O2", "-fPIC", "-w", "-D_GNU_SOURCE", "-DPTLS_WITHOUT_FUSION", "-DDISABLE_DEBUG_PRINTF")
"""`fusion` is picotls' own AES for processors with AES-NI: OpenSSL's is as good, and everywhere."""
LIBRARIES = ("-lssl", "-lcrypto", "-lpthread", "-lm")
HEADERS = "Debian: apt-get install gcc python3-dev libssl-dev"

PICOQUIC = (
    *("bbr", "bbr1", "bytestream", "cc_common", "c4", "config", "cubic", "dualq_aqm", "ech"),
    *("error_names", "fastcc", "frame_names", "frames", "intformat", "logger", "logwriter"),
    *("loss_recovery", "newreno", "pacing", "packet", "packet_names", "paths", "performance_log"),
    *("picohash", "picoquic_lb", "picoquic_ptls_fusion", "picoquic_ptls_minicrypto"),
    *("picoquic_ptls_openssl", "picoquic_mbedtls", "picosocks", "picosplay", "port_blocking"),
    *("prague", "qmux", "quicctx", "register_all_cc_algorithms", "sacks", "scone", "sender"),
    *("sim_link", "siphash", "sockloop", "spinbit", "streams", "ticket_store", "timing"),
    *("token_store", "tls_api", "tp_names", "transport", "unified_log", "util"),
)
LOGS = (
    *("autoqlog", "cidset", "csv", "logconvert", "logreader", "memory_log", "qlog"),
    *("qlog_frames", "qlog_fns", "svg"),
)
PICOTLS = (
    *("hpke", "picotls", "pembase64", "openssl", "cifra", "uecc", "asn1", "minicrypto-pem", "ffx"),
    *("cifra/x25519", "cifra/chacha20", "cifra/aes128", "cifra/aes256", "cifra/random"),
)
CIFRA = (
    *("aes", "blockwise", "chacha20", "chash", "curve25519", "drbg", "hmac", "gcm", "gf128"),
    *("modes", "poly1305", "sha256", "sha512"),
)


class BuildError(RuntimeError):
    """The extension could not be made; the text says why and what to do."""


def build(say: Callable[[str], None]) -> Path:
    """Make the extension in the cache unless it is there; its path.

    Args:
        say: told what is done next, a line each.

    Raises:
        BuildError: a compiler, headers or the sources are missing.
    """
    target = cache_directory() / extension_name()
    if target.exists():
        return target
    if shutil.which(COMPILER) is None:
        raise BuildError(f"no C compiler ({COMPILER}) on PATH ({HEADERS})")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        say(f"getting {SOURCE.requirement}'s sources")
        sources = _unpack(_download(Path(scratch)), Path(scratch))
        say("compiling picoquic")
        made = _link(_compile(sources, Path(scratch)), Path(scratch) / target.name)
        made.replace(target)
    return target


def _download(directory: Path) -> Path:
    """The pinned source distribution, by pip; its hash is checked by pip and, cached, by us."""
    wanted = directory / "requirements.txt"
    wanted.write_text(f"{SOURCE.requirement} --hash=sha256:{SOURCE.sha256}\n", encoding="ascii")
    command = [
        *(
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--ignore-requires-python",
        ),
        *("--no-binary", ":all:", "--only-binary", "setuptools,cython,setuptools_scm,packaging"),
        *("--dest", str(directory), "--require-hashes", "--requirement", str(wanted)),
    ]
    _run(command, "pip could not get the sources")
    (found,) = directory.glob("*.tar.gz")
    return found


def _unpack(archive: Path, directory: Path) -> Path:
    """The folder of third-party sources in the archive."""
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SOURCE.sha256:
        raise BuildError(f"{archive.name} is not the one whose hash is known")
    with tarfile.open(archive) as tar:
        # Python 3.11.4 and newer; before, the hash alone says that nothing leaves the directory.
        tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
        tar.extractall(directory)
    return directory / archive.name.removesuffix(".tar.gz") / "third_party"


def _compile(sources: Path, directory: Path) -> list[Path]:
    """Object files of picoquic, picotls and our helper, made with all processors."""
    glue = directory / f"{MODULE}.c"
    _write_glue(glue)
    own = Path(__file__).parent / "helper.c"
    includes = [f"-I{path}" for path in _include_paths(sources)]
    jobs = list(enumerate([glue, own, *_files(sources)]))

    def one(job: tuple[int, Path]) -> Path:
        number, source = job
        made = directory / f"{number}-{source.stem}.o"
        command = [COMPILER, *FLAGS, *includes, "-c", str(source), "-o", str(made)]
        _run(command, f"{source.name} does not compile ({HEADERS})")
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(one, jobs))


def _write_glue(path: Path) -> None:
    """The C code between Python and what `helper.h` declares."""
    ffi = FFI()
    ffi.cdef((Path(__file__).parent / "helper.h").read_text(encoding="ascii"))
    ffi.set_source(MODULE, '#include <stdint.h>\n#include <stddef.h>\n#include "helper.h"')
    with contextlib.redirect_stdout(None):  # it says what it does
        ffi.emit_c_code(str(path))


def _include_paths(sources: Path) -> Iterator[Path]:
    picotls = sources / "picotls"
    yield Path(__file__).parent
    yield Path(sysconfig.get_path("include"))
    yield from (sources / "picoquic" / name for name in ("picoquic", "loglib"))
    yield picotls / "include"
    yield from (picotls / "deps" / name for name in ("cifra/src/ext", "cifra/src", "micro-ecc"))


def _files(sources: Path) -> Iterator[Path]:
    picotls = sources / "picotls"
    yield from _named(sources / "picoquic" / "picoquic", PICOQUIC)
    yield from _named(sources / "picoquic" / "loglib", LOGS)
    yield from _named(picotls / "lib", PICOTLS)
    yield from _named(picotls / "deps" / "cifra" / "src", CIFRA)
    yield picotls / "deps" / "micro-ecc" / "uECC.c"


def _named(directory: Path, names: Iterable[str]) -> Iterator[Path]:
    return (directory / f"{name}.c" for name in names)


def _link(objects: list[Path], target: Path) -> Path:
    command = [COMPILER, "-shared", "-o", str(target), *map(str, objects), *LIBRARIES]
    _run(command, f"the extension does not link ({HEADERS})")
    return target


def _run(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines()
        said = [line for line in words if "error" in line.lower()] or words
        raise BuildError(f"{what}: {' | '.join(said[:3])}")
