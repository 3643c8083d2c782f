"""Run the trials that claims need, then judge the claims."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, get_args

from minicosm.lab.checking import (
    check_choice,
    check_count,
    check_flag,
    check_kind,
    check_mapping,
    finite_number,
    shown,
)
from minicosm.lab.claims import (
    DIGITS,
    PROFILES,
    Claim,
    LabError,
    Outcome,
    ProfileName,
    Results,
    Study,
    Table,
    Trial,
)
from minicosm.lab.display import Display
from minicosm.lab.encoding import decode, encode
from minicosm.lab.executors import ExecutorName, Failure, Job, execute
from minicosm.lab.fingerprints import Fingerprints
from minicosm.lab.options import assign
from minicosm.lab.store import Kept, Store, address, commit, versions

Selection = Sequence[tuple[Study, Claim]]
Plan = Mapping[str, tuple[str, Trial]]  # the address of every trial, and the trial


@dataclass(frozen=True)
class Checked:
    """A claim after a run: its outcome, or the sentence that says why it has none.

    `seconds` is what its trials took when they ran, plus the check; `trials` maps the
    claim's names of its trials to their addresses; `commit` is that of the source code; `options` are
    those of the claim's options that were given, as they were written; `reference` says commit and machine
    of a reference result.
    """

    study: Study
    claim: Claim
    profile: ProfileName
    seed: int
    outcome: Outcome | None
    error: Failure | None = None
    seconds: float = 0.0
    trials: Mapping[str, str] = field(default_factory=dict)
    code_version: str = ""
    date: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    commit: str = ""
    svg: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    audit: Mapping[str, Any] | None = None
    reference: Mapping[str, str] | None = None

    @property
    def note(self) -> str:
        """`with NAME=VALUE, ...` if options were given, else nothing."""
        given = ", ".join(f"{name}={text}" for name, text in self.options.items())
        return f"with {given}" if given else ""

    @property
    def as_registered(self) -> bool:
        return (
            self.error is None
            and self.outcome is not None
            and self.outcome.verdict == self.claim.expected
        )

    def record(self) -> dict[str, Any]:
        """What the store keeps of it and what `--json` prints."""
        outcome = self.outcome
        return {
            "claim": self.claim.id,
            "study": self.study.name,
            "profile": self.profile,
            "seed": self.seed,
            "options": dict(self.options),
            "verdict": outcome.verdict if outcome else None,
            "registered": self.claim.expected,
            "as_registered": self.as_registered,
            "error": self.error.sentence if self.error else None,
            "numbers": dict(outcome.numbers) if outcome else {},
            "tables": list(outcome.tables) if outcome else [],
            "remark": outcome.remark if outcome else "",
            "seconds": self.seconds,
            "trials": dict(self.trials),
            "code_version": self.code_version,
            "date": self.date,
            "versions": dict(self.versions),
            "commit": self.commit,
        }


def recall(store: Store, study: Study, claim: Claim, profile: ProfileName) -> Checked | None:
    """A claim at a profile as it was when it was last checked: its outcome, or its error."""
    check_kind("store", store, Store, "a Store")
    check_kind("study", study, Study, "a Study")
    check_kind("claim", claim, Claim, "a Claim")
    found = store.load_verdict(profile, claim.id)
    if found is None:
        return None
    try:
        return recalled(study, claim, profile, *found)
    except (KeyError, TypeError, ValueError):
        store.warn(f"the verdict of {claim.id} is from another version of the lab; check it again.")
        return None


def preferred(own: Checked | None, kept: Checked | None) -> Checked | None:
    """Of one's own verdict and a reference result the one to show: one's own, unless it is undecided at a
    smaller size at which the reference result was decided."""
    if own is None:
        return kept
    smaller = kept is not None and PROFILES.index(own.profile) < PROFILES.index(kept.profile)
    undecided = own.outcome is not None and own.outcome.verdict == "undecided"
    if kept is not None and smaller and undecided and not own.options:
        return kept if kept.outcome and kept.outcome.verdict != "undecided" else own
    return own


def _check_selection(selection: Any) -> None:
    """Raise unless it is a list of pairs of a study and a claim."""
    pairs = isinstance(selection, list | tuple) and all(
        isinstance(pair, tuple)
        and len(pair) == 2
        and isinstance(pair[0], Study)
        and isinstance(pair[1], Claim)
        for pair in selection
    )
    if not pairs:
        raise TypeError(
            f"selection is {shown(selection)}; it must be a list of pairs of a Study and a Claim"
        )


def recalled(
    study: Study, claim: Claim, profile: ProfileName, record: Mapping[str, Any], svg: str | None
) -> Checked:
    """A claim after a run, from what is kept of it; raises where that is of another version."""
    check_count("seed", record["seed"])
    finite_number("seconds", record["seconds"])
    words = {name: record.get(name) or "" for name in ("error", "date", "commit", "code_version")}
    _check_texts("the record", words)
    for name in ("trials", "versions", "options"):
        _check_texts(name, record.get(name, {}))
    if (audit := record.get("audit")) is not None:
        for name in ("tried", "turned"):
            for count in audit[name].values() if isinstance(audit[name], dict) else [None]:
                check_count(name, count)
        _check_texts("findings", dict(enumerate(audit["findings"])))
    tables = tuple(
        Table(
            t["title"],
            tuple(t["columns"]),
            tuple(map(tuple, t["rows"])),
            t["note"],
            t.get("digits", DIGITS),  # verdicts of older versions have none
        )
        for t in record["tables"]
    )
    return Checked(
        study=study,
        claim=claim,
        profile=profile,
        seed=record["seed"],
        outcome=None
        if record["error"]
        else Outcome(record["verdict"], record["numbers"], tables, record["remark"]),
        error=Failure(record["error"]) if record["error"] else None,
        seconds=record["seconds"],
        trials=record["trials"],
        code_version=record["code_version"],
        date=record["date"],
        versions=record["versions"],
        commit=record.get("commit", ""),
        svg=svg,
        options=record.get("options", {}),
        audit=record.get("audit"),
    )


def _check_texts(name: str, value: Any) -> None:
    """Raise unless it is a mapping to texts."""
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in value.values()):
        raise TypeError(f"{name} is {shown(value)}; it must be a dict of texts")


def check(
    selection: Selection,
    profile: ProfileName,
    seed: int,
    store: Store,
    *,
    jobs: int | None = None,
    executor: ExecutorName = "local",
    display: Display | None = None,
    force: bool = False,
    options: Mapping[str, str] = {},
) -> list[Checked]:
    """Run the missing trials of the selected claims, each once, and judge every claim.

    Each result is stored as soon as its trial ends. A trial, check or figure that raises costs
    its own claims their verdict and nothing else. With `force`, stored trials are run again.

    Each of the `options` is given, as text, to the claims whose `trials` have a keyword-only
    parameter of that name; a value that `trials` refuses by a `ValueError` is a `LabError`.
    """
    _check_selection(selection)
    check_choice("profile", profile, PROFILES)
    check_count("seed", seed)
    check_kind("store", store, Store, "a Store")
    if display is not None:
        check_kind("display", display, Display, "a Display")
    check_choice("executor", executor, get_args(ExecutorName))
    check_flag("force", force)
    check_mapping("options", options)
    if jobs is not None:
        check_count("jobs", jobs, least=-(2**31))
    values = assign([claim for _, claim in selection], options)
    if jobs is not None and jobs < 1:
        raise LabError(f"jobs is {jobs}; it must be at least 1.")
    store.prepare()
    display = display or Display(quiet=True)
    code = Fingerprints()
    plans: list[Plan | Failure] = []
    wanted: dict[str, Job] = {}
    for (study, claim), given in zip(selection, values, strict=True):
        try:
            trials = claim.trials(profile, seed, **given)
            check_mapping("it", trials)
            for name, trial in trials.items():
                check_kind(f"its entry {name!r}", trial, Trial, "a Trial")
        except (Exception, SystemExit) as error:
            if given and isinstance(error, ValueError):
                reason = (str(error).strip().splitlines() or ["ValueError"])[0]
                raise LabError(f"{claim.id}: {reason.rstrip('.')}.") from error
            plans.append(Failure.of(error))
            continue
        plan = {n: (address(study.name, code.of_trial(t), t), t) for n, t in trials.items()}
        plans.append(plan)
        for name, (key, trial) in plan.items():
            folder = store.work(key) if trial.takes_folder else None
            job = Job(key, f"{claim.id} {name}", trial, folder, fresh=force)
            wanted.setdefault(job.address, job)

    kept = {} if force else {key: k for key in wanted if (k := store.load(key)) is not None}
    missing = [job for key, job in wanted.items() if key not in kept]
    for key in kept:  # a process that was killed once it had stored a trial leaves its checkpoints
        store.discard_work(key)
    failures: dict[str, Failure] = {}
    with (
        display.trials(len(missing), len(kept)),
        closing(execute(missing, executor, jobs, display.progress)) as running,
    ):
        for ended in running:
            job, result = ended.job, ended.outcome
            if (
                isinstance(result, Failure)
                and job.folder is not None
                and not force
                and (found := store.load(job.address)) is not None
            ):  # another process stored the same trial first and removed the folder under ours
                kept[job.address] = found
            elif isinstance(result, Failure):
                failures[job.address] = Failure(
                    f"trial {job.name!r}: {result.sentence}", result.trace
                )
            else:
                store.save(job.address, job.trial, result, ended.seconds, replace=force)
                kept[job.address] = Kept(result, ended.seconds)
            display.ended(job.name, ended.seconds, failures.get(job.address))

    checked = []
    with display.claims(len(selection)):
        for (study, claim), planned, given in zip(selection, plans, values, strict=True):
            base = Checked(study, claim, profile, seed, None, code_version=code.of_claim(claim))
            base = replace(
                base,
                options={name: options[name] for name in given},
                date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
                versions=versions(),
                commit=commit(),
            )
            judged = _judge(base, planned, kept, failures, store)
            store.save_verdict(profile, claim.id, judged.record(), judged.svg)
            checked.append(judged)
    return checked


def _drawn_before(base: Checked, plan: Mapping[str, str], store: Store) -> str | None:
    """The figure of an earlier check by the same code of the same trials."""
    found = store.load_verdict(base.profile, base.claim.id) if base.claim.figure else None
    if found is None:
        return None
    record, svg = found
    same = {"code_version": base.code_version, "trials": dict(plan), "versions": versions()}
    return svg if all(record.get(name) == value for name, value in same.items()) else None


def _judge(
    base: Checked,
    planned: Plan | Failure,
    kept: Mapping[str, Kept],
    failures: Mapping[str, Failure],
    store: Store,
) -> Checked:
    """Evaluate a claim's check and figure. One that raises is an error of the program: then there is
    no verdict, and the sentence stands in its place."""
    if isinstance(planned, Failure):
        return replace(
            base, error=Failure(f"its list of trials: {planned.sentence}", planned.trace)
        )
    plan = {name: key for name, (key, _) in planned.items()}
    for key in plan.values():
        if key in failures:
            return replace(base, error=failures[key], trials=plan)
    claim = base.claim
    results = {n: replace(kept[key].result, config=t.config) for n, (key, t) in planned.items()}
    start = time.perf_counter()
    before = _drawn_before(base, plan, store)
    try:
        outcome, svg = judge(claim, results, before)
    except JudgingError as error:
        return replace(base, error=error.failure, trials=plan)
    took = time.perf_counter() - start + sum(kept[key].seconds for key in set(plan.values()))
    return replace(base, outcome=outcome, seconds=took, trials=plan, svg=svg)


class JudgingError(LabError):
    """A check or a figure raised; `failure` has its sentence and its trace."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure


def judge(claim: Claim, results: Results, svg: str | None = None) -> tuple[Outcome, str | None]:
    """What the check of a claim says of results, and its figure, which is drawn unless it is given."""
    part = "its check"
    try:
        outcome = claim.check(results)
        if not isinstance(outcome, Outcome):
            raise TypeError(f"it returned a {type(outcome).__name__}, not an Outcome")
        outcome = replace(outcome, numbers=decode(encode(outcome.numbers, "numbers")))
        encode(outcome.tables, "tables")
        if claim.figure is not None and svg is None:
            from minicosm.lab.figures import house_style, to_svg

            part = "its figure"
            with house_style():
                svg = to_svg(claim.figure(results), name=claim.id)
    except (Exception, SystemExit) as error:
        failure = Failure.of(error)
        raise JudgingError(Failure(f"{part}: {failure.sentence}", failure.trace)) from error
    return outcome, svg
