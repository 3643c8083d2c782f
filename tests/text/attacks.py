"""Programs that try to do harm, and how each may end.

FOLDER, FILE (in it) and PARENT (a process) are put in. A program that has got through prints "HARM".
"""

TEMPLATE = "import sys, os\nimport ctypes\nlibc = ctypes.CDLL(None)\n"


def calls(*lines: str) -> dict[str, str]:
    """One program a line: the call, and a confession."""
    return {line: f"{TEMPLATE}{line}\nprint('HARM')" for line in lines}


REFUSED = calls(
    "os.mknod('FOLDER/node')",
    "os.mkfifo('FOLDER/pipe')",
    "os.mkdir('FOLDER/folder')",
    "os.symlink('/', 'FOLDER/link')",
    "os.link('FILE', 'FOLDER/link')",
    "os.unlink('FILE')",
    "os.rename('FILE', 'FOLDER/other')",
    "os.truncate('FILE', 0)",
    "os.chmod('FILE', 0)",
    "os.utime('FILE')",
    "os.chdir('/tmp')",
    "os.chroot('/tmp')",
    "os.statvfs('/')",
    "os.memfd_create('x')",
    "os.pipe()",
    "os.fork()",
    "while True: os.fork()",
    "os.system('echo x > FOLDER/new')",
    "os.execv('/bin/true', ['true'])",
    "os.posix_spawn('/bin/true', ['true'], {})",
    "import _thread; _thread.start_new_thread(print, ())",
    "os.kill(PARENT, 10)",
    "os.kill(-1, 10)",
    "os.killpg(0, 10)",
    "libc.tgkill(PARENT, PARENT, 10)",
    "libc.pidfd_open(PARENT, 0)",
    "os.getppid()",
    "os.setsid()",
    "os.setuid(0)",
    "import _signal; _signal.signal(24, _signal.SIG_IGN)",
    "import _signal; _signal.alarm(1)",
    "import resource; resource.setrlimit(resource.RLIMIT_CPU, (9, 9))",
    "libc.socket(2, 1, 0)",
    "libc.ptrace(16, PARENT, 0, 0)",
    "libc.process_vm_readv(PARENT, 0, 0, 0, 0, 0)",
    "libc.prctl(38, 0, 0, 0, 0)",
    "libc.unshare(0x10000000)",
    "libc.setns(1, 0)",
    "libc.mount(0, b'/', 0, 0, 0)",
    "libc.syscall(425, 8, 0)",  # io_uring
    "libc.syscall(0x40000001, 1, b'x', 1)",  # the x32 calls
    "try: os.fork()\nexcept BaseException: pass",
)

DENIED = calls(  # an exception: PermissionError, or ModuleNotFoundError, since no module is found
    "print(open('/etc/passwd').read())",
    "open('FILE', 'w').write('x')",
    "open('FOLDER/new', 'w').write('x')",
    "os.open('FOLDER/new', os.O_CREAT | os.O_WRONLY)",
    "import io; io.open_code('/etc/passwd')",
    "os.stat('/etc/passwd')",
    "os.lstat('/')",
    "os.fstat(1)",
    "os.readlink('/proc/self/exe')",
    "os.listdir('/')",
    "os.getcwd()",
    "os.dup(1)",
    "assert os.path.exists('/etc/passwd')",
    "assert os.access('/', 4)",
    "import socket; socket.create_connection(('127.0.0.1', 80))",
    "import subprocess; subprocess.run(['true'])",
    "import multiprocessing",
    "import numpy",
    "assert ctypes.c_long(libc.mprotect(ctypes.c_ulong(id(1) // 4096 * 4096), 4096, 7)).value == 0",
    "import _io; [c for c in object.__subclasses__() if c.__name__ == 'FileLoader'][0]"
    "('a', '/etc/passwd').get_data('/etc/passwd')",
)

STALE = """import io, os, gc
class Raw(io.RawIOBase):
    def readable(self):
        return True
    def readinto(self, view):
        self.view = view
        return len(view)
raw = Raw()
reader = io.BufferedReader(raw, bytearray.__basicsize__)
reader.read(1)
del reader  # and its buffer; the view of it remains
words = raw.view.cast("B").cast("Q")
arrays = [bytearray() for _ in range(2000)]  # one of them lies where the buffer was
if words[1] == id(bytearray):
    constant = b"as it was"
    words[2:7] = memoryview((9).to_bytes(8, "little") * 2 + (id(constant) + 32).to_bytes(8, "little") * 2
                            + bytes(8)).cast("Q")
    [array for array in arrays if len(array)][0][:] = b"WRITTEN.."
    print(constant.decode(), flush=True)
    words[2:7] = memoryview(bytes(40)).cast("Q")
"""
"""Arbitrary writes by Python alone, through a view that outlives its buffer."""

