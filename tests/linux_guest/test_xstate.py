"""The guest sets its processes' extended state on hosts of any processor, AMX among them."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import pytest

from minitopo_dc.linux_guest import PATCH

GUEST_BYTES = 2696
"""The state that a guest of Linux 6.12 keeps (struct _xstate)."""
HOST = """
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <linux/elf.h>

static unsigned char state[1 << 21];
static size_t host_size;

/* As the kernel's ptrace_regset and xstateregs_set: reads are cut, writes are whole or refused. */
static long host_ptrace(int request, ...)
{
	struct iovec *iov;
	va_list rest;

	va_start(rest, request);
	va_arg(rest, int);
	va_arg(rest, int);
	iov = va_arg(rest, struct iovec *);
	va_end(rest);
	if (iov->iov_len > host_size)
		iov->iov_len = host_size;
	if (request == PTRACE_GETREGSET) {
		memcpy(iov->iov_base, state, iov->iov_len);
		return 0;
	}
	if (iov->iov_len != host_size) {
		errno = EFAULT;
		return -1;
	}
	memcpy(state, iov->iov_base, iov->iov_len);
	return 0;
}
#define ptrace host_ptrace
#include "xstate.h"

int begin(size_t size)
{
	host_size = size;
	memset(state, 0xff, sizeof(state));
	return xstate_init(1);
}
int set(const void *regs, size_t size) { return xstate_restore(1, regs, size); }
const unsigned char *held(void) { return state; }
"""


def header() -> str:
    """Return the file of the guest that the build's patch adds."""
    part = PATCH.read_text(encoding="utf-8").split("+++ b/arch/x86/um/os-Linux/xstate.h\n")[1]
    added = re.split(r"^--- ", part, flags=re.MULTILINE)[0].splitlines()
    return "\n".join(line[1:] for line in added if line.startswith("+"))


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Return the guest's code over a host whose state has the size that `begin` is given."""
    folder: Path = tmp_path_factory.mktemp("xstate")
    (folder / "xstate.h").write_text(header(), encoding="ascii")
    (folder / "host.c").write_text(HOST, encoding="ascii")
    library = folder / "host.so"
    command = ["cc", "-std=gnu11", "-Wall", "-Werror", "-fPIC", "-shared", "-o", str(library)]
    subprocess.run([*command, str(folder / "host.c")], check=True)
    made = ctypes.CDLL(str(library))
    made.begin.argtypes = [ctypes.c_size_t]
    made.set.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    made.held.restype = ctypes.POINTER(ctypes.c_ubyte)
    return made


@pytest.mark.parametrize("size", [512, 832, GUEST_BYTES, 4096, 11_008, 65_536, 1_000_000])
def test_a_host_takes_the_guests_state_whatever_the_size_of_its_own(
    guest: ctypes.CDLL, size: int
) -> None:
    saved = bytes(number % 251 for number in range(GUEST_BYTES))
    assert guest.begin(size) == 0
    assert guest.set(saved, GUEST_BYTES) == 0
    assert bytes(guest.held()[:size]) == saved[:size].ljust(size, b"\0")


def test_a_state_that_cannot_be_measured_is_an_error(guest: ctypes.CDLL) -> None:
    assert guest.begin(1 << 20) < 0
