"""A proof room: a commit, the output of set-up, and private folders for checks."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from yaoki.adapters.system.files import write_atomically
from yaoki.adapters.workspace.proof_rooms.checkout import RoomCheckout
from yaoki.adapters.workspace.proof_rooms.output_copy import OutputNotCopied
from yaoki.adapters.workspace.proof_rooms.setup_output import SetupOutput
from yaoki.adapters.workspace.worktrees.worktree import delete_path
from yaoki.errors import WorkspaceError
from yaoki.ports import RoomFolders, SetupCopy

KEY, CONFIG, OCCUPANT = "key", "config", "occupant"
PRIVATE = ("home", "temporary", "reports")
# Folders of package managers and toolchains below a home folder.
CACHES = (
    *(".cargo", ".rustup", ".npm", ".yarn", ".pnpm-store", ".bun", ".deno", ".nvm", ".volta"),
    *(".pyenv", ".rbenv", ".nodenv", ".asdf", ".sdkman", ".m2", ".gradle", ".ivy2", ".sbt"),
    *(".gem", ".bundle", ".nuget", ".dotnet", ".mix", ".hex", ".composer", ".stack", ".cabal"),
    *(".ghcup", ".conda", "go", ".opam", ".pub-cache", ".elan", ".juliaup", ".julia"),
    *(".cache/pip", ".cache/uv", ".cache/pypoetry", ".cache/pdm", ".cache/pipenv", ".cache/hatch"),
    *(".cache/pre-commit", ".cache/go-build", ".cache/yarn", ".cache/pnpm", ".cache/ms-playwright"),
    *(".cache/Cypress", ".cache/puppeteer", ".cache/node", ".cache/deno", ".cache/bazel"),
    *(".cache/composer", ".cache/coursier", ".cache/nix", ".local/share/uv", ".local/share/pnpm"),
    *(
        ".local/share/mise",
        ".local/share/pypoetry",
        ".local/share/hatch",
        ".local/share/virtualenvs",
    ),
)
# The key under which output of set-up may be used again: by the key for which set-up ran, the
# commit, the folder with its files, the tracked ones, and those that set-up made.
KeyOfOutput = Callable[[str, str, Path, Collection[str], Collection[str]], str]


class GitProofRoom:
    """The room below `folder`, while this process holds its lock."""

    def __init__(
        self,
        folder: Path,
        checkout: RoomCheckout,
        key: str,
        fill_home: Callable[[Path], None],
        copy_included: Callable[[Path], None],
        key_of_output: KeyOfOutput = lambda key, *_: key,
    ) -> None:
        """`copy_included` copies the files that every worktree gets."""
        self._folder, self._checkout, self._key = folder, checkout, key
        self._fill_home, self._copy_included = fill_home, copy_included
        self._key_of_output = key_of_output
        self._output = SetupOutput(self.files, folder)
        self._config = ""
        self._commit = ""
        self._opened = False
        # Tracked files that the present check must not see.
        self._absent: frozenset[str] = frozenset()

    @property
    def files(self) -> Path:
        return self._checkout.files

    @property
    def is_ready(self) -> bool:
        """A room of another checkout of the clone is not: the folder of its files differs."""
        return (self._folder / KEY).is_file() and self.key == self._key and self.files.is_dir()

    @property
    def key(self) -> str:
        file = self._folder / KEY
        return file.read_text(encoding="ascii") if file.is_file() else ""

    def forget_setup(self) -> None:
        """Make the next user of the room run set-up again."""
        (self._folder / KEY).unlink(missing_ok=True)

    def _open(self) -> None:
        """Reuse the content of an earlier user if it was set up for the same key; else wipe it.

        Only at the first checkout: until then a process of a killed worker may still run.
        """
        if self._opened:
            return
        self._opened = True
        if self.is_ready:
            self._checkout.load_tracked()
            self._output.load()
            self._config = (self._folder / CONFIG).read_text("utf-8", "surrogateescape")
        else:
            self._wipe()

    def copy_output(self, target: Path, folders: Collection[str]) -> SetupCopy:
        """Copy the output of set-up to another checkout; needs no lock.

        The holder of the room never changes the output, but may wipe it.  It removes the key first,
        so a copy is whole if the key is still the same afterwards.
        """
        before = _mark(self._folder / KEY)
        if before is None or not self.is_ready:
            return SetupCopy.ABSENT
        try:
            copy = self._output.copy_to(target, folders)
        except (OutputNotCopied, OSError, ValueError):
            return SetupCopy.UNUSABLE
        if _mark(self._folder / KEY) == before:
            return SetupCopy.COPIED
        copy.undo()
        return SetupCopy.ABSENT

    def _wipe(self) -> None:
        self.forget_setup()
        for entry in self._folder.iterdir() if self._folder.is_dir() else ():
            if entry.name != OCCUPANT:
                delete_path(entry)

    def check_out(self, commit: str) -> None:
        """Make the room contain exactly this commit and the output of set-up."""
        self._open()
        try:
            self._replace_content(commit)
        except (WorkspaceError, OSError):
            if self.is_ready and not self._config:
                # A check may have left files that git cannot overwrite.
                delete_path(self.files)
                delete_path(self._folder / "git")
                self._replace_content(commit)
            else:
                raise

    def _replace_content(self, commit: str) -> None:
        self._absent = frozenset()
        self._output.restore(self._checkout.tracked)
        self._checkout.check_out(commit, self._config)
        self._output.restore(self._checkout.tracked)
        if not self.is_ready:
            self._copy_included(self.files)
        self._commit = commit

    def keep_only(self, globs: Sequence[str]) -> None:
        """Without the clone: through it a check could read the other files."""
        self._absent = self._checkout.remove_others(globs)

    def record_setup_output(self, *, is_copy: bool = False) -> None:
        """Record everything besides the commit as output of set-up; the key is written last.

        The original of a copy was examined, and only there do the times tell what set-up did.
        """
        config = self._checkout.read_config()
        self._checkout.check_out(self._commit, config)
        self._output.record(self._checkout.tracked)
        self._config = config
        (self._folder / CONFIG).write_bytes(config.encode("utf-8", "surrogateescape"))
        if not is_copy:
            self._key = self._key_of_output(
                self._key, self._commit, self.files, self._checkout.tracked, self._output.paths
            )
        write_atomically(self._folder / KEY, self._key.encode("ascii"))

    def replace_file(self, path: str, text: str) -> None:
        """Give a tracked file another content until the next checkout."""
        file = self.files / path
        if path not in self._checkout.tracked or file.is_symlink() or not file.is_file():
            raise WorkspaceError(f"{path} is not a tracked file of the proof room")
        file.write_bytes(text.encode("utf-8", "surrogateescape"))

    def changed_files(self) -> tuple[str, ...]:
        changed = self._checkout.changed_files()
        return tuple(name for name in changed if name not in self._absent)

    def empty_private_folders(self) -> RoomFolders:
        """Empty the private folders, and fill the home."""
        for name in PRIVATE:
            delete_path(self._folder / name)
            (self._folder / name).mkdir(mode=0o700)
        self._fill_home(self._folder / "home")
        return RoomFolders(*(self._folder / name for name in PRIVATE))

    def occupy(self, folder: Path | None) -> None:
        file = self._folder / OCCUPANT
        if folder is None:
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(os.fsencode(folder))

    @property
    def occupant(self) -> Path | None:
        file = self._folder / OCCUPANT
        return Path(os.fsdecode(file.read_bytes())) if file.is_file() else None

    def close(self) -> None:
        """Store what the next user of the room needs."""
        self._output.close()
        os.utime(self._folder)


def _mark(file: Path) -> tuple[int, int] | None:
    try:
        facts = file.stat()
    except FileNotFoundError:
        return None
    return (facts.st_ino, facts.st_mtime_ns)


def fill_private_home(home: Path, real: Path, identity: tuple[str, str]) -> None:
    """Link the existing caches, and configure an author for commits that tests make.

    Nothing else that an agent, an earlier check or the user left in a home folder can help a check
    to pass.  Caches and toolchains are linked, because no package manager works offline without
    them.
    """
    for name in CACHES:
        # Few of the names exist, and a path object costs more than the question.
        if os.path.isdir(f"{real}/{name}"):  # noqa: PTH112
            link = home / name
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(real / name, target_is_directory=True)
    name, email = (value.replace("\n", " ").replace('"', "'") for value in identity)
    config = f'[user]\n\tname = "{name}"\n\temail = "{email}"\n'
    (home / ".gitconfig").write_text(config, encoding="utf-8")
