"""The store: exact round trips, stable addresses, and nothing lost to corruption."""

import json
import os
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
import toy_study
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minicosm.lab import LabError, Store, Trial, TrialResult, check, recall, silent
from minicosm.lab.audit import audit
from minicosm.lab.encoding import decode, encode
from minicosm.lab.executors import plain
from minicosm.lab.files import sealed
from minicosm.lab.store import address

pytestmark = pytest.mark.usefixtures("unchecked_types")  # what users meet, not beartype

COIN = Trial(toy_study.toss, toy_study.Coin(5, 0))


@dataclass(frozen=True)
class Nested:
    coin: toy_study.Coin
    sizes: tuple[int, ...] = (1, 2)
    rate: float = 0.1


def keep(store: Store, trial: Trial = COIN) -> str:
    key = address("coins", "v1", trial)
    store.save(key, trial, plain(trial.run(trial.config, silent)), 1.5)
    return key


def test_a_result_comes_back_exactly(store):
    result = TrialResult(
        {
            "nan": float("nan"),
            "inf": float("inf"),
            "list": [1, -float("inf"), "x"],
            "d": {"k": None},
        },
        {
            "file": np.arange(3, dtype=np.int8),
            "deep/name": np.array([[np.nan, np.inf]], np.float32),
            "bits": np.array([True, False]),
            "words": np.array(["a", "bc"]),
            "empty": np.zeros((0, 3)),
            "scalar": np.array(2.5),
        },
    )
    key = address("coins", "v1", COIN)
    store.save(key, COIN, plain(result), 1.5)
    kept = store.load(key)
    assert repr(kept.result.numbers) == repr(result.numbers)
    assert kept.seconds == 1.5
    assert list(kept.result.arrays) == list(result.arrays)
    for name, array in result.arrays.items():
        np.testing.assert_array_equal(kept.result.arrays[name], array)
        assert kept.result.arrays[name].dtype == array.dtype


def test_arrays_that_need_pickle_are_refused_by_name():
    with pytest.raises(TypeError, match="'odd'"):
        plain(TrialResult({}, {"odd": np.array([object()])}))
    with pytest.raises(TypeError, match="not a TrialResult"):
        plain({"a": 1})


def test_the_address_depends_on_study_code_function_and_every_config_field():
    config = Nested(toy_study.Coin(5, 0))
    variants = [
        ("coins", "v1", Trial(toy_study.toss, config)),
        ("dice", "v1", Trial(toy_study.toss, config)),
        ("coins", "v2", Trial(toy_study.toss, config)),
        ("coins", "v1", Trial(toy_study.crash, config)),
        ("coins", "v1", Trial(toy_study.toss, replace(config, rate=0.2))),
        ("coins", "v1", Trial(toy_study.toss, replace(config, sizes=(2, 1)))),
        ("coins", "v1", Trial(toy_study.toss, replace(config, coin=toy_study.Coin(6, 0)))),
    ]
    assert len({address(*variant) for variant in variants}) == len(variants)
    assert address(*variants[0]) == address("coins", "v1", Trial(toy_study.toss, replace(config)))


def test_a_trial_must_be_a_named_function():
    with pytest.raises(LabError, match="module-level function"):
        address("coins", "v1", Trial(lambda config, progress: None, None))
    with pytest.raises(TypeError, match="it must be a function"):
        Trial(object(), None)


def test_a_config_that_json_cannot_hold_is_named():
    with pytest.raises(LabError, match=r"the config of toss\.sizes"):
        address("coins", "v1", Trial(toy_study.toss, Nested(COIN.config, sizes={1, 2})))


def test_the_first_writer_wins_unless_told_to_replace(store):
    key = keep(store)
    store.save(key, COIN, TrialResult({"mean": 7.0}), 9.0)
    assert store.load(key).seconds == 1.5
    store.save(key, COIN, TrialResult({"mean": 7.0}), 9.0, replace=True)
    assert store.load(key).result.numbers == {"mean": 7.0}
    assert len(list((store.path / "trials").iterdir())) == 1


damage = st.one_of(
    st.tuples(
        st.just("truncate"), st.sampled_from(["result.json", "arrays.npz"]), st.floats(0, 0.99)
    ),
    st.tuples(st.just("flip"), st.sampled_from(["result.json", "arrays.npz"]), st.floats(0, 0.99)),
    st.tuples(st.just("remove"), st.sampled_from(["result.json", "arrays.npz"]), st.just(0.0)),
    st.tuples(st.just("replace"), st.sampled_from(["result.json"]), st.sampled_from([0.0, 0.5])),
)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(damage=damage, bit=st.integers(0, 7))
def test_damage_never_raises_and_never_gives_wrong_numbers(damage, bit, tmp_path_factory):
    """Whatever happens to a stored trial, loading gives the right result or sets it aside."""
    warnings: list[str] = []
    store = Store(tmp_path_factory.mktemp("damaged"), warn=warnings.append)
    store.prepare()
    key = keep(store)
    intact = store.load(key)
    (folder,) = (store.path / "trials").iterdir()
    how, name, where = damage
    file = folder / name
    data = bytearray(file.read_bytes())
    at = int(where * len(data))
    if how == "truncate":
        del data[at:]
    elif how == "flip":
        data[at] ^= 1 << bit
    elif how == "replace":
        data = bytearray(b"[1]" if where else b'{"record": {"address": 3}, "sha256": ""}')
    file.write_bytes(bytes(data))
    if how == "remove":
        file.unlink()
    loaded = store.load(key)
    if loaded is None:
        assert len(warnings) == 1 and str(folder) in warnings[0]
        assert len(list((store.path / "corrupt").iterdir())) == 1
        keep(store)
        loaded = store.load(key)
    assert repr(loaded) == repr(intact)  # a flip in white space changes nothing


