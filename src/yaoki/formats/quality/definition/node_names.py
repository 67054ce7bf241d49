"""Manifests and settings that decide what a name means in the files around them.

`#calc` is looked up in the nearest `package.json`, and so is the name of the package itself;
`paths` of TypeScript are looked up in the nearest `tsconfig.json`.  A new file of these between the
tests and the old one, or another target in it, leads older tests to other files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from posixpath import basename, dirname, join, normpath
from typing import Any

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.file_index import FileIndex, resolve_path
from yaoki.formats.quality.definition.node_modules import Use, is_bare, read_json, uses_of_tests
from yaoki.formats.quality.definition.roles import is_in_test_folder

EXTENDS_MAX = 8
_MANIFEST = "package.json"
_TYPESCRIPT = ("tsconfig.json", "jsconfig.json")
_NAMES = frozenset({_MANIFEST, *_TYPESCRIPT})
_COMMENT = lazy_compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*[\s\S]*?\*/')
_TRAILING_COMMA = lazy_compile(r",(\s*[}\]])")
_TYPED_BY_MANIFEST = (".js", ".ts", ".jsx", ".tsx")


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a name stands for: `targets` are files of the repository, if it is known."""

    targets: tuple[str, ...] = ()
    words: str = ""


def find_redirecting_manifests(base: FileIndex, candidate: FileIndex) -> Iterator[str]:
    """Changed files of this kind by which a name in an older test means something else."""
    changed = {
        path
        for path in base.paths | candidate.paths
        if basename(path) in _NAMES and base.text(path) != candidate.text(path)
    }
    uses = [use for use in uses_of_tests(base) if use.path in candidate.paths] if changed else []
    try:
        found = {path for use in uses for path in _redirecting(use, base, candidate)}
    except RecursionError:
        found = changed
    yield from sorted(found & changed)


def _redirecting(use: Use, base: FileIndex, candidate: FileIndex) -> Iterator[str]:
    for names, read in (((_MANIFEST,), _read_manifest), (_TYPESCRIPT, _read_typescript)):
        old, new = (_nearest(names, dirname(use.path), files) for files in (base, candidate))
        before, after = read(use, old, base), read(use, new, candidate)
        if before != after and _leads_away(before, after, old == new, candidate):
            yield new if new != old and new else old
    yield from _other_main(use, base, candidate)
    yield from _other_type(use, base, candidate)


def _leads_away(
    before: _Meaning, after: _Meaning, is_same_file: bool, candidate: FileIndex
) -> bool:
    """Renamed targets are followed; what a package exports is for the task to decide."""
    if any(map(is_in_test_folder, after.targets)) and before.targets != after.targets:
        return True
    if not before.targets and not after.targets:
        return True
    if is_same_file and before.words == "exports":
        return False
    is_left = any(target in candidate.paths for target in before.targets)
    return is_left or (not before.targets and not is_same_file)


def _nearest(names: tuple[str, ...], folder: str, files: FileIndex) -> str:
    """The file that is in force in a folder: its own, or that of a folder above it."""
    while True:
        for name in names:
            if (path := f"{folder}/{name}".lstrip("/")) in files.paths:
                return path
        if not folder:
            return ""
        folder = dirname(folder)


# ------------------------------------------------------------------ package.json


def _read_manifest(use: Use, manifest: str, files: FileIndex) -> _Meaning:
    data, folder = read_json(manifest, files), dirname(manifest)
    if use.name.startswith("#"):
        value = _look_up(use.name, data.get("imports"))
        return _Meaning(_targets(value, folder), json.dumps(value))
    name = data.get("name")
    if not isinstance(name, str) or not is_bare(use.name) or data.get("exports") is None:
        return _Meaning()
    if use.name != name and not use.name.startswith(f"{name}/"):
        return _Meaning()
    exports = data["exports"]
    table = exports if _has_paths(exports) else {".": exports}
    value = _look_up(f".{use.name.removeprefix(name)}", table)
    return _Meaning(_targets(value, folder), "exports")


def _has_paths(exports: object) -> bool:
    return isinstance(exports, dict) and any(str(key).startswith(".") for key in exports)


def _look_up(name: str, table: object) -> Any:
    """The entry for a name; a `*` stands for any part, the longest prefix wins."""
    if not isinstance(table, dict):
        return None
    if name in table:
        return table[name]
    for key in sorted(table, key=len, reverse=True):
        start, star, end = str(key).partition("*")
        fits = name.startswith(start) and name.endswith(end) and len(name) >= len(start + end)
        if star and fits:
            part = name[len(start) : len(name) - len(end)]
            return _fill(table[key], part)
    return None


