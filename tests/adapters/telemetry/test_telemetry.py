"""Metrics from a real scrape, traces sent to a real receiver, and JSON logs."""

from __future__ import annotations

import json
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.acceptance.project import Project, a_plan, file_contains, wait_until, waits_for, writes
from tests.adapters.telemetry.collector import ReceivedSpan, Receiver, run_receiver
from tests.builders import NOW
from tests.faces.web.conftest import SECRET, the_plan
from tests.faces.web.page_server import Client, PageServer, run_page_server
from yaoki.adapters.telemetry.collector import find_collector
from yaoki.adapters.telemetry.prometheus import format_samples
from yaoki.ports import JournalEntry
from yaoki.ports.metric_families import METRIC_FAMILIES, Sample
from yaoki.views.telemetry.counters import SERIES_MAX, Counters

pytestmark = pytest.mark.acceptance
DOCS = Path(__file__).parents[3] / "docs"
PART = re.compile(r"_(bucket|sum|count)$")


@pytest.fixture(scope="session")
def pycache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp().parent / "pycache"


@pytest.fixture
def project(tmp_path: Path, pycache: Path) -> Project:
    return Project(tmp_path, pycache)


@pytest.fixture(scope="session")
def finished_place(tmp_path_factory: pytest.TempPathFactory, pycache: Path) -> Project:
    """A finished run with a false claim and its retry, a question, and a task that waits for it."""
    project = Project(tmp_path_factory.mktemp("observed"), pycache)
    project.env["MY_API_KEY"] = SECRET
    done = project.yaoki("run", project.plan(the_plan()), "--json")
    assert done.code == 4, done.out + done.err
    return project


@pytest.fixture(scope="session")
def served(finished_place: Project) -> Iterator[PageServer]:
    with run_page_server(finished_place) as server:
        yield server


Series = dict[tuple[tuple[str, str], ...], float]


def read(text: str) -> dict[str, Series]:
    """The samples by name and labels, as Prometheus' own parser reads them.

    Every family is one of ours with its type, and neither a family nor a series appears twice.
    """
    by_name: dict[str, Series] = {}
    families: set[str] = set()
    assert text.endswith("\n")
    for metric in text_string_to_metric_families(text):
        name = f"{metric.name}_total" if metric.type == "counter" else metric.name
        assert METRIC_FAMILIES[name].type == metric.type
        assert name not in families, f"{name} is listed twice"
        families.add(name)
        for sample in metric.samples:
            series = by_name.setdefault(sample.name, {})
            labels = tuple(sample.labels.items())
            assert labels not in series, f"{sample.name} {labels} is listed twice"
            series[labels] = sample.value
    return by_name


# ------------------------------------------------------------------ metrics


@pytest.mark.full
@pytest.mark.spec("14.1")
def test_a_scraper_with_a_token_reads_what_happened(
    finished_place: Project, served: PageServer
) -> None:
    token = finished_place.yaoki("metrics", "--token").out.strip()

    answer = Client(served.port, token).ask("GET", "/metrics")

    assert answer.status == 200, answer.body
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = read(answer.body.decode())
    story = Counter(finished_place.event_names())
    assert found["yaoki_tasks"] == {
        (("state", state),): n
        for state, n in {
            "WAITING": 1, "ACTIVE": 0, "ESCALATED": 1, "DONE": 2, "CANCELLED": 0, "REPLACED": 0,
        }.items()
    }  # fmt: skip
    for name, event in {
        "yaoki_claims_total": "TASK_CLAIMED",
        "yaoki_attempts_started_total": "ATTEMPT_STARTED",
        "yaoki_landings_total": "TASK_LANDED",
        "yaoki_check_seconds_count": "CHECK_FINISHED",
        "yaoki_agent_seconds_count": "AGENT_FINISHED",
        "yaoki_cost_unknown_total": "AGENT_FINISHED",
        "yaoki_leases_expired_total": "LEASE_EXPIRED",
    }.items():
        assert found[name] == {(): story[event]}, name
    retried = (("kind", "QUALITY_FAILURE"), ("pattern", "test-failed"))
    assert found["yaoki_retries_total"] == {retried: 1}
    assert found["yaoki_waits_total"][(("cause", "PERSON"),)] == 1
    assert found["yaoki_metrics_complete"] == {(): 1}


