"""Where trials run: in this process, in worker processes, or on a Ray cluster.

Every executor takes the same jobs and yields each of them as it ends, with its result or with one
sentence about why there is none. The caller stores the results, so workers need no store; they
only make the folder of a trial that takes one. On a cluster its checkpoints are found again from
another machine if the store is on a file system that the machines share.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing as mp
import multiprocessing.connection
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from minicosm.lab.child_processes import be_a_child, without_ctrl_c
from minicosm.lab.claims import LabError, Progress, Trial, TrialResult
from minicosm.lab.encoding import decode, encode
from minicosm.lab.store import work_folder

ExecutorName = Literal["local", "ray"]
Report = Callable[[str, int, int, str], None]
"""Called with a job's name and what its trial says to `Progress`."""


@dataclass(frozen=True)
class Job:
    """A trial to run, with its address and a name for people.

    `folder` is given to a trial that takes one; `fresh` says that it is emptied before.
    """

    address: str
    name: str
    trial: Trial
    folder: Path | None = None
    fresh: bool = False


@dataclass(frozen=True)
class Failure:
    """Why there is no result: one sentence, and the traceback for whoever wants to debug it."""

    sentence: str
    trace: str = ""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        lines = str(error).strip().splitlines()
        kind = type(error).__name__
        sentence = f"{kind}: {lines[0]}" if lines else kind
        if lines and type(error) in (ValueError, LabError):  # a sentence for the user as it is
            sentence = lines[0]
        return cls(
            sentence,
            "".join(traceback.format_exception(error)),
        )


@dataclass(frozen=True)
class Ended:
    """A job that ended after `seconds`, with a result or a failure."""

    job: Job
    outcome: TrialResult | Failure
    seconds: float


def execute(
    jobs: Sequence[Job], executor: ExecutorName, workers: int | None, report: Report
) -> Generator[Ended, None, None]:
    """Run the jobs on the named executor, at most `workers` at once; yield them as they end.

    Without `workers`, `local` runs one trial after another and `ray` all that its cluster admits.
    """
    if executor == "ray":
        return _on_ray(jobs, workers, report)
    if workers is None or workers == 1:
        return _in_process(jobs, report)
    return _in_workers(jobs, workers, report)


def run_trial(job: Job, progress: Progress) -> tuple[TrialResult | Failure, float]:
    """Run a job's trial; whatever it raises becomes a `Failure`. Also the seconds it took."""
    start = time.perf_counter()
    run: Callable[..., TrialResult] = job.trial.run
    outcome: TrialResult | Failure
    try:
        folder = () if job.folder is None else (work_folder(job.folder, job.fresh),)
        outcome = plain(run(job.trial.config, progress, *folder))
    except (Exception, SystemExit) as error:
        outcome = Failure.of(error)
    return outcome, time.perf_counter() - start


def plain(result: Any) -> TrialResult:
    """The result as it would come back from the store, so that checks see no difference."""
    import numpy as np

    if not isinstance(result, TrialResult):
        raise TypeError(f"the trial returned a {type(result).__name__}, not a TrialResult")
    arrays = {name: np.asarray(array) for name, array in result.arrays.items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "biufcSUmM":
            raise TypeError(f"arrays[{name!r}] has dtype {array.dtype}, which cannot be stored")
    return TrialResult(decode(encode(result.numbers, "numbers")), arrays)


def _in_process(jobs: Sequence[Job], report: Report) -> Generator[Ended, None, None]:
    for job in jobs:

        def progress(done: int, total: int, note: str = "", name: str = job.name) -> None:
            report(name, done, total, note)

        yield Ended(job, *run_trial(job, progress))


@dataclass(frozen=True)
class Worker:
    """A process that runs one trial after another, our end of the pipe to it, and its cores."""

    process: Any
    pipe: Any
    cores: frozenset[int]

    @classmethod
    def start(cls, cores: frozenset[int], limit: int) -> Worker:
        context = mp.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, cores, limit), daemon=True)
        with without_ctrl_c():
            process.start()
        theirs.close()
        return cls(process, ours, cores)


