"""Code versions: what a trial and a claim stand on."""

import subprocess
import sys

import pytest

from minicosm.lab import Claim, LabError, Outcome, Trial
from minicosm.lab.fingerprints import Fingerprints

pytestmark = pytest.mark.usefixtures("unchecked_types")

FILES = {
    "__init__.py": "raise RuntimeError('imported')",
    "parts/__init__.py": "from .screw import Screw\nfrom .nail import Nail as Spike\n",
    "parts/screw.py": "class Screw: ...",
    "parts/nail.py": "from ..steel import grade\nclass Nail: ...",
    "parts/bolt.py": "",
    "steel.py": "grade = 1",
    "wood.py": "def saw():\n    from . import glue\n",
    "glue.py": "import numpy\nimport shed.parts.bolt",
    "shelf.py": "from shed.parts import Spike\n",
    "wall.py": "from shed.parts import *\nimport beside",
    "loft/box.py": "from . import hay\nfrom ..steel import grade\n",  # no __init__.py beside it
    "loft/hay.py": "",
}


@pytest.fixture
def names(tmp_path, monkeypatch):
    """The modules that a module of the package `shed` stands on."""
    for name, text in FILES.items():
        path = tmp_path / "shed" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)

    def found(module):
        return [part.name for part in Fingerprints().modules(module)]

    yield found
    assert "shed" not in sys.modules


def test_imports_are_followed_wherever_they_stand(names):
    assert names("shed.wood") == ["shed.glue", "shed.parts.bolt", "shed.wood"]


def test_a_name_that_a_package_hands_on_leads_to_its_own_module(names):
    assert names("shed.shelf") == ["shed.parts.nail", "shed.shelf", "shed.steel"]


def test_a_star_takes_all_that_a_package_imports(names):
    parts = ["shed.parts", "shed.parts.nail", "shed.parts.screw", "shed.steel", "shed.wall"]
    assert names("shed.wall") == parts


def test_a_folder_without_an_init_is_a_package(names):
    assert names("shed.loft.box") == ["shed.loft.box", "shed.loft.hay", "shed.steel"]


def test_code_without_a_file_is_refused(names):
    run = type(names)(names.__code__, {"__name__": "shed.attic"})
    with pytest.raises(LabError, match=r"source file of the module 'shed.attic' is not found"):
        Fingerprints().of_trial(Trial(run, None))


def test_files_beside_a_file_count_and_installed_packages_do_not(tmp_path, monkeypatch):
    (tmp_path / "desk_study.py").write_text("import numpy, desk_tools\nfrom json import dumps")
    (tmp_path / "desk_tools.py").write_text("from minicosm.lab import Study\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = [module.name for module in Fingerprints().modules("desk_study")]
    assert found == ["desk_study", "desk_tools"]


def sources(module):
    """What a trial of the study on tuning stands on, its configuration by class."""
    study = "minicosm.studies.tuning"
    configurations = frozenset({f"{study}.trials", f"{study}.extension_trials"})
    return Fingerprints().sources(frozenset({(module, "")}), configurations)


def test_an_experiment_stands_on_its_own_world_and_not_on_the_others():
    module = "minicosm.studies.tuning.experiments.trained"
    found = set(sources(module))
    assert {module, "minicosm.worlds.hmm.hmm", "minicosm.training.fit"} <= found
    assert "minicosm.models.transformer" in found
    assert not any("dyck" in name or name.startswith("minicosm.lab") for name in found)


def test_nothing_is_found_that_python_does_not_import():
    module = "minicosm.studies.tuning.experiments.rank_curve"
    script = f"import sys, {module}; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    followed = {name.partition(":")[0] for name in sources(module)}
    assert followed <= set(run.stdout.split())


def test_a_version_changes_with_any_file_below_and_with_no_other(names, tmp_path):
    def version():
        code = Fingerprints()
        return [code.version(_named(name)) for name in ("shed.shelf", "shed.wood")]

    shelf, wood = version()
    assert version() == [shelf, wood]
    (tmp_path / "shed" / "steel.py").write_text("grade = 2")
    changed, same = version()
    assert changed != shelf and same == wood


def _named(module):
    def function(): ...

    function.__module__ = module
    return function


SHEAR = 'def cut():\n    text = """a\n\n# b"""\n    return text  # as it is\n'


@pytest.mark.parametrize(
    ("source", "same"),
    [
        ('"""Cuts."""\n# Two blades.\n\n' + SHEAR, True),
        (
            SHEAR.replace(
                "    text", '    """A text\n\n    of ours."""\n    # quoted\n    text', 1
            ),
            True,
        ),
        (SHEAR + '\nx = 1; """not alone"""\n', False),
        (SHEAR.replace("# b", "# c"), False),
        (SHEAR.replace("a\n\n", "a\n"), False),
        (SHEAR.replace("def cut", "def shear"), False),
    ],
)
def test_what_only_readers_see_does_not_change_a_version(tmp_path, monkeypatch, source, same):
    monkeypatch.syspath_prepend(tmp_path)
    versions = []
    for text in (SHEAR, source):
        (tmp_path / "shears.py").write_text(text)
        compile(text, "shears", "exec")
        (module,) = Fingerprints().modules("shears")
        versions.append(module.code)
    assert (versions[0] == versions[1]) is same


def test_a_claim_stands_on_its_check_and_a_trial_does_not(names):
    claim = Claim(
        id="a/b", title="", source="", statement="", criterion="",
        trials=_named("shed.shelf"), check=_named("shed.wood"),
    )  # fmt: skip
    code = Fingerprints()
    trial = Trial(_named("shed.shelf"), Outcome("holds", {}))
    assert code.of_trial(trial) == code.version(_named("shed.shelf"))
    assert code.of_claim(claim) != code.of_trial(trial)


def test_of_the_configurations_module_only_the_imported_class_counts(tmp_path, monkeypatch):
    """A changed size, profile or other configuration leaves results as they are; the class does not."""
    import importlib
    import sys

    from minicosm.lab import Trial

    folder = tmp_path / "planned"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "runs.py").write_text(
        "from .plans import Config\n\ndef run(config: Config, progress):\n    ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    plain = (
        "from dataclasses import dataclass\n\n@dataclass(frozen=True)\nclass Config:\n    seed: int\n"
        "{field}\nSIZES = {size}\n{more}"
    )

    def version(field="", size="3", more=""):
        for name in [name for name in sys.modules if name.startswith("planned")]:
            del sys.modules[name]
        (folder / "plans.py").write_text(plain.format(field=field, size=size, more=more))
        importlib.invalidate_caches()
        runs = importlib.import_module("planned.runs")
        return Fingerprints().of_trial(Trial(runs.run, runs.Config(0)))

    first = version()
    assert version(size="4") == first
    assert version(more="class Other:\n    x = 1\n") == first
    assert version(field="    worlds: int = 3\n") != first
    method = "    def size(self):\n        return SIZES\n"
    assert version(field=method) != version(field=method, size="4")  # it may call anything
