"""Trusted folders for tests, recorded as `yaoki trust --below` does."""

from __future__ import annotations

from pathlib import Path

from yaoki.adapters.system.trust_file import TrustFile


def trust_folder(home: Path, folder: Path) -> None:
    """What `yaoki trust --below FOLDER` leaves in the state folder `home`."""
    place = str(folder.resolve())
    TrustFile(home).update(lambda record: record.with_below(place))
