"""The program in whose process judged code runs; `code_runner` starts it as a script.

It reads its orders, imports the modules that the code may use, shuts itself in, and only then compiles
and runs the code. Once shut in, a process can compute, write to the descriptors it has, sleep and end:

- limits of the operating system: seconds, bytes of memory, no new descriptors, files or processes; if
  we are root, we become "nobody";
- `seccomp`: of the system calls only those in `ALLOWED`. Calls that look at files (`ABSENT`) fail with
  "permission denied", as does making memory executable; any other call ends the process;
- `Landlock`: no file may be opened, made or removed, no TCP port used, no process outside signalled.
  With seccomp in place nothing should get as far as this wall.

It needs the standard library only, and no file after it has started.
"""

import contextlib
import ctypes
import importlib
import json
import os
import platform
import struct
import sys

try:
    import resource
except ImportError:  # not POSIX
    resource = None  # type: ignore[assignment]

# Numbers of system calls on x86_64 and aarch64; None where there is no such call.
ALLOWED: dict[str, tuple[int, int | None]] = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57),
    "munmap": (11, 215), "mremap": (25, 216), "brk": (12, 214), "madvise": (28, 233),
    "futex": (202, 98), "sched_yield": (24, 124), "restart_syscall": (219, 128),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "gettimeofday": (96, 169),
    "time": (201, None), "nanosleep": (35, 101), "clock_nanosleep": (230, 115),
    "rt_sigreturn": (15, 139), "rt_sigprocmask": (14, 135), "sigaltstack": (131, 132),
    "getrandom": (318, 278), "getpid": (39, 172), "gettid": (186, 178),
    "exit": (60, 93), "exit_group": (231, 94),
}  # fmt: skip
ABSENT: dict[str, tuple[int, int | None]] = {
    "open": (2, None), "openat": (257, 56), "openat2": (437, 437),
    "stat": (4, None), "lstat": (6, None), "fstat": (5, 80), "newfstatat": (262, 79),
    "statx": (332, 291), "access": (21, None), "faccessat": (269, 48), "faccessat2": (439, 439),
    "readlink": (89, None), "readlinkat": (267, 78), "getdents64": (217, 61), "getcwd": (79, 17),
    "lseek": (8, 62), "ioctl": (16, 29), "fcntl": (72, 25),
}  # fmt: skip
WITHOUT_EXECUTION: dict[str, tuple[int, int | None]] = {"mmap": (9, 222), "mprotect": (10, 226)}
TO_OURSELVES: dict[str, tuple[int, int | None]] = {"tgkill": (234, 131)}  # abort() needs it

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # as seccomp calls them

ALLOW, DENY, KILL = 0x7FFF0000, 0x00050000 | 13, 0x80000000  # 13: EACCES
LOAD, EQUAL, ANY_BIT, RETURN = 0x20, 0x15, 0x45, 0x06  # operations of the filter's machine
NUMBER, MACHINE, FIRST, THIRD = 0, 4, 16, 32  # where it finds the call and its arguments
EXECUTABLE = 4


def system_call_filter(machine: str, process: int) -> bytes:
    """The seccomp program: instructions (operation, jump if true, jump if false, value)."""
    column = list(MACHINES).index(machine)
    program = [(LOAD, 0, 0, MACHINE), (EQUAL, 1, 0, MACHINES[machine]), (RETURN, 0, 0, KILL)]
    program.append((LOAD, 0, 0, NUMBER))

    def rule(calls: dict[str, tuple[int, int | None]], *then: tuple[int, int, int, int]) -> None:
        for numbers in calls.values():
            if (number := numbers[column]) is not None:
                program.extend([(EQUAL, 0, len(then), number), *then])

    rule(ALLOWED, (RETURN, 0, 0, ALLOW))
    rule(ABSENT, (RETURN, 0, 0, DENY))
    rule(
        WITHOUT_EXECUTION, (LOAD, 0, 0, THIRD), (ANY_BIT, 1, 0, EXECUTABLE),
        (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, DENY),
    )  # fmt: skip
    rule(
        TO_OURSELVES, (LOAD, 0, 0, FIRST), (EQUAL, 0, 1, process),
        (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, KILL),
    )  # fmt: skip
    program.append((RETURN, 0, 0, KILL))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def seccomp() -> bool:
    """Whether from now on only those system calls are answered."""
    machine = platform.machine()
    if sys.platform != "linux" or machine not in MACHINES or sys.maxsize < 2**32:
        return False
    program = system_call_filter(machine, os.getpid())
    buffer = ctypes.create_string_buffer(program)
    described = ctypes.create_string_buffer(
        struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    )
    return _prctl(22, 2, ctypes.addressof(described))


