"""How the extension is made, and what is said where it cannot be."""

from __future__ import annotations

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from minitopo_dc import extension
from minitopo_dc.cli import main
from minitopo_dc.extension import NotBuiltError, is_intact, make, put
from minitopo_dc.extension.make import BuildError
from minitopo_dc.quic import picoquic
from tests.quic.extension import needs_picoquic


def silent(_text: str) -> None:
    pass


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As for somebody who has not built it: the user's cache, which is empty."""
    monkeypatch.setattr(extension, "checkout", lambda: None)
    monkeypatch.setattr(extension, "_LOADED", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "minitopo-dc" / "picoquic"


def test_what_is_missing_is_told_with_the_command_that_makes_it(nowhere: Path) -> None:
    assert (
        picoquic.EXTENSION.obstacle()
        == "picoquic is not built (get it: minitopo-dc build picoquic)"
    )
    with pytest.raises(NotBuiltError, match="minitopo-dc build picoquic"):
        picoquic.EXTENSION.load()
    assert picoquic.EXTENSION.build_directory() == nowhere


@needs_picoquic
def test_what_is_here_is_not_made_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "picoquic"]) == 0
    said = capsys.readouterr()
    assert Path(said.out.strip()) == picoquic.EXTENSION.find()
    assert said.err == ""


@needs_picoquic
def test_the_user_s_own_does_where_a_checkout_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = picoquic.EXTENSION.find()
    assert found is not None
    mine = tmp_path / "cache" / "minitopo-dc" / "picoquic" / picoquic.EXTENSION.file_name()
    mine.parent.parent.mkdir(parents=True)
    put(Path(shutil.copy(found, tmp_path)), mine)
    (tmp_path / "checkout").mkdir()
    monkeypatch.setattr(extension, "checkout", lambda: tmp_path / "checkout")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert picoquic.EXTENSION.find() == mine


@pytest.mark.parametrize("changed", picoquic.EXTENSION.made_of)
def test_another_helper_or_another_way_to_compile_it_is_another_file(
    changed: str, tmp_path: Path
) -> None:
    before = picoquic.EXTENSION.file_name()
    folder = tmp_path / "picoquic"
    folder.mkdir()
    for name in picoquic.EXTENSION.made_of:
        shutil.copy(picoquic.EXTENSION.folder / name, folder / name)
    copied = replace(picoquic.EXTENSION, folder=folder)
    assert copied.file_name() == before
    with (folder / changed).open("a", encoding="ascii") as file:
        file.write("\n")
    assert copied.file_name() != before


