"""A guest's kernel is built, and its archive of files."""

from __future__ import annotations

import hashlib
import json
import socket
import tarfile
from pathlib import Path, PurePosixPath

import pytest

from minitopo_dc import linux_guest
from minitopo_dc.cli import main
from minitopo_dc.extension import NotBuiltError
from minitopo_dc.extension.make import BuildError
from minitopo_dc.linux_guest import build
from minitopo_dc.linux_guest.guest import archive
from minitopo_dc.linux_guest.orders import ACTIONS, _ffi, orders, words

MAKEFILE = "VERSION = 6\nPATCHLEVEL = {}\nSUBLEVEL = 7\n"


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As for somebody who has not built it: the user's cache, which is empty."""
    monkeypatch.setattr("minitopo_dc.extension.checkout", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "minitopo-dc" / "linux"


def test_what_is_missing_is_told_with_the_command_that_makes_it(nowhere: Path) -> None:
    assert (
        linux_guest.obstacle() == "the guest kernel is not built (get it: minitopo-dc build linux)"
    )
    with pytest.raises(NotBuiltError, match="minitopo-dc build linux"):
        linux_guest.parts()
    assert not nowhere.exists()


def test_a_kernel_beside_programs_of_another_version_is_told_so(nowhere: Path) -> None:
    kernel = nowhere / linux_guest.kernel_name() / linux_guest.KERNEL
    kernel.parent.mkdir(parents=True)
    kernel.write_bytes(b"a kernel")
    record = {"kernel_sha256": hashlib.sha256(b"a kernel").hexdigest()}
    (kernel.parent / linux_guest.RECORD).write_text(json.dumps(record))
    other = nowhere / "programs-0123456789abcdef" / linux_guest.AGENT
    other.parent.mkdir()
    other.write_bytes(b"an agent")
    assert linux_guest.obstacle() == (
        "the guest's programs beside its kernel are not those of this version "
        "(get them: minitopo-dc build linux, under a minute)"
    )


def test_missing_tools_are_one_error_with_their_packages(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = {"cc", "make", "patch", "strip", "bc"}
    monkeypatch.setattr("shutil.which", lambda name: name if name in there else None)
    assert main(["build", "linux"]) == 1
    assert capsys.readouterr().err == (
        "minitopo-dc: not installed: flex, bison, m4 "
        "(Debian and Ubuntu: apt-get install flex bison m4)\n"
    )
    assert [path.name for path in nowhere.iterdir()] == ["lock"]


@pytest.mark.parametrize(
    ("given", "words"),
    [(None, r"no apt-get here .* --source PATH"), ("none", r"--source: .*none does not exist")],
)
def test_where_no_sources_are_one_is_told(
    given: str | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "INSTALLED", tmp_path / "none")
    monkeypatch.setattr("shutil.which", lambda _name: None)
    with pytest.raises(BuildError, match=words):
        build.find_source(Path(given) if given else None, tmp_path, print)


def test_sources_for_another_target_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "picoquic", "--source", "."]) == 2
    assert "--source: only linux" in capsys.readouterr().err


@pytest.mark.parametrize("packed", [False, True])
def test_of_a_tree_or_an_archive_what_is_needed_is_taken(tmp_path: Path, packed: bool) -> None:
    tree = tree_of(tmp_path / "linux-6.12", MAKEFILE.format(12))
    given = archive_of(tree) if packed else tree
    taken = tmp_path / "taken"
    taken.mkdir()
    assert len(build.unpack(given, taken)) == 64
    found = {path.relative_to(taken).as_posix() for path in taken.rglob("*") if path.is_file()}
    assert found == {"Makefile", "net/ipv4/tcp.c", "drivers/gpu/Kconfig"}
    assert build.version_of(taken) == "6.12.7"


def test_an_archive_that_unpacks_to_more_than_a_kernel_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = archive_of(tree_of(tmp_path / "linux-6.12", MAKEFILE.format(12)))
    monkeypatch.setattr(build, "MAX_TREE_BYTES", 20)
    (tmp_path / "taken").mkdir()
    with pytest.raises(BuildError, match=r"tar\.xz .*up to 20"):
        build.unpack(given, tmp_path / "taken")


@pytest.mark.parametrize(
    ("makefile", "words"),
    [
        (MAKEFILE.format(8), r"is Linux 6\.8\.7.*6\.12"),
        ("all:\n", r"no sources of Linux.*6\.12"),
        (None, "cannot be unpacked"),
    ],
)
def test_other_sources_are_refused(tmp_path: Path, makefile: str | None, words: str) -> None:
    given = tmp_path / "linux.tar.xz"
    given.write_bytes(b"nothing")
    if makefile is not None:
        given = tree_of(tmp_path / "other", makefile)
    (tmp_path / "taken").mkdir()
    with pytest.raises(BuildError, match=words):
        build.unpack(given, tmp_path / "taken")


