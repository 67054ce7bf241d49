"""The script itself: little, because a script is compiled at each start and a module only once."""

import sys


def open_room() -> None:
    """Let `yaoki.shim` be imported alone: an empty package stands for yaoki, whose own door would
    take longer than all of the shim.
    """
    house = type(sys)("yaoki")
    house.__path__ = [__file__[: -len("/shim/__main__.py")]]
    sys.modules["yaoki"] = house


if __name__ == "__main__":
    open_room()
    if len(sys.argv) > 1:
        from yaoki.shim.carrying import leave, main

        main(sys.argv[1])
        leave()
    else:
        from yaoki.shim.stem import serve

        serve()
