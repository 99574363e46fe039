"""`python -m hack.mutation` on a package of ten lines: it finds the hole in the tests, and refuses to count what means nothing."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hack.mutation.inforce import compiled
from hack.mutation.ledger import Tally, equivalents
from hack.mutation.mutants import read
from hack.mutation.processes import STILLBORN, BrokenError, forked

ROOT = Path(__file__).resolve().parents[3]
MODULE = '''"""Ages."""

ADULT = 18


class Person:
    def __init__(self, age: int) -> None:
        self.age = age

    @property
    def adult(self) -> bool:
        return self.age >= ADULT


def older(one: Person, other: Person) -> bool:
    if one.age > other.age:
        return True
    return False
'''
WEAK = """
from sample.ages import Person, older

def test_ages():
    assert Person(20).adult and not Person(10).adult
    assert older(Person(3), Person(2)) and not older(Person(2), Person(3))
"""
STRONG = (
    WEAK
    + """    assert Person(18).adult and not Person(17).adult
    assert older(Person(2), Person(2)) is False
    assert older(Person(3), Person(2)) is True
"""
)


@pytest.fixture
def package(tmp_path):
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample/__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "sample/ages.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "test_ages.py").write_text(STRONG, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return tmp_path


def mutation(package, *arguments):
    command = [
        sys.executable,
        "-m",
        "hack.mutation",
        "--source",
        str(package / "sample"),
        "--package",
        "sample",
    ]
    command += ["--tests", str(package / "test_ages.py"), "--equivalents", str(package / "equivalents.toml")]
    paths = os.pathsep.join([str(package), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [*command, *arguments], cwd=package, env=environment, capture_output=True, text=True, check=False
    )


def survivors(done):
    return {line.split(maxsplit=1)[1] for line in done.stdout.splitlines() if line.startswith("survived")}


def test_tests_that_look_at_every_limit_let_nothing_live(package):
    done = mutation(package, "--bound", "100")
    assert (done.returncode, survivors(done)) == (0, set()), done.stdout + done.stderr
    assert "100.0 %" in done.stdout


def test_a_limit_that_no_test_looks_at_is_named_and_the_bound_is_missed(package):
    (package / "test_ages.py").write_text(WEAK, encoding="utf-8")
    done = mutation(package, "--bound", "100")
    assert done.returncode == 1
    assert survivors(done) >= {
        "ages: 18 -> 19",
        "ages.Person.adult: self.age >= ADULT -> self.age > ADULT",
        "ages.older: one.age > other.age -> one.age >= other.age",
    }


def test_tests_that_fail_by_themselves_measure_nothing(package):
    (package / "test_ages.py").write_text(WEAK + "    assert False\n", encoding="utf-8")
    done = mutation(package)
    assert done.returncode == 2
    assert "fail without a mutant" in done.stderr


def test_a_mutant_that_is_called_equivalent_and_is_noticed_refutes_the_list(package):
    entry = '[[equivalent]]\nmutants = ["ages: 18 -> 19"]\nreason = "nobody is eighteen, ever and anywhere"\n'
    (package / "equivalents.toml").write_text(entry, encoding="utf-8")
    done = mutation(package, "--only", "18 ->")
    assert done.returncode == 2
    assert "refuted   ages: 18 -> 19" in done.stderr


def test_every_mutant_is_a_program_and_no_two_are_the_same(package):
    source = read(package / "sample/ages.py")
    before = ast.dump(source.tree)
    seen = set()
    for mutant in source.mutants:
        undo = mutant.edit.apply()
        compiled(source.tree, source.path)
        seen.add(ast.dump(source.tree))
        undo.apply()
        assert ast.dump(source.tree) == before
    assert before not in seen
    assert len(seen) == len(source.mutants) == len({one.name for one in source.mutants}) > 10


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            '[[equivalent]]\nmutants = ["ages: 1 -> 2"]\nreason = "a reason that is long enough"',
            "there is not",
        ),
        ('[[equivalent]]\nmutants = ["ages: 18 -> 19"]', "no reason"),
        (
            '[[equivalent]]\nmutants = ["ages: 18 -> 19", "ages: 18 -> 19"]\nreason = "a reason that is long"',
            "twice",
        ),
    ],
)
def test_an_entry_that_fits_nothing_or_argues_nothing_is_an_error(package, text, complaint):
    path = package / "equivalents.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BrokenError, match=complaint):
        equivalents(path, read(package / "sample/ages.py").mutants)


def test_equivalents_leave_the_share_and_the_unreached_lower_it(package):
    mutants = read(package / "sample/ages.py").mutants[:4]
    tally = Tally(mutants, {mutants[0].name: "x"})
    tally.fates = {0: "survived", 1: "killed", 2: "unreached", 3: "timeout"}
    assert tally.share() == pytest.approx(2 / 3)
    assert tally.survivors == [mutants[2].name]
    assert tally.refuted == []


def test_a_child_that_computes_for_ever_is_ended_by_its_own_time():
    def forever():
        while True:
            pass

    assert forked(forever, cpu_seconds=1) < 0
    assert forked(lambda: STILLBORN, cpu_seconds=5) == STILLBORN