def test_an_interrupted_build_goes_on_with_its_tree_unless_that_is_for_another_patch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked: list[Path] = []

    def unpack(work: Path, *_: object) -> dict[str, str]:
        work.mkdir()
        unpacked.append(work)
        return {}

    def fail(*_: object) -> None:
        raise BuildError("interrupted")

    monkeypatch.setattr(build, "_unpacked", unpack)
    monkeypatch.setattr(build, "_compile", fail)
    for name in ("one", "one", "two"):
        monkeypatch.setattr(build, "kernel_name", lambda name=name: name)
        with pytest.raises(BuildError):
            build._make_kernel(tmp_path, None, print)
    assert len(unpacked) == 2


def test_progress_is_told_ten_times_at_most() -> None:
    said: list[str] = []
    build.tell((f"  CC      {n}.o" for n in range(build.COMPILED_FILES + 50)), said.append)
    assert said[0] == "compiled 10 %"
    assert len(said) <= 10


def test_which_files_are_needed() -> None:
    needed = (
        "Makefile drivers/virtio/virtio_ring.c drivers/net/virtio_net.c fs/hostfs/hostfs_kern.c"
    )
    others = (
        "drivers/net/ethernet/intel/e1000/e1000_main.c fs/btrfs/inode.c Documentation/index.rst"
    )
    assert all(build.is_needed(PurePosixPath(path)) for path in needed.split())
    assert build.is_needed(PurePosixPath("drivers/net/ethernet/intel/Kconfig"))
    assert not any(build.is_needed(PurePosixPath(path)) for path in others.split())


def tree_of(tree: Path, makefile: str) -> Path:
    for name in ("net/ipv4/tcp.c", "drivers/gpu/drm.c", "drivers/gpu/Kconfig"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)
    (tree / "Makefile").write_text(makefile)
    return tree


def archive_of(tree: Path) -> Path:
    path = tree.with_suffix(".tar.xz")
    with tarfile.open(path, mode="w:xz") as tar:
        tar.add(tree, tree.name)
    return path


FILES = {"init": b"\x7fELF and more", "orders": b"", "content": b"abc"}


def test_each_entry_begins_at_a_multiple_of_four_with_the_magic() -> None:
    packed = archive(FILES, ("proc",))
    at, names = 0, []
    while at < len(packed):
        assert packed[at : at + 6] == b"070701"
        size, length = (int(packed[at + i : at + i + 8], 16) for i in (54, 94))
        names.append(packed[at + 110 : at + 110 + length - 1].decode())
        at += -(-(110 + length) // 4) * 4 + -(-size // 4) * 4
    assert names == ["proc", "init", "orders", "content", "TRAILER!!!"]


def test_orders_are_what_the_agent_reads_in_its_own_form() -> None:
    given = orders(
        ("fd00:10:0:0::2", 4433),
        clients=["fd00:10:2:1::2", "fd00:10:2:2::2"],
        congestion_control="bbr",
        sysctl={"net.a": "1 2"},
        begin=10**9,
        flight=[(517, 717)],
        request=(10, 20, 16384, 31),
        change=[(0, ACTIONS.index("add"), 1), (2 * 10**9, ACTIONS.index("delete-initial"), 2)],
    )
    read = _ffi().from_buffer("struct orders *", given)
    enum = _ffi().typeof("enum action").relements
    assert read.server.family == socket.AF_INET6
    address = socket.inet_pton(socket.AF_INET6, "fd00:10:2:2::2")
    assert bytes(read.client[2].data)[6:22] == address
    assert (read.clients, read.proxy.family, read.begin, read.mss) == (2, 0, 10**9, 0)
    assert _ffi().string(read.congestion_control) == b"bbr"
    assert _ffi().string(read.setting[0].file) == b"/proc/sys/net/a"
    assert (read.flights, list(read.flight[0]), read.request.block) == (1, [517, 717], 16384)
    assert [(each.at, each.action, each.card) for each in read.change[0 : read.changes]] == [
        (0, enum["ADD_ENDPOINT"], 1),
        (2 * 10**9, enum["DELETE_INITIAL"], 2),
    ]


def test_the_actions_have_the_order_of_the_agents() -> None:
    names = {"add": "ADD_ENDPOINT", "delete": "DELETE_ENDPOINT", "delete-initial": "DELETE_INITIAL"}
    names |= {"backup": "SET_BACKUP", "available": "SET_AVAILABLE"}
    enum = _ffi().typeof("enum action").relements
    assert [enum[names[name]] for name in ACTIONS] == list(range(len(ACTIONS)))


def test_words_of_programs_keep_their_blanks_and_line_ends() -> None:
    assert words(["sh", "-c", "a b\nc"]) == b"sh\0-c\0a b\nc\0"
    assert words([]) == b""


@pytest.mark.parametrize("changed", ["PATCH", "CONFIGURATION", None])
def test_a_kernel_is_kept_until_its_patch_or_its_configuration_changes(
    changed: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = linux_guest.kernel_name()
    monkeypatch.setattr("minitopo_dc.__version__", "99.0")
    for name in ("PATCH", "CONFIGURATION"):
        copy = tmp_path / name
        copy.write_bytes(getattr(linux_guest, name).read_bytes() + b"\n" * (name == changed))
        monkeypatch.setattr(linux_guest, name, copy)
    assert (linux_guest.kernel_name() == before) == (changed is None)
