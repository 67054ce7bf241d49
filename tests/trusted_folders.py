"""Trust as a person gives it to a folder of their own, written before anything is asked."""

from __future__ import annotations

from pathlib import Path

from yaoki.adapters.system.trust_file import TrustFile


def trust_below(home: Path, folder: Path) -> None:
    """What `yaoki trust --below FOLDER` leaves in the state folder `home`."""
    place = str(folder.resolve())
    TrustFile(home).update(lambda record: record.with_below(place))