def _in_workers(jobs: Sequence[Job], workers: int, report: Report) -> Generator[Ended, None, None]:
    """Spawned processes, each running one trial after another; one that dies is replaced, and its trial
    is tried once more.

    Workers are kept from trial to trial because starting one costs the import and the
    compilations of everything that the trials use. Each has its own share of the cores, and forgets
    its compiled programs when it holds more than half of its share of the memory.
    """
    limit = _memory() // (2 * workers)
    waiting = list(reversed(jobs))
    busy: dict[Any, tuple[Worker, Job, float]] = {}  # pipe -> (worker, job, start)
    idle: list[Worker] = []
    died: set[str] = set()  # addresses of trials whose worker died once
    shares = _shares(min(workers, len(jobs)))  # of workers that are not there yet
    try:
        while waiting or busy:
            while waiting and (idle or shares):
                worker = idle.pop() if idle else Worker.start(shares.pop(), limit)
                job = waiting.pop()
                try:
                    worker.pipe.send(job)
                except OSError:  # it died while idle: take another for this job
                    waiting.append(job)
                    shares.append(worker.cores)
                    continue
                except Exception as error:
                    idle.append(worker)
                    yield Ended(job, Failure.of(error), 0.0)
                    continue
                busy[worker.pipe] = (worker, job, time.perf_counter())
            ready: list[Any] = mp.connection.wait(list(busy))
            for pipe in ready:
                worker, job, start = busy[pipe]
                try:
                    kind, message = pipe.recv()
                except (EOFError, OSError):
                    worker.process.join()
                    del busy[pipe]
                    shares.append(worker.cores)
                    death = _death(worker.process.exitcode)
                    if job.address not in died:
                        died.add(job.address)
                        waiting.append(replace(job, fresh=False))
                        report(job.name, 0, 0, f"{death.sentence}; trying again")
                        continue
                    sentence = f"{death.sentence}, twice"
                    yield Ended(job, Failure(sentence), time.perf_counter() - start)
                    continue
                if kind == "progress":
                    report(job.name, *message)
                else:
                    del busy[pipe]
                    idle.append(worker)
                    yield Ended(job, *message)
    finally:
        for worker in [*idle, *(held[0] for held in busy.values())]:
            worker.process.terminate()
            worker.process.join()
            worker.pipe.close()


def _shares(workers: int) -> list[frozenset[int]]:
    """The cores that this process may use, dealt out to so many workers.

    Threads of workers that are kept apart do not wait for each other. Empty where
    the system has no such notion, or has fewer cores.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if workers > len(cores):
        return [frozenset()] * workers
    return [frozenset(cores[i::workers]) for i in range(workers)]


def _memory() -> int:
    """Bytes of memory of this machine; 0 if the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def _forget(limit: int) -> None:
    """Give compiled programs and free memory back, if this process holds more than `limit` bytes."""
    try:
        held = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return
    if held <= limit:
        return
    import ctypes
    import gc

    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _work(pipe: Any, cores: frozenset[int], limit: int) -> None:
    """The loop of a worker process. It ends when the other side of the pipe is gone."""
    be_a_child()
    if cores:  # before any thread is started
        os.sched_setaffinity(0, cores)

    def progress(done: int, total: int, note: str = "") -> None:
        try:
            pipe.send(("progress", (done, total, note)))
        except OSError:
            os._exit(1)  # orphaned in the middle of a trial: nobody wants its result

    with contextlib.suppress(EOFError, OSError):
        while True:
            job = pipe.recv()
            pipe.send(("ended", run_trial(job, progress)))
            _forget(limit)


def _death(code: int | None) -> Failure:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        reason = f"was killed by {name}" + (", perhaps for want of memory" if code == -9 else "")
    else:
        reason = f"exited with code {code}"
    return Failure(f"its worker process {reason}")


def _on_ray(
    jobs: Sequence[Job], workers: int | None, report: Report
) -> Generator[Ended, None, None]:
    """Ray tasks of one CPU each, on the cluster of `$RAY_ADDRESS` or on this machine.

    Workers must have the same minicosm installed; results travel back to this process.
    """
    try:
        import ray
    except ImportError:
        raise LabError(
            "the ray executor needs Ray; install it by: pip install 'minicosm[cluster]'"
        ) from None
    started = not ray.is_initialized()
    if started:
        ray.init(log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False)
    remote = ray.remote(num_cpus=1, max_retries=0)(_ray_trial)
    waiting = list(reversed(jobs))
    running: dict[Any, tuple[Job, float]] = {}
    died: set[str] = set()
    path: Mapping[str, Any] = {"env_vars": {"PYTHONPATH": ":".join(filter(None, sys.path))}}
    try:
        while waiting or running:
            while waiting and (workers is None or len(running) < workers):
                job = waiting.pop()
                task = remote.options(runtime_env=path).remote(job)
                running[task] = (job, time.perf_counter())
                report(job.name, 0, 1, "handed to Ray")
            (task,), _ = ray.wait(list(running), num_returns=1)
            job, start = running.pop(task)
            try:
                outcome, seconds = ray.get(task)
            except ray.exceptions.WorkerCrashedError:
                if job.address not in died:
                    died.add(job.address)
                    waiting.append(replace(job, fresh=False))
                    report(job.name, 0, 0, "its worker on Ray died; trying again")
                    continue
                outcome = Failure("its worker on Ray died, twice")
                seconds = time.perf_counter() - start
            except ray.exceptions.RayError as error:
                outcome, seconds = Failure.of(error), time.perf_counter() - start
            yield Ended(job, outcome, seconds)
    finally:
        for task in running:
            ray.cancel(task, force=True)
        if started:
            ray.shutdown()


def _ray_trial(job: Job) -> tuple[TrialResult | Failure, float]:
    from minicosm.lab.claims import silent

    return run_trial(job, silent)