def _fill(value: Any, part: str) -> Any:
    if isinstance(value, str):
        return value.replace("*", part)
    if isinstance(value, list):
        return [_fill(one, part) for one in value]
    if isinstance(value, dict):
        return {key: _fill(one, part) for key, one in value.items()}
    return value


def _targets(value: Any, folder: str) -> tuple[str, ...]:
    if isinstance(value, str):
        path = resolve_path(value, folder) if value.startswith(".") else None
        return (path,) if path else ()
    items = value.values() if isinstance(value, dict) else value
    if not isinstance(value, (dict, list)):
        return ()
    return tuple(one for item in items for one in _targets(item, folder))


def _other_main(use: Use, base: FileIndex, candidate: FileIndex) -> Iterator[str]:
    """`require('./helpers')`, whose `package.json` now names another file."""
    stem = resolve_path(use.name, dirname(use.path)) if use.name.startswith(".") else None
    if stem is None:
        return
    path = f"{stem}/{_MANIFEST}".lstrip("/")
    if path not in base.paths or path not in candidate.paths:
        return
    old, new = (read_json(path, files).get("main") for files in (base, candidate))
    if old != new and (stem or is_in_test_folder(f"{normpath(str(new))}")):
        yield path


def _other_type(use: Use, base: FileIndex, candidate: FileIndex) -> Iterator[str]:
    """The same text is another kind of module in a package of another type."""
    is_typed = use.path.endswith(_TYPED_BY_MANIFEST)
    if not is_typed or base.text(use.path) != candidate.text(use.path):
        return
    old, new = (_nearest((_MANIFEST,), dirname(use.path), files) for files in (base, candidate))
    types = [read_json(at, files).get("type") for at, files in ((old, base), (new, candidate))]
    if new and old != new and (types[0] or "commonjs") != (types[1] or "commonjs"):
        yield new


# ------------------------------------------------------------------ tsconfig.json


def _read_typescript(use: Use, settings: str, files: FileIndex) -> _Meaning:
    options = _options(settings, files, EXTENDS_MAX)
    if use.name.startswith("."):
        words = [options.get(key) for key in ("rootDirs", "moduleSuffixes")]
        return _Meaning((), json.dumps(words) if any(words) else "")
    value = _look_up(use.name, options.get("paths"))
    targets: list[str] = []
    if isinstance(value, list):
        top = options.get("baseUrl") or options["paths in"]
        targets = [normpath(join(top, str(one))) for one in value]
    elif options.get("baseUrl") is not None and is_bare(use.name):
        stem = normpath(join(options["baseUrl"], use.name))
        targets = [stem] if files.is_folder(stem) or _has_code(stem, files) else []
    found = tuple(end for one in targets for end in _with_endings(one, files))
    return _Meaning(found, json.dumps(targets) if targets else "")


def _options(path: str, files: FileIndex, depth: int) -> dict[str, Any]:
    """The options about names, with those of the settings that this file extends."""
    data = _read_lenient(files.text(path))
    above = data.get("extends")
    found: dict[str, Any] = {}
    words = above if isinstance(above, list) else [above]
    for word in (one for one in words if isinstance(one, str) and one.startswith(".") and depth):
        at = resolve_path(word, dirname(path))
        for one in (at, f"{at}.json") if at else ():
            if one in files.paths:
                found |= _options(one, files, depth - 1)
    own = data.get("compilerOptions")
    own = own if isinstance(own, dict) else {}
    if isinstance(own.get("paths"), dict):
        found |= {"paths": own["paths"], "paths in": dirname(path)}
    if isinstance(own.get("baseUrl"), str):
        found["baseUrl"] = join(dirname(path), own["baseUrl"])
    return found | {key: own[key] for key in ("rootDirs", "moduleSuffixes") if key in own}


def _read_lenient(text: str) -> dict[str, Any]:
    """JSON with comments and commas at the end."""
    bare = _TRAILING_COMMA.sub(r"\1", _COMMENT.sub(lambda hit: hit[1] or "", text))
    try:
        found = json.loads(bare or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _with_endings(stem: str, files: FileIndex) -> Iterator[str]:
    ends = ("", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", "/index.ts", "/index.js")
    yield from (f"{stem}{end}" for end in ends if f"{stem}{end}" in files.paths)


def _has_code(stem: str, files: FileIndex) -> bool:
    return any(_with_endings(stem, files))