def landlock() -> bool:
    """Whether from now on no file, TCP port or process outside can be reached."""
    if sys.platform != "linux" or platform.machine() not in MACHINES:
        return False
    call = ctypes.CDLL(None).syscall
    call.restype = ctypes.c_long
    version = call(444, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        return False
    files = 13 + (version >= 2) + (version >= 3) + (version >= 5)  # kinds of access it knows
    fields = [2**files - 1] + [3] * (version >= 4) + [3] * (version >= 6)
    rules = struct.pack(f"{len(fields)}Q", *fields)  # all kinds are refused: there is no exception
    made = call(444, rules, ctypes.c_size_t(len(rules)), ctypes.c_uint(0))
    if made < 0:
        return False
    done = call(446, ctypes.c_int(made), ctypes.c_uint(0))
    os.close(made)
    return done == 0


def _prctl(*arguments: int) -> bool:
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[1:5]]
    return ctypes.CDLL(None).prctl(ctypes.c_int(arguments[0]), *padded) == 0


def _limit(what: int, value: int, more: int = 0) -> None:
    """At most `value`, or what was the limit before, if that is less."""
    before = resource.getrlimit(what)[1]
    hard = value + more if before == resource.RLIM_INFINITY else min(value + more, before)
    try:
        resource.setrlimit(what, (min(value, hard), hard))
    except (ValueError, OSError):
        if sys.platform == "linux":  # elsewhere some limits cannot be set
            raise


def shut_in(seconds: int, size: int, parent: int) -> list[str]:
    """Give up all that judged code does not need, and say which walls stand."""
    if resource is not None:
        _limit(resource.RLIMIT_CPU, seconds, 1)
        _limit(resource.RLIMIT_FSIZE, 0)
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_NPROC, 0)
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        _limit(resource.RLIMIT_AS, size)
    walls = []
    if sys.platform == "linux":
        _prctl(1, 9)  # killed when the parent dies
        if os.getppid() != parent:  # which it has done
            os._exit(1)
        _prctl(38, 1)  # no new privileges: both walls ask for it
        if landlock():
            walls.append("landlock")
    if resource is not None:
        _limit(resource.RLIMIT_NOFILE, 0)
    if seccomp():
        walls.append("seccomp")
    return walls


def report(text: str) -> None:
    left = text.encode("ascii", "replace")
    while left:
        left = left[os.write(2, left) :]


def main() -> None:
    with open(0, "rb") as file:  # and close it
        orders = json.loads(file.read())
    for name in orders["modules"]:
        importlib.import_module(name)
    sys.stderr = sys.stdout
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    walls = shut_in(orders["seconds"], orders["bytes"], orders["parent"])
    if orders["code"] is None:
        report(" ".join(walls))
        os._exit(0)
    if not (orders["trusted"] or "seccomp" in walls):
        os._exit(1)
    space = {"__name__": "__main__"}
    try:
        exec(compile(orders["code"], "<generated>", "exec"), space)
        for call in orders["calls"]:
            report(f"= {eval(call, space)!a}\n")
        sys.stdout.flush()
        last = "."
    except BaseException as error:
        last = f"! {type(error).__name__}"
        space.clear()
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
    report(f"{last}\n")
    os._exit(0)


if __name__ == "__main__":
    main()
