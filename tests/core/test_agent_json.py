"""JSON in an agent's output: found in any surrounding text, in bounded time."""

from __future__ import annotations

import json

import pytest

from yaoki.core.agent_json import json_objects, last_agent_message

OK = '{"pass": true}'
CHARS = 64 * 1024
BROKEN = {
    "braces": "{\n",
    "nested": '{"a":',
    "strings": '{"',
    "twice": '{"a":1,"a":2}',
    "constant": '{"a":NaN}',
    "mixed": '{"a":[{"b":"',
    "blanks": "{" + " " * 1000,
}


GIVEN_UP = "most of the text is broken JSON, so the search for an answer ended"


def parse_objects(text: str) -> list[dict[str, object]] | str:
    try:
        return list(json_objects(text))
    except ValueError as why:
        return str(why)


@pytest.mark.spec("6.7", "14.4")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        (OK, [{"pass": True}]),
        (f"so {{ it is }} {OK} done", [{"pass": True}]),
        (f'{{ "oops {OK}', [{"pass": True}]),
        (f"{{ \n {OK} }}", [{"pass": True}]),
        ('{"a": {"b": 1}} {}', [{"a": {"b": 1}}, {}]),
        ('{"a": 1, "a": 2}', []),
        ("x" * 40_000 + OK + "y" * 40_000 + OK, [{"pass": True}, {"pass": True}]),
        ("none", []),
    ],
)
def test_only_outermost_json_objects_are_found(text: str, found: list[object]) -> None:
    assert list(json_objects(text)) == found


@pytest.mark.spec("0.4", "14.4", "6.7")
@pytest.mark.parametrize("size", [CHARS, 64 * CHARS])
@pytest.mark.parametrize("piece", BROKEN.values(), ids=BROKEN)
def test_parsing_unclosed_json_is_bounded(piece: str, size: int) -> None:
    """Megabytes of braces once took for ever; the suite's own bound on time holds this."""
    text = OK + piece * (size // len(piece))
    assert parse_objects(text) in ([{"pass": True}], GIVEN_UP)
    assert last_agent_message(text, CHARS, "pass") == text[-CHARS:]


@pytest.mark.spec("6.7")
def test_the_last_message_of_an_event_stream_is_returned() -> None:
    stream = '{"type": "start"}\n{"type": "result", "result": "it said"}\n' + '{"type":\n' * 9

    assert last_agent_message(stream, 100, "pass") == "it said"


@pytest.mark.spec("6.7", "12.8")
@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({"type": "result", "result": "said"}, "said"),
        ({"type": "result", "result": 1}, ""),
        ({"type": "item.completed", "item": {"type": "agent_message", "text": "said"}}, "said"),
        ({"type": "item.completed", "item": {"type": "command", "text": "out"}}, ""),
        ({"type": "text", "part": {"text": "said"}}, "said"),
        ({"type": "tool", "part": {"text": "out"}}, ""),
        ({"type": "message", "role": "assistant", "content": "said"}, "said"),
        ({"type": "message", "role": "user", "content": "asked"}, ""),
        ({"session_id": "s", "response": "said"}, "said"),
        ({"response": "out"}, ""),
    ],
)
def test_only_messages_of_the_agent_are_returned(event: dict[str, object], words: str) -> None:
    start, end = json.dumps({"type": "start"}), json.dumps({"type": "end"})
    stream = f"  {start}\n{json.dumps(event)}\n{end}\n"

    assert last_agent_message(stream, 100, "pass") == words
    assert last_agent_message(stream, 2, "pass") == words[-2:]
    alone = json.dumps(event, indent=1)
    assert last_agent_message(alone, 2, "pass") == words[-2:]


@pytest.mark.spec("6.7")
@pytest.mark.parametrize(
    "text", ["plain words", " {broken", '{"pass": true} so it is', '{"a": 1, "a": 2}', ""]
)
def test_a_text_without_events_is_returned_unchanged(text: str) -> None:
    assert last_agent_message(text, 100, "pass") == text
    assert last_agent_message(text, 3, "pass") == text[-3:]


@pytest.mark.spec("6.7")
def test_the_last_of_several_messages_is_returned() -> None:
    said = [json.dumps({"type": "result", "result": words}) for words in ("first", "last")]

    assert last_agent_message("\n".join(said), 100, "pass") == "last"
    assert list(json_objects('{"a":NaN} {"b":1}')) == [{"b": 1}]
    assert list(json_objects('{{"b":1}}')) == [{"b": 1}]
