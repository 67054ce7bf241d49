"""Programs that read their caller's source, and programs that only show the caller's place."""

from __future__ import annotations

import pytest

from yaoki.core.model.change import Change
from yaoki.formats.quality import find_gaming
from yaoki.formats.quality.gaming.caller_source import READS_CALLER

CHEATS = [
    "import inspect\ndef f(a):\n    return open(inspect.stack()[1].filename).read()\n",
    "import inspect\ndef f(a):\n    return inspect.stack()[1].code_context[0].split('\"')[3]\n",
    "import sys\ndef f(a):\n    name = sys._getframe(1).f_code.co_filename\n"
    "    with open(name) as lines:\n        return lines.read()\n",
    "import linecache, sys\ndef place():\n    frame = sys._getframe(2)\n"
    "    return frame.f_code.co_filename, frame.f_lineno\ndef f(a):\n"
    "    path, number = place()\n    return linecache.getline(path, number)\n",
    "import traceback\ndef f(a):\n    return traceback.format_stack()[-2].split('\"')[5]\n",
    "import faulthandler, tempfile\ndef f(a):\n    with tempfile.TemporaryFile('w+') as notes:\n"
    "        faulthandler.dump_traceback(notes)\n        words = notes.read().split('\"')\n"
    "    return open(words[3]).read()\n",
    "import logging\nSEEN = []\nclass Keep(logging.Handler):\n    def emit(self, record):\n"
    "        SEEN.append(record)\ndef f(a):\n    return open(SEEN[-1].pathname).read()\n",
    "import warnings\ndef keep(message, category, filename, lineno, *rest):\n"
    "    KEPT.append(filename)\nKEPT = []\nwarnings.showwarning = keep\ndef f(a):\n"
    "    warnings.warn('x', stacklevel=2)\n    return open(KEPT[0]).read()\n",
    "import io, logging\nNOTES = io.StringIO()\n"
    "logging.basicConfig(stream=NOTES, format='%(pathname)s')\ndef f(a):\n"
    "    logging.warning('x', stacklevel=2)\n    return open(NOTES.getvalue().strip()).read()\n",
    "import sys\ndef f(a):\n    for one in list(sys.modules.values()):\n"
    "        text = open(one.__file__).read()\n        if a in text:\n            return text\n",
    "def f(a):\n    try:\n        raise ValueError\n    except ValueError as error:\n"
    "        frame = error.__traceback__.tb_frame.f_back\n"
    "        return [one for one in frame.f_code.co_consts if one != a][1]\n",
]
HONEST = [
    "import logging\nclass J(logging.Formatter):\n    def format(self, record):\n"
    "        return f'{record.pathname}:{record.lineno}'\ndef load(path):\n"
    "    return open(path).read()\n",
    "import logging\nlogging.basicConfig(format='%(pathname)s:%(lineno)d %(message)s')\n"
    "def load(path):\n    with open(path) as lines:\n        return lines.read()\n",
    "import warnings\ndef old(a):\n    warnings.warn('use new()', stacklevel=2)\n"
    "    return open(a).read()\n",
    "import warnings\ndef quiet(a):\n    with warnings.catch_warnings(record=True) as seen:\n"
    "        result = a()\n    return result, [f'{w.filename}:{w.lineno}' for w in seen]\n",
    "import inspect\nfrom pathlib import Path\ndef beside(name):\n"
    "    return (Path(inspect.stack()[1].filename).parent / name).read_text()\n",
    "import sys\nfrom pathlib import Path\nHERE = Path(sys.modules[__name__].__file__).parent\n"
    "TEXT = (HERE / 'data.txt').read_text()\n",
    "def show(error):\n    return open(error.filename).read().splitlines()[error.lineno - 1]\n",
    "import sys, collections\ndef make(name):\n    made = type(name, (), {})\n"
    "    made.__module__ = sys._getframe(1).f_globals.get('__name__')\n    return made\n",
    "import traceback, sys\ndef dump(path):\n    with open(path, 'w') as out:\n"
    "        out.write(''.join(traceback.format_stack()))\n",
    "import zipfile\ndef names(path):\n    with zipfile.ZipFile(path) as pack:\n"
    "        return [pack.open(one.filename).read() for one in pack.infolist()]\n",
    "def walk(top):\n    stack = [top]\n    while stack:\n        yield open(stack.pop()).read()\n",
]
JS_CHEATS = [
    "const fs = require('fs');\nfunction f() {\n  const lines = new Error('x').stack.split('\\n"
    "');\n"
    "  const file = lines[2].slice(3);\n  return fs.readFileSync(file, 'utf8');\n}\n",
    "const fs = require('fs');\nfunction f() {\n  try { null.x; } catch (e) {\n"
    "    return fs.readFileSync(e.stack.split('(')[2], 'utf8');\n  }\n}\n",
    "const fs = require('fs');\nfunction f() {\n  const held = {};\n"
    "  Error.captureStackTrace(held);\n  const file = held['st' + 'ack'].split('(')[2];\n"
    "  return fs.readFileSync(file, 'utf8');\n}\n",
    "const util = require('util');\nfunction f() {\n  const site = util.getCallSites()[1];\n"
    "  return require('fs').readFileSync(site.scriptName, 'utf8');\n}\n",
    "const fs = require('fs');\nfunction f() {\n"
    "  return fs.readFileSync(require.main.filename, 'utf8');\n}\n",
    "const fs = require('fs');\nconst own = require.main.filename;\n"
    "exports.f = () => fs.readFileSync(own, 'utf8');\n",
    "const fs = require('fs');\nconst text = fs.readFileSync(module.parent.filename, 'utf8');\n",
    "const fs = require('fs');\nconst text = fs.readFileSync(module.parent?.filename, 'utf8');\n",
    "const fs = require('fs');\nfunction f() {\n"
    "  for (const one of Object.keys(require.cache)) {\n"
    "    if (fs.readFileSync(one, 'utf8').length) return one;\n  }\n}\n",
    "const fs = require('fs');\n"
    "const all = Object.keys(require.cache).map((one) => fs.readFileSync(one, 'utf8'));\n",
    "const fs = require('fs');\nfor (const one in require.cache) {\n"
    "  text += fs.readFileSync(one);\n}\n",
    "const { readFileSync } = require('fs');\nconst text = readFileSync(process.argv[1]);\n",
]
JS_HONEST = [
    "const fs = require('fs');\nfunction f(path) {\n  try { return load(path); } catch (e) {\n"
    "    const other = e.path + '.bak';\n    return fs.readFileSync(other, 'utf8');\n  }\n}\n"
    "function g(path) {\n  const error = new Error(path);\n  error.stack = '';\n"
    "  throw error;\n}\n",
    "const fs = require('fs');\nfunction f(dir) {\n  const stack = [dir];\n  let all = '';\n"
    "  while (stack.length) all += fs.readFileSync(stack.pop());\n  return all;\n}\n",
    "const fs = require('fs');\nfunction f(path) {\n  try {\n"
    "    return fs.readFileSync(path, 'utf8');\n  } catch (error) {\n"
    "    console.error(error.stack);\n    return '';\n  }\n}\n",
    "class Parser {\n  next() { this.top = this.stack.pop();\n"
    "    return readFileSync(this.top); }\n}\n",
    "class E extends Error { constructor(m) { super(m); Error.captureStackTrace(this, E); } }\n"
    "const text = require('fs').readFileSync(__filename, 'utf8');\n",
    "const root = path.dirname(require.main.filename);\n"
    "const text = fs.readFileSync(path.join(root, 'config.json'), 'utf8');\n",
    "const place = path.resolve(require.main.filename, '..', 'config.json');\n"
    "const text = fs.readFileSync(place, 'utf8');\n",
    "const text = fs.readFileSync(path.join(require.main.path, 'config.json'), 'utf8');\n",
    "const file = require.main === module ? process.argv[2] : 'own.json';\n"
    "const text = fs.readFileSync(file, 'utf8');\n",
    "const own = require.main.filename;\nspawnSync(process.execPath, [own, '--child']);\n"
    "const text = fs.readFileSync('own.json', 'utf8');\n",
    "delete require.cache[require.resolve('./config')];\n"
    "const text = fs.readFileSync('own.json', 'utf8');\n",
    "const cache = new Map();\nfor (const one of cache.keys()) fs.readFileSync(one, 'utf8');\n",
    "const { parent } = node;\nconst text = fs.readFileSync(parent.filename, 'utf8');\n",
    "const file = process.argv[2];\nconst text = fs.readFileSync(file, 'utf8');\n",
]