def test_a_damaged_trial_is_recomputed_by_the_next_check(store, pairs, tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.mkdir()
    monkeypatch.setenv("TOY_LOG", str(log))
    first = check(pairs, "smoke", 0, store)
    assert len(list(log.iterdir())) == 3
    victim = sorted((store.path / "trials").iterdir())[0]
    (victim / "arrays.npz").write_bytes(b"PK")
    again = check(pairs, "smoke", 0, store)
    assert len(list(log.iterdir())) == 4
    assert len(store.warnings) == 1 and "computed again" in store.warnings[0]
    assert [c.outcome.numbers for c in again][:2] == [c.outcome.numbers for c in first][:2]


def test_a_damaged_verdict_is_set_aside(store, pairs):
    check(pairs, "smoke", 0, store)
    (path,) = (store.path / "verdicts" / "smoke").glob("*fair.json")
    path.write_text(path.read_text().replace("holds", "fails"))
    assert recall(store, *pairs[0], "smoke") is None
    assert "check the claim again" in store.warnings[0]
    assert recall(store, *pairs[1], "smoke").outcome.verdict == "fails"


def test_a_store_that_cannot_be_used_says_so_in_one_sentence(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(LabError, match="is a file"):
        Store(file)
    with pytest.raises(LabError, match="Not a directory"):
        Store(file / "below").prepare()


def test_reading_makes_no_folder(tmp_path, pairs):
    store = Store(tmp_path / "none")
    assert store.load(address("coins", "v1", COIN)) is None
    assert recall(store, *pairs[0], "smoke") is None
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_one_sentence_and_leaves_nothing_half_written(store, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    key = address("coins", "v1", COIN)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LabError, match="No space left on device"):
        store.save(key, COIN, TrialResult({"mean": 0.5}), 1.0)
    assert list((store.path / "trials").iterdir()) == []
    monkeypatch.undo()
    assert store.load(key) is None


def test_leftovers_are_removed_only_when_old(store):
    old, new = (store.path / "trials" / f".new-{name}" for name in ("old", "new"))
    for folder in (old, new):
        folder.mkdir()
        (folder / "arrays.npz").write_bytes(b"half")
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    store.prepare()
    assert not old.exists()
    assert new.exists()


def test_verdict_files_of_ids_with_dots_do_not_clash(store):
    for claim in ("a/theorem-3.3", "a/theorem-3.6"):
        store.save_verdict("smoke", claim, {"claim": claim}, f"<svg>{claim}</svg>")
    for claim in ("a/theorem-3.3", "a/theorem-3.6"):
        assert store.load_verdict("smoke", claim) == ({"claim": claim}, f"<svg>{claim}</svg>")
    store.save_verdict("smoke", "a/theorem-3.3", {}, None)
    assert store.load_verdict("smoke", "a/theorem-3.3") == ({}, None)
    assert not list(store.path.rglob(".new-*"))


def test_a_sealed_record_of_another_version_is_corrupt_and_named(store):
    from minicosm.lab.encoding import canonical
    from minicosm.lab.files import sha256

    trial = Trial(toy_study.toss, toy_study.Coin(3, 0))
    key = address("coins", "v", trial)
    store.prepare()
    for change in ({"seconds": "soon"}, {"numbers": [1]}, {"seconds": None}, {"address": 3}, "all"):
        store.save(key, trial, TrialResult({"x": 1}), 1.0)
        (file,) = store.path.glob("trials/*/result.json")
        record = json.loads(file.read_text())["record"]
        record = {} if change == "all" else {**record, **change}
        seal = sha256(canonical(record).encode())
        file.write_text(json.dumps({"sha256": seal, "record": record}))
        assert store.load(key) is None, change
    assert len(list((store.path / "corrupt").iterdir())) == 5


def parts(value, path=()):
    """The path of every part of a JSON value."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from parts(value[key], (*path, key))


@pytest.mark.parametrize("other", [None, "x", {}, [[1]], 10**400], ids=lambda v: str(v)[:9])
def test_a_sealed_verdict_of_another_version_is_read_or_said(store, pairs, other):
    """Each part of the record in turn is something else, under a checksum that is right."""
    check(pairs[:1], "smoke", 0, store)
    audit(pairs[:1], "smoke", 0, store)
    (path,) = store.path.glob("verdicts/smoke/*fair.json")
    record = json.loads(path.read_text())["record"]
    for place in parts(record):
        *above, last = place or ("all",)
        changed = json.loads(json.dumps({"all": record}))
        inner = changed if not place else changed["all"]
        for key in above:
            inner = inner[key]
        inner[last] = other
        path.write_text(sealed(changed["all"]))
        recall(store, *pairs[0], "smoke")
    assert len(store.warnings) > 8
    assert all("another version" in w or "not the one" in w for w in store.warnings)


def test_a_figure_that_was_changed_is_not_shown(store):
    warned = []
    store.warn = warned.append
    store.prepare()
    store.save_verdict("smoke", "coins/fair", {"verdict": "holds"}, "<svg></svg>")
    assert store.load_verdict("smoke", "coins/fair")[1] == "<svg></svg>"
    (file,) = store.path.glob("verdicts/smoke/*.svg")
    file.write_text("<svg><script>alert(1)</script></svg>")
    assert store.load_verdict("smoke", "coins/fair")[1] is None
    assert "is not the one that was drawn" in warned[0]


def test_names_of_numbers_may_be_formulas_and_tags_are_refused():
    numbers = {"$R^2$": 1.5, "$x$": {"$y$": float("inf")}}
    assert decode(encode(numbers)) == numbers
    with pytest.raises(TypeError, match="keys must be strings, and not"):
        encode({"$float": 1.0})