@pytest.mark.full
@pytest.mark.spec("14.1", "14.2")
def test_metrics_contain_no_names_and_require_a_token(
    finished_place: Project, served: PageServer
) -> None:
    token = finished_place.yaoki("metrics", "--token").out.strip()

    refused = [Client(served.port, given).ask("GET", "/metrics") for given in ("", "x", token[:-1])]
    with_the_link = served.read_only_client.ask("GET", "/metrics")
    elsewhere = Client(served.port, token).get("/runs")
    foreign = Client(served.port, token).ask("GET", "/metrics", Host="evil.example")

    assert [answer.status for answer in refused] == [401, 401, 401]
    assert with_the_link.status == 200
    assert elsewhere.status == 401, "a scraper's token opens nothing else"
    assert foreign.status == 421
    text = with_the_link.body.decode()
    names = {task["name"] for task in finished_place.status()["tasks"]}
    labels = {value for found in read(text).values() for pairs in found for _, value in pairs}
    assert not labels & {*names, finished_place.status()["run"]}
    assert SECRET not in text


@pytest.mark.full
def test_the_command_prints_the_same_as_the_server(
    finished_place: Project, served: PageServer
) -> None:
    printed = finished_place.yaoki("metrics")

    assert printed.code == 0
    assert printed.out == served.read_only_client.ask("GET", "/metrics").body.decode()


@pytest.mark.full
@pytest.mark.parametrize("kept", ["", "{", '{"store": 1}', '{"after": "x", "values": [[1]]}', "[]"])
def test_counting_again_gives_the_same_numbers(finished_place: Project, kept: str) -> None:
    """The file of counters only saves time; a damaged file is counted again."""
    before = finished_place.yaoki("metrics").out
    (finished_place.repo / ".yaoki" / "metrics.json").write_text(kept)

    assert finished_place.yaoki("metrics").out == before


@pytest.mark.full
@pytest.mark.spec("11.7")
def test_archiving_old_runs_does_not_decrease_counters(project: Project) -> None:
    plan = a_plan(
        {"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": file_contains("a.txt")}
    )
    for _ in range(2):
        assert project.yaoki("run", project.plan(plan), "--quiet").code == 0
    before = read(project.yaoki("metrics").out)
    project.settings("[archive]\nafter_days = 0\nruns_max = 1\nruns_kept = 1\n")

    assert project.yaoki("prune").code == 0

    after = read(project.yaoki("metrics").out)
    assert before["yaoki_runs"][(("status", "finished"),)] == 2
    assert after["yaoki_runs"][(("status", "finished"),)] == 1
    assert after["yaoki_landings_total"] == before["yaoki_landings_total"] == {(): 2}


def test_metrics_exist_before_the_first_run(project: Project) -> None:
    printed = project.yaoki("metrics")

    assert printed.code == 0
    assert read(printed.out)["yaoki_landings_total"] == {(): 0}
    assert not (project.repo / ".yaoki").exists(), "who only looks makes nothing"


def entry(event: str, at: float = 0.0, task: str = "r-1", **data: Any) -> JournalEntry:
    return JournalEntry(1, NOW + timedelta(seconds=at), "r", task, 1, event, data)


def test_no_metric_gets_more_series_than_its_bound() -> None:
    counters = Counters()
    for n in range(10 * SERIES_MAX):
        counters.count_entry(entry("RECONCILED", mismatch=f"mismatch {n}"))
        failure = {"kind": f"K{n}", "pattern": f"own-{n}"}
        counters.count_entry(entry("RETRY_DECISION", failure=failure, delay_ms=1))

    found = read(format_samples(counters.samples()))

    assert len(found["yaoki_reconciled_total"]) <= SERIES_MAX + 1
    assert sum(found["yaoki_reconciled_total"].values()) == 10 * SERIES_MAX
    assert found["yaoki_retries_total"] == {
        (("kind", "OTHER"), ("pattern", "OTHER")): 10 * SERIES_MAX
    }


