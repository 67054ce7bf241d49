"""Processes, sockets, memory and the machine's own switches."""

from __future__ import annotations

from tests.security.attack import STOPPED, Attack, Detected, NotTried, Open

THEIRS = "sk-neighbour-19c04b"
# A process of the person's, with a key in its variables.
HELPER = f"NEIGHBOUR_TOKEN={THEIRS}$FOLDER setsid sleep 100 >/dev/null 2>&1 & echo $! > $FOLDER/helper-$NAME"
# No other test's.
FIND = "for p in /proc/[0-9]*; do grep -qsa NEIGHBOUR_TOKEN=[^/]*$FOLDER $p/environ && kill {how} ${{p#/proc/}}; done"
# Listens at a path and leaves a mark when a client connects.  The address of a socket has at most
# 107 bytes and the folder of a test may have more: the server names it through a short link, since
# the sandbox knows sockets by their absolute paths, and the client enters its folder.
SERVER = """\
cat > $FOLDER/server-$NAME.py <<'END'
import pathlib, socket, sys
address, link, mark, ready = map(pathlib.Path, sys.argv[1:])
address.parent.mkdir(parents=True, exist_ok=True)
link.symlink_to(address.parent)
listener = socket.socket(socket.AF_UNIX)
listener.bind(str(link / address.name))
listener.listen()
ready.touch()
line, _ = listener.accept()
line.send(b"TOKEN")
mark.touch()
END
setsid "$PY" $FOLDER/server-$NAME.py "{at}" $LINKS/$NAME $MARKS/$NAME $FOLDER/ready-$NAME \\
  >$FOLDER/server-$NAME.log 2>&1 &
echo $! > $FOLDER/helper-$NAME
for i in $(seq 100); do test -e $FOLDER/ready-$NAME && break; sleep 0.05; done
test -e $FOLDER/ready-$NAME || { cat $FOLDER/server-$NAME.log >&2; false; }
"""
CONNECT = """\
"$PY" -c 'import os, socket, sys
folder, name = os.path.split(sys.argv[1])
os.chdir(folder)
line = socket.socket(socket.AF_UNIX)
line.connect(name)
print(line.recv(99))' "{at}"
"""
SOCKETS = {
    "ssh-agent": "$PERSON/.ssh/agent.sock",
    "password-manager": "$PERSON/.1password/agent.sock",
    "docker": "$PERSON/.colima/default/docker.sock",
    "credential-cache": "$PERSON/.git-credential-cache/socket",
    "beside-the-repository": "$FOLDER/tool.sock",
}
NO_WALL = "a process may do this to any process of the same user; only the sandbox stops it"

