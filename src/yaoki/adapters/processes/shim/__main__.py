"""The script, kept short: a script is compiled at each start, a module only once."""

import sys

PACKAGES = ("yaoki", "yaoki.adapters", "yaoki.adapters.processes")


def stand_in_for_packages() -> None:
    """Imports `yaoki.adapters.processes.shim` alone: importing the real parent packages would take
    longer than the whole shim.
    """
    path = __file__[: -len("/adapters/processes/shim/__main__.py")]
    for name in PACKAGES:
        package = type(sys)(name)
        package.__path__ = [path + name[len("yaoki") :].replace(".", "/")]
        sys.modules[name] = package


if __name__ == "__main__":
    stand_in_for_packages()
    if len(sys.argv) > 1:
        from yaoki.adapters.processes.shim.main import exit_now, main

        main(sys.argv[1])
        exit_now()
    else:
        from yaoki.adapters.processes.shim.fork_server import serve

        serve()