def test_buckets_are_cumulative_and_stored_counters_continue() -> None:
    counters = Counters()
    for seconds in (0.05, 0.1, 0.3, 4000.0):
        counters.count_entry(entry("CHECK_FINISHED", outcome="PASSED", seconds=seconds))
    counters.count_entry(
        entry("ESCALATE_DECISION", failure={"kind": "FATAL_ERROR"}, blocked="MANUAL")
    )
    kept = Counters.from_data(json.loads(json.dumps(counters.to_data())))
    kept.count_entry(entry("ESCALATION_ANSWERED", at=90, choice="retry"))

    found = read(format_samples(kept.samples()))

    edges = {dict(pairs)["le"]: n for pairs, n in found["yaoki_check_seconds_bucket"].items()}
    assert (edges["0.1"], edges["0.5"], edges["3600"], edges["+Inf"]) == (2, 3, 3, 4)
    assert list(edges.values()) == sorted(edges.values())
    assert found["yaoki_check_seconds_sum"] == {(): 4000.45}
    assert found["yaoki_wait_seconds_total"] == {(("cause", "PERSON"),): 90}


def test_a_label_may_hold_anything() -> None:
    strange = 'a "b" \\ c\nd'

    text = format_samples([Sample("yaoki_info", "yaoki_info", (("version", strange),), 1.0)])

    assert read(text) == {"yaoki_info": {(("version", strange),): 1.0}}


