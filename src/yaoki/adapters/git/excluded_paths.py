"""Paths that are no part of a change although git does not ignore them: set-up made them."""

from __future__ import annotations

from yaoki.core.lazy_dataclass import dataclass
from yaoki.core.lazy_pattern import lazy_compile

# Characters with a meaning in an ignore pattern.
_SPECIAL = lazy_compile(r"([\\*?\[\]!# ])")


@dataclass(frozen=True, slots=True)
class ExcludedPaths:
    """Folders with everything in them, and single files.

    `links` are submodules with the commit at which set-up left them: only as long as they are
    there.
    """

    folders: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    links: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.folders or self.files or self.links)

    def __contains__(self, path: str) -> bool:
        if path in self.files or path in self.folders:
            return True
        at = path.rfind("/")
        while at > 0 and self.folders:
            if path[:at] in self.folders:
                return True
            at = path.rfind("/", 0, at)
        return False

    @property
    def pathspecs(self) -> tuple[str, ...]:
        """Arguments that keep git out of the folders; single files are left to the caller."""
        if not self.folders:
            return ()
        return ("--", ".", *(f":(exclude,literal){name}" for name in sorted(self.folders)))

    @property
    def ignore_options(self) -> tuple[str, ...]:
        """Arguments of `git clean` by which it treats the paths as ignored."""
        names = sorted((*self.folders, *self.files))
        return tuple(word for name in names for word in ("-e", _SPECIAL.sub(r"\\\1", f"/{name}")))


NOTHING_EXCLUDED = ExcludedPaths()