MEMORY = {
    "a stale view, then unlink": STALE + "os.unlink('FILE')\nprint('HARM')",
    "a stale view, then kill": STALE + "os.kill(PARENT, 10)\nprint('HARM')",
    "memory overwritten": f"{TEMPLATE}ctypes.memset(id(os.write), 65, 64)\nos.write(1, b'x')",
    "address 0": f"{TEMPLATE}ctypes.string_at(0)",
    "abort": "import os\nos.abort()",
    "SIGKILL to itself": "import _signal\n_signal.raise_signal(9)",
    "an odd signal to itself": "import _signal\n_signal.raise_signal(40)",
    "descriptors closed": "import os\nfor n in range(100):\n    try: os.close(n)\n    except OSError: pass",
    "os._exit(0)": "import os\nos.write(1, b'[' * 60000)\nos._exit(0)",
    "nested brackets as a report": "import os\nos.write(2, b'[' * 60000)\nos._exit(0)",
    "bytes as a report": "import os\nos.write(2, bytes(range(256)) * 100)\nos._exit(0)",
    "an old report": 'import os\nos.write(2, b\'{"verdict": [1, 2], "detail": 1}\\n\')\nos._exit(0)',
    "answers that nobody asked for": "import os\nos.write(2, b'= 1\\n' * 9 + b'.\\n')\nos._exit(0)",
    "an endless report": "import os\nos.write(2, b'= 1\\n' * 10**6 + b'.\\n')\nos._exit(0)",
    "a name that is none": "import os\nos.write(2, b'! <script>\\n')\nos._exit(0)",
}
MEMORY_ENDS = {"refused", "killed"}

HOGS = {
    "recursion": ("f = lambda: f()\nf()", {"error"}),
    "recursion in C": (
        "import sys\nsys.setrecursionlimit(10**9)\nx = ()\nfor _ in range(10**6): x = (x,)\nrepr(x)",
        {"error", "killed", "memory", "time"},
    ),
    "memory": ("x = 'a' * 10**10", {"memory"}),
    "memory by parts": ("x = []\nwhile True: x.append('a' * 10**6)", {"memory"}),
    "a null byte printed": ("print('\\0' * 100)", {"ended"}),
    "brackets": ("(" * 5000, {"error"}),
    "SystemExit": ("raise SystemExit(0)", {"error"}),
    "the pipe": ("import os\nfor _ in range(400): os.write(1, b'a' * 2**20)", {"ended", "time"}),
}

SLOW = {
    "a loop": ("while True: pass", {"time"}),
    "a signal blocked": (
        f"{TEMPLATE}libc.sigprocmask(0, b'\\xff' * 128, None)\nwhile True: pass", {"time", "killed"},
    ),
    "a huge number": ("9**9**9", {"time", "memory"}),
    "a regular expression": ("import re\nre.match('(a*)*b', 'a' * 40)", {"time"}),
    "sleep": ("import time\ntime.sleep(10**6)", {"time"}),
    "SIGSTOP": ("import _signal\n_signal.raise_signal(19)", {"time"}),
    "sleep behind closed descriptors": (
        "import os, time\nos.close(1)\nos.close(2)\ntime.sleep(10**6)", {"time"},
    ),
    "a report for ever": ("import os\nwhile True: os.write(2, b'= 1\\n' * 10**4)", {"time"}),
}  # fmt: skip

QUICK = (
    {name: (code, {"refused"}) for name, code in REFUSED.items()}
    | {name: (code, {"error"}) for name, code in DENIED.items()}
    | {name: (code, MEMORY_ENDS) for name, code in MEMORY.items()}
    | HOGS
)

FORGED = {
    "an object equal to everything": "class A:\n    __eq__ = lambda *a: True\n    __hash__ = None\n"
    "def f(a): return A()",
    "an object that writes itself as another": "class A:\n    __repr__ = lambda a: '4'\ndef f(a): return A()",
    "an answer with two lines": "class A:\n    __repr__ = lambda a: '4\\n= 5'\ndef f(a): return A()",
    "a report": "import os\nos.write(2, b'= 4\\n.\\n')\nos._exit(0)",
    "passed": "import os\nos.write(2, b'passed\\n')\nos._exit(0)",
    "an end before the call": "import os\nos._exit(0)",
    "a report twice": "import os\nos.write(2, b'.\\n')\ndef f(a): return 4",
    "brackets": "import os\nos.write(2, b'= ' + b'[' * 60000 + b'\\n.\\n')\nos._exit(0)",
    "signs": "import os\nos.write(2, b'= ' + b'-' * 90000 + b'1\\n.\\n')\nos._exit(0)",
    "digits": "import os\nos.write(2, b'= ' + b'9' * 90000 + b'\\n.\\n')\nos._exit(0)",
    "code as an answer": "import os\nos.write(2, b'= __import__(\"os\").abort()\\n.\\n')\nos._exit(0)",
    "judges found in memory": "import gc, sys\nfor x in gc.get_objects():\n    if isinstance(x, dict):\n"
    "        for k in ('verdict', 'expected', 'last'):\n            if k in x: x[k] = 'passed'\n"
    "def f(a): return 4",
}
"""For `assert f(1) == 5`; none knows that it is 5."""