@pytest.mark.spec("14.1")
def test_only_rendering_loads_the_client_library() -> None:
    """Its import costs 105 ms, which no other command should pay."""
    script = """if True:
        import sys
        import yaoki.app.telemetry, yaoki.faces.cli.main, yaoki.faces.web.application
        print(sorted(name for name in sys.modules if name.startswith("prometheus")))
    """

    done = run((sys.executable, "-c", script), capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


# ------------------------------------------------------------------ the dashboard and the guide


def test_the_dashboard_uses_only_existing_metrics() -> None:
    board = json.loads((DOCS / "dashboards" / "yaoki.json").read_text())

    asked = {
        (panel["title"], name, labels)
        for panel in board["panels"]
        for target in panel["targets"]
        for name, labels in re.findall(r"\b(yaoki_\w+)\{([^}]*)\}", target["expr"])
    }
    grouped = {
        (name, label)
        for panel in board["panels"]
        for target in panel["targets"]
        for by in re.findall(r"sum by \(([\w, ]+)\)", target["expr"])
        for name in re.findall(r"\b(yaoki_\w+)", target["expr"])
        for label in by.split(", ")
    }

    assert len(asked) > 15
    for title, name, labels in asked:
        family = name if name in METRIC_FAMILIES else PART.sub("", name)
        assert family in METRIC_FAMILIES, f"{title}: there is no {name}"
        own = {label for label in re.findall(r"(\w+)=", labels) if label != "instance"}
        assert own <= {*METRIC_FAMILIES[family].labels}, f"{title}: {name} has no {own}"
    for name, label in grouped:
        family = name if name in METRIC_FAMILIES else PART.sub("", name)
        assert label in {*METRIC_FAMILIES[family].labels, "le"}, f"{name} has no {label}"
    places = [tuple(panel["gridPos"].values()) for panel in board["panels"]]
    assert len(set(places)) == len(places), "no panel lies on another"


def test_every_metric_is_in_the_guide() -> None:
    guide = (DOCS / "guides" / "observability.md").read_text()

    missing = [name for name in METRIC_FAMILIES if f"`{name}`" not in guide]
    invented = {
        name for name in re.findall(r"`(yaoki_[a-z_]+)`", guide) if name not in METRIC_FAMILIES
    }

    assert not missing
    assert not invented


# ------------------------------------------------------------------ traces


def set_collector(project: Project, receiver: Receiver, **more: str) -> None:
    project.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.address
    project.env.update(more)


def by_id(spans: list[ReceivedSpan]) -> dict[str, ReceivedSpan]:
    assert len({span.id for span in spans}) == len(spans), "no span is sent twice"
    return {span.id: span for span in spans}


def assert_complete(spans: list[ReceivedSpan]) -> dict[str, ReceivedSpan]:
    """Asserts one trace with one root, all parents, and no span that ends before its start."""
    known = by_id(spans)
    assert len({span.trace for span in spans}) == 1
    assert [span.name for span in spans if not span.parent] == ["run"]
    assert all(span.parent in known for span in spans if span.parent)
    assert all(span.start <= span.end for span in spans)
    return known


def drop_repeats(spans: list[ReceivedSpan]) -> list[ReceivedSpan]:
    """A process killed between sending and storing the cursor sends the same spans again."""
    known: dict[str, ReceivedSpan] = {}
    for span in spans:
        assert known.setdefault(span.id, span) == span
    return list(known.values())


@pytest.mark.quick_cases(1)
@pytest.mark.spec("14.2")
@pytest.mark.parametrize("protocol", ["http/protobuf", "http/json"])
def test_a_run_is_one_trace_of_attempts_stages_checks_and_waits(
    project: Project, protocol: str
) -> None:
    with run_receiver() as receiver:
        set_collector(
            project,
            receiver,
            OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
            OTEL_EXPORTER_OTLP_HEADERS="x-own=a%20b",
            OTEL_EXPORTER_OTLP_COMPRESSION="gzip" if protocol == "http/json" else "none",
            OTEL_RESOURCE_ATTRIBUTES="deployment.environment=tests",
            MY_API_KEY=SECRET,
        )
        plan = {**the_plan(), "goal": f"Rehearse {SECRET}"}
        done = project.yaoki("run", project.plan(plan), "--json")

    assert (done.code, done.err) == (4, "")
    assert set(receiver.paths) == {"/v1/traces"}
    assert {headers["x-own"] for headers in receiver.headers} == {"a b"}
    assert receiver.resources[0]["service.name"] == "yaoki"
    assert receiver.resources[0]["deployment.environment"] == "tests"
    assert SECRET not in repr(receiver.spans)
    known, story = assert_complete(receiver.spans), Counter(project.event_names())
    names = Counter(span.name for span in receiver.spans)
    assert names["attempt"] == story["ATTEMPT_STARTED"]
    assert names["check"] == story["CHECK_FINISHED"]
    assert names["prepare"] == names["work"] == names["attempt"]
    assert names["land"] == story["TASK_LANDED"] + story["LAND_REFUSED"]
    assert names["wait BACKOFF"] == story["RETRY_DECISION"] == 1
    parents = {(span.name, known[span.parent].name) for span in receiver.spans if span.parent}
    assert parents == {
        *(("attempt", "run"), ("wait SLOT", "run"), ("wait NEEDS", "run"), ("wait BACKOFF", "run")),
        *((stage, "attempt") for stage in ("prepare", "work", "verify", "land")),
        ("check", "verify"),
    }
    lies = [
        s
        for s in receiver.spans
        if s.name == "attempt" and s.attributes["yaoki.task.name"] == "lie"
    ]
    ends = {int(s.attributes["yaoki.attempt"]): s.attributes["yaoki.outcome"] for s in lies}
    assert ends == {1: "RETRY", 2: "LANDED"}
    assert next(s.failed for s in lies if s.attributes["yaoki.outcome"] == "RETRY")


@pytest.mark.full
@pytest.mark.spec("0.2")
def test_a_restart_after_a_kill_continues_the_same_trace(project: Project) -> None:
    """Every span arrives, from either process; the agent outlives its worker."""
    gate = project.folder / "go"
    acts = [{"say": "begun"}, waits_for(gate), *writes("b.txt")]
    plan = a_plan(
        {"a": [writes("a.txt")], "b": [acts]},
        [{"id": "a", "checks": ["a"]}, {"id": "b", "checks": ["b"], "needs": ["a"]}],
        {"a": file_contains("a.txt"), "b": file_contains("b.txt")},
    )
    with run_receiver() as receiver:
        set_collector(project, receiver)
        first = project.start("run", project.plan(plan))
        wait_until(
            lambda: project.has_store() and "PROMPT_SENT" in project.event_names("b"),
            "b is at work",
        )
        wait_until(
            lambda: "attempt" in [span.name for span in receiver.spans], "a's attempt was sent"
        )
        first.kill()
        first.communicate()
        gate.touch()
        second = project.yaoki("resume", "--json")

    assert second.code == 0, second.err
    spans = drop_repeats(receiver.spans)
    assert_complete(spans)
    names = Counter(span.name for span in spans)
    assert names["attempt"] == Counter(project.event_names())["ATTEMPT_STARTED"]
    assert names["summary"] == 1
    landed = [s for s in spans if s.attributes.get("yaoki.outcome") == "LANDED"]
    assert {span.attributes["yaoki.task.name"] for span in landed} == {"a", "b", "done_when"}


@pytest.mark.full
def test_an_unavailable_collector_gets_all_spans_later(project: Project) -> None:
    plan = a_plan(
        {"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": file_contains("a.txt")}
    )
    with run_receiver() as receiver:
        set_collector(project, receiver)
        receiver.answer = 503
        away = project.yaoki("run", project.plan(plan), "--quiet")
        refused, receiver.answer = receiver.refused, 200
        assert not receiver.spans
        later = project.yaoki("resume", "--quiet")

    assert (away.code, later.code) == (0, 0)
    assert refused >= 1
    assert away.err.count("answered 503; will retry, nothing is lost") == 1, "said once"
    assert_complete(receiver.spans)
    assert {"attempt", "summary", "check"} <= {span.name for span in receiver.spans}


def test_spans_that_a_collector_refuses_for_good_are_skipped_with_a_warning(
    project: Project,
) -> None:
    plan = a_plan(
        {"a": [writes("a.txt")]}, [{"id": "a", "checks": ["a"]}], {"a": file_contains("a.txt")}
    )
    with run_receiver() as receiver:
        set_collector(project, receiver)
        receiver.answer = 400
        done = project.yaoki("run", project.plan(plan), "--quiet")

    assert done.code == 0
    assert "answered 400; those spans are left out" in done.err


@pytest.mark.parametrize(
    ("env", "sends", "warns"),
    [
        ({}, "", ""),
        ({"ENDPOINT": "http://c:4318/"}, "http://c:4318/v1/traces", ""),
        ({"ENDPOINT": "http://c", "TRACES_ENDPOINT": "https://d/own"}, "https://d/own", ""),
        ({"ENDPOINT": "http://c", "PROTOCOL": "grpc"}, "", "'grpc'"),
        ({"ENDPOINT": "c:4318"}, "", "not an http"),
        ({"ENDPOINT": "http://c", "TIMEOUT": "soon"}, "http://c/v1/traces", ""),
    ],
    ids=["nothing", "base", "own", "grpc", "no address", "no time"],
)
def test_the_standard_variables_are_obeyed(env: dict[str, str], sends: str, warns: str) -> None:
    said: list[str] = []
    full = {f"OTEL_EXPORTER_OTLP_{name}": value for name, value in env.items()}

    found = find_collector(full, said.append)
    off = find_collector({**full, "OTEL_SDK_DISABLED": "true"}, said.append)
    other = find_collector({**full, "OTEL_TRACES_EXPORTER": "none"}, said.append)

    assert (found.address if found else "") == sends
    assert off is None
    assert other is None
    assert warns in said[0] if warns else not said, said


# ------------------------------------------------------------------ logs


@pytest.mark.full
@pytest.mark.spec("11.8", "14.2")
def test_a_worker_logs_one_json_object_per_line(project: Project) -> None:
    project.env["MY_API_KEY"] = SECRET
    plan = a_plan(
        {"a": [writes("a.txt", "bad\n"), writes("a.txt")]},
        [{"id": "a", "checks": ["a"]}],
        {"a": file_contains("a.txt")},
    )
    assert project.yaoki("plan", "submit", project.plan(plan)).code == 0
    worker = project.start("worker", "--log-format", "json")
    try:
        wait_until(lambda: "FINAL_SUMMARY" in project.event_names(), "the run is over")
    finally:
        worker.send_signal(signal.SIGTERM)
        out, _ = worker.communicate(timeout=40)

    told = [json.loads(line) for line in out.splitlines()]
    events = [one["event"] for one in told if "event" in one]
    landed = next(one for one in told if one.get("event") == "TASK_LANDED")
    assert worker.returncode == 0
    assert told[0]["message"].startswith("worker: serving every open run")
    assert {"TASK_CLAIMED", "RETRY_DECISION", "TASK_LANDED", "FINAL_SUMMARY"} <= set(events)
    assert landed["task"] == project.task("a")["id"]
    assert (landed["attempt"], landed["level"]) == (2, "info")
    assert next(one for one in told if one.get("event") == "RETRY_DECISION")["level"] == "warning"
    assert all({"at", "level"} <= one.keys() for one in told)
    assert SECRET not in out
