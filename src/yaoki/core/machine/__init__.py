"""The state machine of a task: which events there are, when each may happen, what each changes.

    events       one class per event; `NAME` is its name in the journal.  Those of requests and
                 answers are in `request_events`, those of races in `race_events`, entries that
                 change no task in `journal_notes`
    legality     `legal(task, event)`: may this happen to the task now?
    evolution    `evolve(task, event)`: the task after the event; `replay` for old journals
    transitions  the changes that take more than a line
    codec        events and values to JSON data and back

Two questions, two functions
----------------------------
`core.decide` answers "what follows from what a stage saw?" with events.  This package answers "what
does an event make of the task?".  Both are pure, so the same journal always gives the same task.
`evolve` is the only way in which a task changes.  A store writes the new row and the event in one
transaction, so folding the journal gives the row; `yaoki doctor` checks that.

States
------
WAITING    No worker holds the task.  `waiting_for` says what must happen first: a claim, the one
           re-run when nothing else can be claimed, a decision in the same transaction, or the
           candidates of its race.
ACTIVE     One worker holds the lease.  `stage` names the next piece of work.
ESCALATED  A person is asked; `question` lists the possible answers.
DONE       The work is on the branch (`landed_commit`).  Final, unless a person undoes it or the
           final check finds that this landing broke something.
CANCELLED  A person gave the task up.
REPLACED   Another task does the work instead, or a newer final check proves the run.  A candidate
           ends here: its racing task lands the chosen work.

"Ready" and "blocked" are not states: they follow from the dependencies and are never stored, so
they cannot disagree with them.

Stages
------
PREPARE makes a worktree.  WORK runs the agent.  VERIFY merges the target branch and runs the
checks on that one commit.  LAND moves the branch to exactly the commit that was verified; if the
branch moved meanwhile, the task goes back to VERIFY.  A task without an agent (a check, a group)
skips WORK.

The stage is a fact about the task, not about a worker: when a worker dies, its lease expires, and
the next claim continues at the same stage.  That is the whole of crash recovery, so it runs every
day.

Who may move what
-----------------
* A worker moves an ACTIVE task, and only with its own lease.  Each claim has a new `epoch`, and the
  store refuses an event of an older one: a worker that slept through its lease cannot write.
* The store itself claims tasks (`Claimed`) and ends leases (`LeaseExpired`).
* A person answers a question (`Answered`), ends a wait (`WaitEnded`), and asks for what a worker
  then does: `CancelRequested`, `UndoRequested`.  A request is durable before anything acts on it;
  `request` holds it until then.
* The completion of a run moves WAITING tasks for which nothing else is left (`RerunGranted`,
  `Replaced`, `EscalationDecided`) and reverts landings that broke the final check.
* `RowRefused` drops a row that claims more than the journal and git prove.  It is legal in every
  state, because such a row may say anything; a question to a person follows at once.

`legal` is the last guard, whatever the rules and the store believe.  An illegal event raises
`IllegalEvent`: our own mistake, or a row that somebody edited.

What never happens
------------------
Counts never decrease: a person's answer gives a fresh budget by remembering what is forgiven.  The
epoch never decreases.  Nothing lands but the commit that passed.  A final state is left only by an
undo, a revert, a replacement of a final check, or a refused row.

docs/reference/state-machine.md draws the states and stages; it is generated from `legal`.
"""
