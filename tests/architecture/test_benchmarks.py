"""The benchmarks run with tiny sizes and write their documents; times are not asserted."""

from __future__ import annotations

import json
import xml.etree.ElementTree as Tree
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks import bare, model, noop, quiet, rivals, takeover, throughput, walls
from benchmarks.crew import rated
from benchmarks.place import Place
from benchmarks.plot import svg
from benchmarks.results import Line, Part, at_least, at_most, document
from benchmarks.table import table
from tests.acceptance.test_sandbox import needs_bubblewrap

FEW = throughput.Size(24, 20.0)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as around:
        yield Place(quick=True, around=around, at=tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("how", ["store", "engine"])
def test_worker_processes_complete_every_task(place: Place, how: str) -> None:
    found = throughput.yaoki(place, "sqlite", FEW, how, workers=1 if how == "engine" else 2)

    assert found.drain.done == FEW.tasks
    assert found.drain.total("commits") > 0
    assert found.per_s > 0


def test_the_bare_limit_writes_the_same_number_of_lines_as_the_store(place: Place) -> None:
    with place.store("sqlite") as own, place.store("sqlite") as plain:
        store = noop.opened(own)
        noop.submitted(store, noop.specs("flat", 4))
        noop.drained(store, 1)
        told = [entry for entry in store.journal() if entry.task_id]
        store.close()
        bare.filled(plain, 4)
        link = bare.BareSqlite(plain)
        bare.work(link, [f"r-{n}" for n in range(4)], 2, lambda: None)
        seen: list[int] = []
        link.write(lambda at: seen.extend(at.execute("SELECT count(*) FROM journal").fetchone()))
        link.close()

    assert len(told) == 4 * noop.ENTRIES
    assert seen == [len(told)]


@pytest.mark.parametrize("shape", noop.SHAPES)
def test_every_graph_shape_is_completed(place: Place, shape: str) -> None:
    with place.store("sqlite") as address:
        store = noop.opened(address)
        noop.submitted(store, noop.specs(shape, 6))
        noop.drained(store, 2)
        complete = noop.all_done(store, 6)
        store.close()

    assert complete


def test_a_peer_that_is_not_installed_is_shown_as_missing(place: Place) -> None:
    nobody = rivals.Peer("nobody_has_this", ("sqlite",), 1)

    found = rivals.ran(place, nobody, "sqlite", 1.0)

    assert found.missing
    line = throughput._peer("SQLite", found, 100.0)
    assert (line.value, line.note) == (None, found.missing)
    assert "missing" in table([line])


@pytest.mark.full
def test_the_cost_of_the_sandbox_is_measured_in_trusted_repositories(place: Place) -> None:
    needs_bubblewrap()

    told = [line.what for line in walls.measured(place).lines]

    assert told[:2] == ["a task outside of the sandbox", "the same inside"]


def test_a_takeover_measurement_without_an_interrupted_task_fails() -> None:
    line = takeover._went_on("nobody", takeover._judged([], 0, ":1:", 0.0), 5000.0)

    assert (line.value, line.met) == (None, False)


def test_goals_are_compared_with_the_measured_values() -> None:
    assert at_least("a", "x", 2.9, "peer", 3.0).met is False
    assert at_least("a", "x", 3.0, "peer", 3.0).met is True
    assert at_most("d", "x", 1.26, "x", 1.25).met is False


def test_a_busy_machine_is_reported() -> None:
    assert quiet.words([10.0, 11.0], 0.1).startswith("the machine was quiet")
    assert quiet.words([10.0, 20.0], 0.1).startswith("NOT QUIET")
    assert quiet.words([10.0, 11.0], 3.0).startswith("NOT QUIET")


def test_a_rate_counts_only_the_time_in_which_all_workers_were_busy() -> None:
    early = tuple(float(n) for n in range(100))
    late = tuple(50.0 + n / 2 for n in range(100))

    assert rated([early, late]).rate == pytest.approx(3.0, rel=0.05)


def test_the_scaling_model_reproduces_its_parameters() -> None:
    true = model.Law(alone=1000.0, shared=0.3, pairs=0.02)
    points = {n: true.rate(n) for n in (1, 2, 4, 8)}

    found = model.fitted(points)

    assert found.rate(6) == pytest.approx(true.rate(6))
    assert model.off(found, {**points, 3: 2 * true.rate(3)}) == pytest.approx(2.0)
    rates = [true.rate(n) for n in range(1, 40)]
    assert true.peak == 1 + rates.index(max(rates))


def test_the_scaling_model_fits_linear_and_constant_rates() -> None:
    growing = model.fitted({n: 500.0 * n for n in (1, 2, 4)})
    steady = model.fitted(dict.fromkeys((1, 2, 4), 500.0))

    assert growing.rate(100) == pytest.approx(50_000.0)
    assert steady.peak == 1


def test_the_document_and_the_plot_contain_the_measured_values() -> None:
    rate = {"per_s": 10.0}
    told = dict.fromkeys(("yaoki", "engine", "bare_single", "bare_batched"), rate)
    parts = {
        "a": Part(
            (Line("a", "yaoki", 10.0, "tasks/s"),),
            {"sqlite": {**told, "peers": {"<peer>": {"per_s": 5.0}, "gone": {"per_s": 0.0}}}},
        )
    }
    held = json.loads(json.dumps(document(parts, {"quick": True})))

    drawn = Tree.fromstring(svg(held))

    assert held["lines"][0]["what"] == "yaoki"
    assert held["quick"] is True
    words = "".join(drawn.itertext())
    assert "<peer>" in words
    assert "gone" not in words
    assert "url(" not in svg(held)