ATTACKS = (
    Attack(
        "process-double-fork",
        "leaves a process that forked twice, with its own session and no variables",
        "(setsid env -i \"$PY\" -c 'import time; time.sleep(60)' >/dev/null 2>&1 &) ; sleep 0.2",
        off=STOPPED,
    ),
    Attack(
        "process-ignores",
        "leaves a process that ignores every signal it can and keeps forking",
        '"$PY" -c \'import os, signal, time\n'
        "for s in (1, 2, 3, 13, 15, 18, 20): signal.signal(s, signal.SIG_IGN)\n"
        "for _ in range(20):\n"
        "    if os.fork(): os._exit(0)\n"
        "    os.setsid()\n"
        "time.sleep(60)' >/dev/null 2>&1 & sleep 0.3",
        off=STOPPED,
    ),
    Attack(
        "process-storm",
        "starts 200 processes and leaves them",
        "for i in $(seq 200); do sleep 60 & done; disown -a",
        off=STOPPED,
        apart=True,
    ),
    Attack(
        "process-stopped",
        "stops itself after leaving a stopped process",
        "sleep 60 & kill -STOP $!; disown -a",
        off=STOPPED,
    ),
    Attack(
        "process-kill",
        "kills a process of the person",
        FIND.format(how="-9"),
        "test ! -e $FOLDER/alive-$NAME",
        before=HELPER,
        off=Open(NO_WALL),
        beside="machine-open-1",
    ),
    Attack(
        "process-ptrace",
        "attaches to a process of the person",
        '"$PY" -c \'import ctypes, os, pathlib, sys\n'
        "lib = ctypes.CDLL(None, use_errno=True)\n"
        'for p in pathlib.Path("/proc").iterdir():\n'
        '    try: found = p.name.isdigit() and b"NEIGHBOUR_TOKEN=" in (e := (p / "environ").read_bytes()) and sys.argv[1].encode() in e\n'
        "    except OSError: found = False\n"
        '    if found and lib.ptrace(16, int(p.name), 0, 0) == 0: print("TAKEN")\' $FOLDER > $NAME.loot',
        "grep -q TAKEN $CLONE/$NAME.loot",
        before=HELPER,
        off=Open(NO_WALL),
        beside="machine-open-2",
    ),
    Attack(
        "process-environ",
        "reads keys from the variables of other processes",
        "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep NEIGHBOUR > $NAME.loot",
        f"grep -q {THEIRS} $CLONE/$NAME.loot",
        before=HELPER,
        off=Open("`/proc` shows the variables of every process of the same user"),
        beside="machine-open-2",
    ),
    Attack(
        "process-root",
        "accesses files through /proc/PID/root and /proc/PID/cwd",
        "for p in /proc/[0-9]*; do echo evil > $p/root$PERSON/precious; "
        "echo evil > $p/cwd/../../../../../..$PERSON/precious; done 2>/dev/null",
        "grep -q evil $PERSON/precious",
        off=Open("the agent can write the file directly"),
        beside="machine-open-1",
    ),
    Attack(
        "process-descriptors",
        "searches for inherited descriptors of the worker",
        "ls -l /proc/self/fd /proc/$$/fd 2>/dev/null | grep -o '> .*' | "
        "grep -Ev 'pipe:|anon_inode|/dev/null|out.log|err.log|/fd$|loot|/proc' > $NAME.loot",
        "test -s $CLONE/$NAME.loot",
        off=STOPPED,
    ),
    Attack(
        "process-shim",
        "kills its shim",
        "kill -9 $PPID; sleep 1",
        off=STOPPED,
        lands=None,
    ),
    Attack(
        "process-shim-stopped",
        "stops its shim for a second",
        '(setsid sh -c "sleep 1; kill -CONT $PPID" &) ; kill -STOP $PPID; sleep 1.2',
        off=STOPPED,
        lands=None,
    ),
    Attack(
        "process-nice",
        "raises its own priority and lowers that of others",
        "for p in /proc/[0-9]*; do grep -qsa NEIGHBOUR_TOKEN=[^/]*$FOLDER $p/environ && "
        "renice -n 19 -p ${p#/proc/} && echo RENICED > $NAME.loot; done; touch $NAME.loot",
        "grep -q RENICED $CLONE/$NAME.loot",
        before=HELPER,
        off=Open(NO_WALL),
        beside="machine-open-2",
    ),
    Attack(
        "process-later",
        "asks cron, at and systemd to start something later",
        'echo "touch $MARK" | at now; echo "* * * * * touch $MARK" | crontab -; '
        "systemd-run --user touch $MARK; systemd-run touch $MARK; "
        "busctl --user list; dbus-send --session --dest=org.freedesktop.systemd1 / x.y",
        off=NotTried("it would change the services of the machine that runs the tests"),
    ),
    Attack(
        "process-cgroup",
        "makes a control group and moves itself into another",
        "mkdir /sys/fs/cgroup/evil; echo $$ > /sys/fs/cgroup/cgroup.procs; "
        "mount -t cgroup2 none $TMPDIR; mount -t proc proc $TMPDIR",
        "test -d /sys/fs/cgroup/evil",
        off=NotTried("root would move the tests out of their own group"),
    ),
    Attack(
        "process-switches",
        "writes kernel settings",
        "echo 1 > /proc/sys/vm/drop_caches; echo '|/bin/true' > /proc/sys/kernel/core_pattern; "
        "echo h > /proc/sysrq-trigger; echo evil > /proc/sys/kernel/hostname; hostname evil; "
        "echo -17 > /proc/1/oom_adj",
        "grep -q '|/bin/true' /proc/sys/kernel/core_pattern || test $(hostname) = evil",
        off=NotTried("it would change the machine that runs the tests"),
    ),
    Attack(
        "process-devices",
        "creates devices and reads the machine's disks",
        "mknod disk b 252 0; mknod mem c 1 1; dd if=/dev/vda of=$NAME.loot bs=512 count=1; "
        "dd if=/dev/mem of=$NAME.loot bs=512 count=1; rm -f disk mem",
        "test -s $CLONE/$NAME.loot",
        off=NotTried("root would read the disk of the machine that runs the tests"),
    ),
    Attack(
        "process-shared-memory",
        "leaves files in shared memory",
        "echo evil > /dev/shm/$NAME-$(basename $FOLDER)",
        "ls /dev/shm/$NAME-$(basename $FOLDER) && rm /dev/shm/$NAME-$(basename $FOLDER)",
        off=Open("temporary folders are shared by all programs"),
        beside="machine-open-1",
    ),
    Attack(
        "process-temporary",
        "leaves a program in the shared temporary folder",
        "echo evil > /var/tmp/$NAME-$(basename $FOLDER)",
        "ls /var/tmp/$NAME-$(basename $FOLDER) && rm /var/tmp/$NAME-$(basename $FOLDER)",
        off=Open("temporary folders are shared by all programs"),
        beside="machine-open-1",
    ),
    Attack(
        "process-shell-files",
        "writes the start-up files of the person's shell",
        "for f in .bashrc .profile .zshenv .config/fish/config.fish .pythonrc; do "
        'mkdir -p $(dirname $PERSON/$f); echo "touch $MARK" >> $PERSON/$f; done',
        "grep -qs touch $PERSON/.bashrc",
        off=Open("files of the person's home are not examined, except settings of git and agents"),
        beside="machine-open-1",
    ),
    Attack(
        "process-git-settings",
        "writes the person's git settings",
        'git config --file $PERSON/.gitconfig core.fsmonitor "touch $MARK; false"',
        "grep -q fsmonitor $PERSON/.gitconfig",
        off=Detected("report", r"\.gitconfig"),
        apart=True,
    ),
    Attack(
        "process-agent-settings",
        "writes a hook into the settings of the person's agent",
        'echo \'{"hooks": {"Stop": []}}\' > $PERSON/.claude/settings.json',
        "grep -q hooks $PERSON/.claude/settings.json",
        off=Detected("report", r"\.claude/settings\.json"),
        apart=True,
        beside="machine-open-2",
    ),
    *(
        Attack(
            f"socket-{name}",
            f"connects to a program of the person through its socket ({name})",
            CONNECT.replace("{at}", at),
            before=SERVER.replace("{at}", at),
            off=Open("a socket of the same user is open to every process of the user"),
            beside="machine-open-1",
        )
        for name, at in SOCKETS.items()
    ),
)
