"""The imports of a JavaScript test, by `require` or `import`: the same names of the same files.

Only what surely stays the same counts: the project's own files by their paths, libraries for tests,
and modules of Node.  A package of another name may lead `import` to another file than `require`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import dirname

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.file_index import FileIndex, resolve_path
from yaoki.formats.quality.definition.program_names import is_javascript
from yaoki.formats.quality.definition.runner_names import TEST_LIBRARIES

_NAME = r"[A-Za-z_$][\w$]{0,99}"
_REQUIRED = lazy_compile(
    rf"^(?:const|let|var)\s+(?P<names>{_NAME}|\{{[^{{}}]{{0,2000}}\}})\s*=\s*"
    r"require\(\s*(['\"])(?P<file>[^'\"\n]{1,300})\2\s*\)"
    rf"(?:\.(?P<member>{_NAME}))?[ \t]*;?[ \t]*$",
    re.MULTILINE,
)
_IMPORTED = lazy_compile(
    r"^import\s+(?P<names>[\w$*{},\s]{1,2000}?)\s*from\s*(['\"])(?P<file>[^'\"\n]{1,300})\2"
    r"[ \t]*;?[ \t]*$",
    re.MULTILINE,
)
_STRICT = lazy_compile(r"^['\"]use strict['\"];?[ \t]*$", re.MULTILINE)
_PART = lazy_compile(rf"({_NAME})\s*(?:(?::|\bas\b)\s*({_NAME}))?")
_WHOLE = lazy_compile(rf"(?:\*\s*as\s+)?({_NAME})")
_ENDINGS = (".js", ".mjs", ".cjs", ".ts", ".jsx", ".tsx", "/index.js", "/index.ts")
_NODE = frozenset(
    {"assert", "assert/strict", "buffer", "child_process", "crypto", "events", "fs", "fs/promises"}
    | {"http", "https", "net", "os", "path", "process", "stream", "timers", "timers/promises"}
    | {"url", "util", "vm", "worker_threads", "zlib"}
)
# A name of the test, the member of the module that it stands for, and the module.
Binding = tuple[str, str, str]


def without_kept_imports(path: str, old: str, new: str, base: FileIndex) -> tuple[str, str]:
    """Both texts without their imports, if the new one has all those of the old one."""
    if not is_javascript(path):
        return old, new
    before, after = (set(_bindings(path, text, base)) for text in (old, new))
    if not before <= after:
        return old, new
    return _without_imports(old), _without_imports(new)


def _without_imports(text: str) -> str:
    for pattern in (_REQUIRED, _IMPORTED, _STRICT):
        text = pattern.sub("", text)
    return text


def _bindings(path: str, text: str, base: FileIndex) -> Iterator[Binding]:
    for pattern in (_REQUIRED, _IMPORTED):
        for hit in pattern.finditer(text):
            module = _module(hit["file"], path, base)
            member = hit.groupdict().get("member")
            for name, part in _names(hit["names"]):
                # `require('x').a`, and the main function of a library under its name.
                yield name, _named(member or part, module), module or hit[0]


def _names(written: str) -> Iterator[tuple[str, str]]:
    whole, _, parts = written.partition("{")
    for hit in _WHOLE.finditer(whole):
        yield hit[1], "default"
    for hit in _PART.finditer(parts):
        yield hit[2] or hit[1], hit[1]


def _named(member: str, module: str) -> str:
    return "default" if (member, module) == ("test", "node:test") else member


def _module(file: str, path: str, base: FileIndex) -> str:
    """The module, however it is written; empty if `import` and `require` may find others."""
    if file.startswith("."):
        at = resolve_path(file, dirname(path)) or ""
        ways = (at, *(f"{at}{end}" for end in _ENDINGS))
        return next((way for way in ways if way in base.paths), "")
    bare = file.removeprefix("node:")
    if bare in _NODE:
        return bare
    return file if file in TEST_LIBRARIES or file.startswith("node:") else ""