def test_without_a_compiler_the_packages_are_named(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(make, "COMPILER", "no-such-compiler")
    assert main(["build", "picoquic"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "minitopo-dc: no C compiler (no-such-compiler) on PATH "
        "(Debian and Ubuntu: apt-get install gcc python3-dev libssl-dev)\n"
    )
    assert [path.name for path in nowhere.iterdir()] == ["lock"]


@pytest.mark.skipif(shutil.which(make.COMPILER) is None, reason="no C compiler")
def test_a_missing_header_is_told_before_anything_is_fetched(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picoquic, "HEADERS", ("no_such_header.h",))
    with pytest.raises(BuildError, match=r"does not find no_such_header\.h \(Debian .*: .*error"):
        picoquic.build(silent)
    assert not list(nowhere.glob("*.tar.gz"))


def test_a_cache_that_cannot_be_written_is_told(
    tmp_path: Path, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(BuildError, match="Not a directory"):
        picoquic.build(silent)
    assert not nowhere.exists()


def test_without_a_network_pip_s_words_are_told_and_sources_with_another_hash_are_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(BuildError, match=r"picoquic.*aiopquic"):
        picoquic.SOURCE.fetch(tmp_path, silent)
    (tmp_path / "aiopquic-0.6.1.tar.gz").write_bytes(b"half of the file")
    with pytest.raises(BuildError, match=r"picoquic"):
        picoquic.SOURCE.fetch(tmp_path, silent)


def test_an_extension_that_cannot_be_loaded_has_its_reason(tmp_path: Path) -> None:
    spoilt = tmp_path / Path(picoquic.EXTENSION.file_name()).name
    spoilt.write_bytes(b"no ELF file")
    assert "ImportError" in str(make.loading_error(picoquic.EXTENSION.module, spoilt))


def test_what_killed_builds_and_those_of_a_month_ago_have_left_is_removed(tmp_path: Path) -> None:
    kept = {tmp_path / "new", tmp_path / "before-the-upgrade", tmp_path / "sources.tar.gz"}
    for name in ("new", "before-the-upgrade", "old", f"{make.SCRATCH}killed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    (tmp_path / "sources.tar.gz").touch()
    for name in ("sources.tar.gz", "old"):
        os.utime(tmp_path / name, (0, 0))
    make.remove_others(tmp_path, {tmp_path / "new", tmp_path / "sources.tar.gz"})
    assert set(tmp_path.iterdir()) == kept
    assert (tmp_path / "new" / "file").exists()


@pytest.mark.usefixtures("nowhere")
def test_of_two_builds_at_once_one_compiles_and_the_other_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(make, "loading_error", lambda _module, _path: None)
    compiled: list[Path] = []

    def compile_slowly(_cache: Path, scratch: Path) -> Path:
        compiled.append(scratch)
        time.sleep(0.1)
        (made := scratch / "made.so").touch()
        return made

    own = replace(picoquic.EXTENSION, salt="of this test")
    with ThreadPoolExecutor() as pool:
        builds = [pool.submit(make.make, own, compile_slowly) for _ in range(3)]
    assert {build.result() for build in builds} == {own.find()}
    assert len(compiled) == 1


def test_a_user_without_a_home_is_told_of_another_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    (tmp_path / "file").touch()
    monkeypatch.setattr(extension, "checkout", lambda: None)
    monkeypatch.setattr(extension, "_LOADED", {})
    monkeypatch.setattr(extension, "NO_HOME", tmp_path / "file")
    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert "not built" in str(picoquic.EXTENSION.obstacle())
    with pytest.raises(BuildError, match=r"\$XDG_CACHE_HOME"):
        picoquic.build(silent)


def test_in_a_checkout_whose_cache_is_root_s_the_user_s_own_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".cache").mkdir()
    monkeypatch.setattr(extension, "checkout", lambda: tmp_path)
    monkeypatch.setattr(os, "access", lambda path, _mode: path == tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    assert picoquic.EXTENSION.build_directory() == tmp_path / "own" / "minitopo-dc" / "picoquic"


@pytest.mark.parametrize("flags", [(), ("-mno-such-instructions",)])
def test_a_compiler_that_lacks_the_instructions_of_fusion_goes_without(
    flags: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picoquic, "FUSION", flags)  # without them AES intrinsics do not, either
    assert not picoquic.can_compile_fusion(tmp_path)


def broken(built: Path, how: str) -> None:
    """Damage a file as a power cut or a disk does, with its time as it was."""
    facts, content = built.stat(), built.read_bytes()
    damaged = {"empty": b"", "half": content[: len(content) // 2], "flipped": content[:-1] + b"!"}
    built.write_bytes(damaged[how])
    os.utime(built, ns=(facts.st_atime_ns, facts.st_mtime_ns + 1))


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("how", ["empty", "half", "flipped"])
def test_a_damaged_extension_is_told_and_built_anew(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "loading_error", lambda _module, _path: None)
    monkeypatch.setattr(extension, "_LOADED", {})

    def compile_into(_cache: Path, scratch: Path) -> Path:
        (made := scratch / "made.so").write_bytes(b"an extension")
        return made

    built = make.make(picoquic.EXTENSION, compile_into)
    assert picoquic.EXTENSION.obstacle() is None
    broken(built, how)
    assert (
        picoquic.EXTENSION.obstacle() == "picoquic is damaged (get it: minitopo-dc build picoquic)"
    )
    assert make.make(picoquic.EXTENSION, compile_into).read_bytes() == b"an extension"
    assert picoquic.EXTENSION.obstacle() is None


def test_a_damaged_file_of_a_folder_is_noticed_and_a_compiled_module_is_none_of_it(
    tmp_path: Path,
) -> None:
    (made := tmp_path / "made").mkdir()
    (made / "one.py").write_text("1\n")
    put(made, built := tmp_path / "cache" / "built")
    (built / "one.pyc").touch()
    assert is_intact(built)
    (built / "one.py").write_text("")
    extension._digest_of.cache_clear()  # as in another process
    assert not is_intact(built)
