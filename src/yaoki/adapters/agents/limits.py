"""Limits, refusals and waits, read from the error channel only.

A line counts when it begins as an error line does.  Prose about 429 does not, and
nothing an agent says on its standard output ever does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from yaoki.adapters.agents.reset_times import find_wait
from yaoki.core.model import AgentLimit

LINES_READ = 40
LINE_CHARS_READ = 1000

# Time stamps and levels that loggers put before the line itself.
_PREFIX = re.compile(
    r"^[\s>*✖✗×!⚠-]{0,8}(?:\[?\d{4}-\d\d-\d\d[T ][\d:.,]{5,15}(?:Z|[+-]\d\d:?\d\d)?\]?[\s:-]{0,4})?"
    r"(?:\[?(?:WARN(?:ING)?|CRITICAL)\]?[\s:-]{1,4})?",
    re.IGNORECASE,
)
# opencode logs so; what it says of a title is not about its work.
_LOGGED = re.compile(
    r"^timestamp=\S{1,40} level=ERROR (?!.{0,400}\bsmall=true\b)"
    r".{0,400}?\berror(?:\.error)?=\"(?=\w)"
)
# It goes on by itself after this, and does not say when.
_RETRIED = re.compile(r'^timestamp=\S{1,40} level=ERROR .{0,60}message="stream error"')
_ERROR_LINE = re.compile(
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
    | retrying\s(?:<\w{1,20}>\s)?(?:in|after)\s\d
    | retry[-_]after\b
    | rate[\s_-]?limit(?:ed|s)?\b(?:[:\s]*(?:exceeded|reached|hit|error)|:|$)
    | rate_limit_(?:error|exceeded)\b
    | too\smany\srequests\b
    | fetch\sfailed\b
    | request\sfailed\swith\sstatus\scode\s\d{3}\b
    | (?:\[[\w-]{1,30}\]|[\w-]{1,30}:)\s(?:error:\s)?(?:429\b|rate[\s_-]?limit)
    | you(?:'|\u2019)ve\shit\syour\s
    | you\shave\sexhausted\syour\s
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
# Any program may begin a line so; what follows may be about the agent's own task.
_ANY_PROGRAM = re.compile(
    r"\[?(?:error|fatal|panic)\b|(?:[A-Za-z_]\w{0,60}\.){0,6}\w{1,60}Error\b", re.I
)
# What only a service of models says; a test about it would not.
_OWN_WORDS = re.compile(
    r"(?:api|http|request|stream|server|provider)[ _-]?(?:error|status)\b", re.I
)
_OF_THE_TASK = re.compile(
    r"\bexpect(?:ed|s)?\b|\bassert|\btest_\w|\w_test\b|\btests?\b|\bspecs?\b|\bgot \d{3}\b"
    r"|\bnot reached\b|\bshould\b|\bmock|\bfixture|[\w/]\.(?:py|tsx?|jsx?|go|rs|java|rb|php|cs):\d",
    re.IGNORECASE,
)
# A test runner spoke here: an exception among its lines is a test's.
_RUNNER = re.compile(
    r"\s{0,4}(?:FAILED? |--- FAIL|not ok \d|={3,} .{0,80}={3}|_{4,} |Tests?:\s+\d"
    r"|\d{1,6} (?:failed|failing|passed)\b)"
)
# A registry of packages is not the agent's service; that nothing is reached holds for both.
_PACKAGES = re.compile(r"(?:npm|yarn|pnpm|pip)\s(?:err!|error)\s", re.IGNORECASE)
# A bare number proves nothing: "error: expected 401, got 200" is about the agent's own task.
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
    _STATUS + r"429\b|\brate.?limit|too many requests|\bquota\b|usage limit|hit your limit"
    r"|RESOURCE_EXHAUSTED"
)
_SESSION = (
    r"no (?:conversation|saved session|session|rollout|previous sessions) found|session not found"
    r"|no session with|invalid session identifier"
)
_AUTH = (
    _STATUS + r"40[13]\b|invalid.{0,12}api.?key|api.?key.{0,12}invalid|\b40[13] (?:unauth|forbid)"
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
    r"|connection (?:lost|closed|dropped|interrupted)|\[API Error: .{0,200}is not valid JSON"
)
_REQUEST = (
    _STATUS + r"(?:400|422)\b|invalid_request_error|BadRequestError|INVALID_ARGUMENT|\b400 bad req"
)
_NOTFOUND = (
    _STATUS + r"404\b|\b404 not found|model.{0,80}(?:not found|does not exist)|NotFoundError"
    r"|cannot find module|no module named|spawn \S{1,200} ENOENT"
    r"|bwrap: execvp .{1,300}: No such file"
)
_FORBIDDEN = r"\bEACCES\b|\[Errno 13\]|\bEPERM\b|cannot be used with root|not running in a trusted"
# The first that a line matches is meant: a 429 may speak of money, a 400 of a prompt too long.
_WORDS = tuple(
    (name, re.compile(words, re.IGNORECASE))
    for name, words in (
        (AgentLimit.CONTEXT, _CONTEXT),
        (AgentLimit.MONEY, _MONEY),
        (AgentLimit.RATE, _RATE),
        (AgentLimit.SESSION, _SESSION),
        (AgentLimit.AUTH, _AUTH),
        (AgentLimit.OVERLOADED, _OVERLOADED),
        (AgentLimit.REQUEST, _REQUEST),
        (AgentLimit.FORBIDDEN, _FORBIDDEN),
        (AgentLimit.NOT_FOUND, _NOTFOUND),
    )
)
_RETRY_AFTER = re.compile(r"retry[-_]after\b", re.IGNORECASE)
_NAMES_WAIT = re.compile(r"retry(?:ing)? (?:in|after) \d|retry[-_]?delay|try again in \d", re.I)


def select_error_lines(text: str) -> tuple[str, ...]:
    """The last lines of an error channel that are errors by their beginning."""
    lines = [line for line in text.splitlines() if line.strip()][-LINES_READ:]
    bare = (_bare(line[:LINE_CHARS_READ]) for line in lines)
    tested = any(_RUNNER.match(line) for line in lines)
    return tuple(line for line in bare if _ERROR_LINE.match(line) and not _told(line, tested))


def _bare(line: str) -> str:
    """Without what a logger puts before it."""
    logged = _LOGGED.sub("API error: ", line, count=1)
    return _PREFIX.sub("", line, count=1) if logged == line else logged


def announces_retry(line: str) -> bool:
    """Does the agent try again after this line, and keep the time to itself?"""
    return _RETRIED.match(line) is not None and bool(select_error_lines(line))


def _told(line: str, tested: bool) -> bool:
    """Is this line about what the agent worked on, rather than about the agent?"""
    if not _ANY_PROGRAM.match(line) or _OWN_WORDS.match(line):
        return False
    return tested or _OF_THE_TASK.search(line) is not None


def classify_error_lines(lines: Sequence[str]) -> AgentLimit:
    """The word of `AgentExit.limit` that the last telling line stands for, or nothing."""
    for line in reversed(lines):
        if word := classify_error_text(line):
            return word
    # A wait asked for with no other word is a limit all the same.
    return AgentLimit.RATE if any(_RETRY_AFTER.match(line) for line in lines) else AgentLimit.NONE


def classify_error_text(text: str) -> AgentLimit:
    """What a text that is known to be an error says."""
    text = text[: 4 * LINE_CHARS_READ]
    word = next((name for name, words in _WORDS if words.search(text)), AgentLimit.NONE)
    if _PACKAGES.match(text) and word != "overloaded":
        return AgentLimit.NONE
    # Who names a wait means to answer again, whatever is said of plans and billing.
    return AgentLimit.RATE if word == AgentLimit.MONEY and _NAMES_WAIT.search(text) else word


def classify_http_status(status: int | None, text: str = "") -> AgentLimit:
    """An HTTP status, refined by its text: 400 may be a prompt too long, 429 an empty purse."""
    told = classify_error_text(text)
    if status is None or told in {AgentLimit.CONTEXT, AgentLimit.MONEY, AgentLimit.SESSION}:
        return told
    return _OF_STATUS.get(status) or (
        AgentLimit.OVERLOADED if 500 <= status <= 599 else AgentLimit.UNKNOWN
    )


_OF_STATUS = {
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
    """The wait the service asked for, from the last line that names one."""
    waits = (find_wait(line, now) for line in reversed(lines))
    return next((wait for wait in waits if wait is not None), None)
