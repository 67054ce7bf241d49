"""Recognises limits, refusals and waits in the error channel.

A line counts only if it begins like an error line.  Prose about 429 does not count.  On standard
output, where the model speaks, only the last lines of an unknown agent that failed count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from yaoki.adapters.agents.reset_times import find_wait
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.core.model import AgentLimit

LINES_READ = 40
LINE_CHARS_READ = 1000
STDOUT_LINES_READ = 3
SERVICE_LIMITS = frozenset(
    {AgentLimit.RATE, AgentLimit.MONEY, AgentLimit.AUTH, AgentLimit.OVERLOADED}
)

# Timestamps and levels that loggers put before the message.
_PREFIX = lazy_compile(
    r"^[\s>*✖✗×!⚠·-]{0,8}(?:\[?(?:\d{4}-\d\d-\d\d[T ]|\d\d/\d\d/\d\d )[\d:.,]{5,15}"
    r"(?:Z|[+-]\d\d:?\d\d)?\]?[\s:-]{0,4})?"
    r"(?:\[?(?:WARN(?:ING)?|CRITICAL)\]?[\s:-]{1,4}|ERROR {2,8}(?=litellm\.))?",
    re.IGNORECASE,
)
_LOGGED_PLACE = lazy_compile(r" {3,}\w{1,60}\.py:\d{1,6}\s*$")
# The log format of opencode; errors of its title generation are not about the work.
_LOGGED = lazy_compile(
    r"^timestamp=\S{1,40} level=ERROR (?!.{0,400}\bsmall=true\b)"
    r".{0,400}?\berror(?:\.error)?=\"(?=\w)"
)
# opencode and OpenHands retry after such a line without naming a time.
_RETRIED = lazy_compile(
    r'^timestamp=\S{1,40} level=ERROR .{0,60}message="stream error"'
    r"|^\[[\d/: ]{17}\] ERROR {2,8}litellm\..{1,800}\bAttempt #\d{1,3} \| You can customize retry"
)
_ERROR_LINE = lazy_compile(
    r"""(?:
      \[?(?:api|http|request|stream|server|provider|fatal|unexpected)[ _-]?(?:error|status)\b
    | \[?(?:error|fatal|panic)\b\]?[:\s(!]
    | npm\s(?:err!|error)\s
    | TypeError:\sfetch\sfailed
    | (?:[A-Za-z_]\w{0,60}\.){0,6}
      (?:RateLimit|Quota|TerminalQuota|Authentication|PermissionDenied|API|Http|HTTP|Overloaded
        |InternalServer|ServiceUnavailable|BadGateway|BadRequest|NotFound|ModelNotFound
        |ContextWindowExceeded|Permission|ModuleNotFound|Connect|Connection|URL|Timeout
        |\w{0,20}GoogleGenerativeAI)
      \w{0,30}(?:Error|Exception)\b
    | http(?:/[\d.]{1,3})?\s\d{3}\b
    | \d{3}\s(?:too\smany\srequests|unauthorized|forbidden|service\sunavailable|bad\sgateway
        |rate[\s_-]?limit|overloaded)
    | curl:\s\(\d
    | ssh:\s
    | bwrap:\s
    | \S{1,100}:\spermission\sdenied\s\(publickey
    | attempt\s\d{1,3}\sfailed\b
    | (?:openai|anthropic)\sapi\stransient\serror\b
    | \[qwen-code\]\swaiting\sfor\sapi\scapacity\b
    | retrying\s(?:<\w{1,20}>\s)?(?:in|after)\s\d
    | retry[-_]after\b
    | rate[\s_-]?limit(?:ed|s)?\b(?:[:\s]*(?:exceeded|reached|hit|error)|:|$)
    | rate_limit_(?:error|exceeded)\b
    | too\smany\srequests\b
    | fetch\sfailed\b
    | request\sfailed\swith\sstatus\scode\s\d{3}\b
    | (?:\[[\w-]{1,30}\]|[\w-]{1,30}:)\s(?:error:\s)?(?:429\b|rate[\s_-]?limit)
    | you(?:(?:'|\u2019)ve|\shave)\s(?:hit|reached|exceeded|exhausted)\syour\s
    | (?:[\w-]{1,20}\s){0,3}usage\slimit\sreached
    | quota\sexceeded
    | (?:your\s)?credit\sbalance\sis\stoo\slow
    | invalid\sapi\skey
    | not\slogged\sin\b
    | no\s(?:conversation|saved\ssession|session|rollout|previous\ssessions)\sfound\b
    | session\snot\sfound
    | (?:--)?dangerously-skip-permissions\scannot
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# Any program may print such a line; it may be about the task of the agent.
_ANY_PROGRAM = lazy_compile(
    r"\[?(?:error|fatal|panic)\b|(?:[A-Za-z_]\w{0,60}\.){0,6}\w{1,60}Error\b", re.I
)
# Only a model service prints this; a test about such errors does not.
_SERVICE_WORDS = lazy_compile(
    r"(?:api|http|request|stream|server|provider)[ _-]?(?:error|status)\b", re.I
)
_TOOL_LINE = lazy_compile(r"http(?:/[\d.]{1,3})?\s\d{3}\b|(?:npm|curl:|ssh:|bwrap:)\s", re.I)
_TASK_WORDS = lazy_compile(
    r"\bexpect(?:ed|s)?\b|\bassert|\btest_\w|\w_test\b|\btests?\b|\bspecs?\b|\bgot \d{3}\b"
    r"|\bnot reached\b|\bshould\b|\bmock|\bfixture|[\w/]\.(?:py|tsx?|jsx?|go|rs|java|rb|php|cs):\d",
    re.IGNORECASE,
)
# Lines of a test runner: an exception among them belongs to a test.
_RUNNER = lazy_compile(
    r"\s{0,4}(?:FAILED? |--- FAIL|not ok \d|={3,} .{0,80}={3}|_{4,} |Tests?:\s+\d"
    r"|\d{1,6} (?:failed|failing|passed)\b)"
)
# A package registry is not the service of the agent; only a network failure concerns both.
_PACKAGES = lazy_compile(r"(?:npm|yarn|pnpm|pip)\s(?:err!|error)\s", re.IGNORECASE)
# A number alone proves nothing: "error: expected 401, got 200" is about the agent's own task.
_STATUS = r"(?:error|status|code|returned|response|failed:?|http[/\d.]{0,4})\D{0,6}"
_CONTEXT = (
    r"context_length_exceeded|prompt is too long|context.?window.{0,20}(?:exceed|full)"
    r"|maximum context length|exceeds? the maximum number of tokens|ContextWindowExceeded"
    r"|ran out of room in the model|input token count.{0,40}exceeds|ContextOverflow"
)
_MONEY = (
    r"insufficient[_ ]quota|credit balance is too low|check your plan and billing"
    r"|insufficient[_ ](?:credits?|balance|funds)|" + _STATUS + r"402\b|\b402 payment"
)
_RATE = (
    _STATUS + r"429\b|\brate.?limit|too many requests|\bquota\b|usage limit"
    r"|(?:hit|reached|exceeded) your (?:[\w-]{1,20} ){0,3}limit"
    r"|RESOURCE_EXHAUSTED|waiting for api capacity"
)
_SESSION = (
    r"no (?:conversation|saved session|session|rollout|previous sessions) found|session not found"
    r"|no session with|invalid session identifier"
)
_AUTH = (
    _STATUS + r"40[13]\b|invalid.{0,12}api.?key|api.?key.{0,12}(?:invalid|not valid)"
    r"|\b40[13] (?:unauth|forbid)"
    r"|authentication.{0,12}(?:fail|error)|not logged in|permission denied \(publickey"
    r"|PermissionDeniedError|incorrect api key|API_KEY_INVALID|could not read (?:username|password)"
)
_OVERLOADED = (
    _STATUS + r"(?:408|500|502|503|504|529)\b|overloaded|service unavailable|bad gateway"
    r"|high demand|connection error|fetch failed|E?CONN(?:ECTION)?[ _]?(?:RESET|REFUSED|ABORTED)"
    r"|\bE(?:TIMEDOUT|NOTFOUND|AI_AGAIN)\b|socket hang up|stream disconnected|InternalServerError"
    r"|internal server error|ServiceUnavailableError|BadGatewayError|APIConnectionError"
    r"|failed to connect|couldn.t connect|could not (?:connect|resolve)|temporary failure in name"
    r"|connect(?:ion)? ?timed? ?out|APITimeoutError|waiting for network|incomplete json segment"
    r"|empty reply from server|recv failure|operation timed out|50[0-4] (?:server|internal)"
    r"|name or service not known|JSON Parse error|non-SSE response|\[API Error: terminated"
    r"|peer closed connection|error decoding response body|cannot connect to api"
    r"|connection (?:lost|closed|dropped|interrupted)|\[API Error: .{0,200}is not valid JSON"
)
# The first start of Codex makes its databases, and another at the same time fails over them.
_BUSY = r"failed to initialize (?:sqlite )?state runtime"
_REQUEST = (
    _STATUS + r"(?:400|422)\b|invalid_request_error|BadRequestError|INVALID_ARGUMENT|\b400 bad req"
)
_NOTFOUND = (
    _STATUS + r"404\b|\b404 not found|model.{0,80}(?:not found|does not exist)|NotFoundError"
    r"|cannot find module|no module named|spawn \S{1,200} ENOENT"
    r"|bwrap: execvp .{1,300}: No such file"
)
_FORBIDDEN = r"\bEACCES\b|\[Errno 13\]|\bEPERM\b|cannot be used with root|not running in a trusted"
# The first match counts: a 429 may be about money, a 400 about a prompt that is too long.
_PATTERNS = tuple(
    (name, lazy_compile(words, re.IGNORECASE))
    for name, words in (
        (AgentLimit.CONTEXT, _CONTEXT),
        (AgentLimit.MONEY, _MONEY),
        (AgentLimit.RATE, _RATE),
        (AgentLimit.SESSION, _SESSION),
        (AgentLimit.AUTH, _AUTH),
        (AgentLimit.OVERLOADED, _OVERLOADED),
        (AgentLimit.BUSY, _BUSY),
        (AgentLimit.REQUEST, _REQUEST),
        (AgentLimit.FORBIDDEN, _FORBIDDEN),
        (AgentLimit.NOT_FOUND, _NOTFOUND),
    )
)
_RETRY_AFTER = lazy_compile(r"retry[-_]after\b", re.IGNORECASE)
_NAMES_WAIT = lazy_compile(r"retry(?:ing)? (?:in|after) \d|retry[-_]?delay|try again in \d", re.I)


def select_error_lines(text: str) -> tuple[str, ...]:
    """The last lines of an error channel that begin like an error."""
    lines = [line for line in text.splitlines() if line.strip()][-LINES_READ:]
    stripped = (_strip_logger(line[:LINE_CHARS_READ]) for line in lines)
    has_runner = any(_RUNNER.match(line) for line in lines)
    return tuple(
        line
        for line in stripped
        if _ERROR_LINE.match(line) and not _is_about_task(line, has_runner)
    )


def select_limit_lines(text: str) -> tuple[str, ...]:
    """The last lines of a standard output, if one of them can only come from a model service."""
    lines = [line for line in text.splitlines() if line.strip()][-STDOUT_LINES_READ:]
    errors = select_error_lines("\n".join(lines))
    return errors if any(_is_from_service(line) for line in errors) else ()


def _is_from_service(line: str) -> bool:
    """Any program may print an error about a key or a network, but rarely about a rate limit.  What
    a server answered to a tool is not a message of the agent's own service.
    """
    limit = classify_error_text(line)
    if _TOOL_LINE.match(line):
        return False
    if _ANY_PROGRAM.match(line) and not _SERVICE_WORDS.match(line):
        return limit is AgentLimit.RATE
    return limit in SERVICE_LIMITS


def _strip_logger(line: str) -> str:
    """Removes what a logger adds: its prefix, and at the end the place in its own code."""
    logged = _LOGGED.sub("API error: ", line, count=1)
    own = _PREFIX.sub("", line, count=1) if logged == line else logged
    return _LOGGED_PLACE.sub("", own).rstrip()


def announces_retry(line: str) -> bool:
    """True if the agent retries after this line without naming a time."""
    return _RETRIED.match(line) is not None and bool(select_error_lines(line))


def _is_about_task(line: str, has_runner: bool) -> bool:
    """True if the line is about the task rather than about the agent."""
    if not _ANY_PROGRAM.match(line) or _SERVICE_WORDS.match(line):
        return False
    return has_runner or _TASK_WORDS.search(line) is not None


def classify_error_lines(lines: Sequence[str]) -> AgentLimit:
    """The limit that the last meaningful line names."""
    for line in reversed(lines):
        if limit := classify_error_text(line):
            return limit
    # A wait without any other reason is a rate limit.
    return AgentLimit.RATE if any(_RETRY_AFTER.match(line) for line in lines) else AgentLimit.NONE


def classify_error_text(text: str) -> AgentLimit:
    """Classifies a text that is known to be an error."""
    text = text[: 4 * LINE_CHARS_READ]
    limit = next((name for name, pattern in _PATTERNS if pattern.search(text)), AgentLimit.NONE)
    if _PACKAGES.match(text) and limit != "overloaded":
        return AgentLimit.NONE
    # A service that names a wait will answer again, whatever it says about billing.
    return AgentLimit.RATE if limit == AgentLimit.MONEY and _NAMES_WAIT.search(text) else limit


def classify_http_status(status: int | None, text: str = "") -> AgentLimit:
    """Refined by the text: 400 may be a prompt that is too long or, from Google, a wrong key, 429
    an account without credit.
    """
    limit = classify_error_text(text)
    if status is None or limit in {AgentLimit.CONTEXT, AgentLimit.MONEY, AgentLimit.SESSION}:
        return limit
    if status == 400 and limit is AgentLimit.AUTH:
        return limit
    return _LIMIT_BY_STATUS.get(status) or (
        AgentLimit.OVERLOADED if 500 <= status <= 599 else AgentLimit.UNKNOWN
    )


_LIMIT_BY_STATUS = {
    400: AgentLimit.REQUEST,
    401: AgentLimit.AUTH,
    402: AgentLimit.MONEY,
    403: AgentLimit.AUTH,
    404: AgentLimit.NOT_FOUND,
    408: AgentLimit.OVERLOADED,
    413: AgentLimit.CONTEXT,
    422: AgentLimit.REQUEST,
    429: AgentLimit.RATE,
}


def find_retry_after(lines: Sequence[str], now: datetime) -> timedelta | None:
    """The wait in the last line that names one."""
    waits = (find_wait(line, now) for line in reversed(lines))
    return next((wait for wait in waits if wait is not None), None)