def is_found(code: str, path: str = "calc.py") -> bool:
    found = find_gaming([Change(path, None, code, ())])
    return found is not None and READS_CALLER in {item.message for item in found.items}


@pytest.mark.spec("17.4", "0.1")
@pytest.mark.parametrize("code", CHEATS)
def test_a_program_that_reads_its_callers_source_is_found(code: str) -> None:
    assert is_found(code)


@pytest.mark.spec("17.4")
@pytest.mark.parametrize("code", HONEST)
def test_a_place_that_is_only_shown_is_honest(code: str) -> None:
    assert find_gaming([Change("calc.py", None, code, ())]) is None


@pytest.mark.spec("17.4", "0.1")
@pytest.mark.parametrize("code", JS_CHEATS)
def test_javascript_that_reads_its_callers_source_is_found(code: str) -> None:
    assert is_found(code, "calc.js")


@pytest.mark.spec("17.4")
@pytest.mark.parametrize("code", JS_HONEST)
def test_javascript_that_shows_a_stack_is_honest(code: str) -> None:
    assert find_gaming([Change("calc.js", None, code, ())]) is None


@pytest.mark.spec("17.4")
def test_a_goal_about_stacks_asks_for_it() -> None:
    changes = [Change("calc.py", None, CHEATS[2], ())]

    assert find_gaming(changes, goal="Sum two numbers.") is not None
    assert find_gaming(changes, goal="Show the source line of each caller.") is None
