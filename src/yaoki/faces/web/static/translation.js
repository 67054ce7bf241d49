// Translates the server's English sentences to the language of the page: journal entries, waits,
// states.  A sentence without a translation is shown in English.

import { seconds as duration } from "./amounts.js";
import { language, matchSentence, named, number, serverWords, t } from "./words.js";

const CHARS = 160;
// Spaces inside a line stay: a failed comparison may be about them.
const line = (text) => {
  const one = String(text ?? "").split(/[^\S ]/).map((part) => part.trim()).filter(Boolean).join(" ");
  return one.length > CHARS ? `${one.slice(0, CHARS - 1)}…` : one;
};
const shortCommit = (commit) => String(commit).slice(0, 10);

/** A pattern with its placeholders filled; empty without a pattern or a value. */
function fillPattern(key, values = {}) {
  const pattern = serverWords(key);
  if (!pattern) return "";
  const missing = [...pattern.matchAll(/\{(\w+)\}/g)].some(([, name]) => values[name] === undefined || values[name] === null);
  return missing ? "" : pattern.replace(/\{(\w+)\}/g, (_, name) => number(values[name]));
}

const DEEP = 3;
const SENTENCE_MAX = 2_500;

/** Translates a whole sentence, and sentences inside its placeholders. */
export function translate(words, deep = DEEP) {
  const found = language !== "en" && deep > 0 && words && words.length <= SENTENCE_MAX && matchSentence(words);
  if (!found) return words;
  return found.other.replace(/\{(\w+)\}/g, (_, name) => translate(found.places[name] ?? "", deep - 1));
}

export const ruleWords = ({ rule, rule_words: words }) => serverWords(`rule.${rule}`) || words;

// ---------------------------------------------------------------- the journal

/** Translates a journal entry; one without its data stays in English. */
export function entryWords(entry) {
  if (language === "en" || !entry.words || entry.cut) return entry.words;
  try {
    const [ending, values, notes = []] = (PARTS[entry.event] || allData)(entry.data, entry.words);
    const words = fillPattern(`story.${entry.event}${ending}`, values);
    return words ? words + noteWords(notes) + failureSuffix(entry) : entry.words;
  } catch {
    // An entry of another version may lack a field.
    return entry.words;
  }
}

const allData = (data) => ["", data];

/** Further facts of an entry: `[key, values]` of each that it has. */
const noteWords = (notes) => notes.filter(Boolean).map(([key, values]) => fillPattern(`note.${key}`, values)).join("");
const channelNote = (how) => how && ["how", { how }];
const messageNote = (message) => message && ["message", { message: line(message) }];

function failureSuffix({ event, data }) {
  const bad = event === "CHECK_FINISHED" && ["FAILED", "BROKEN"].includes(data.outcome);
  return bad && data.message ? `: ${line(data.message)}` : "";
}

/** What failed first, then its kind and pattern; not translated. */
function describeFailure(failure) {
  const codes = [failure.kind, failure.pattern].filter(Boolean).join(", ");
  const [first, ...others] = failure.items || [];
  const parts = first ? [first.name, first.message] : [failure.check, failure.message];
  const words = line(parts.filter(Boolean).join(": "));
  const all = others.length ? fillPattern("more", { words, n: others.length }) || words : words;
  return `${all} (${codes})`;
}

/** Why no retry follows. */
function endOfRetries(blocked, { why = {} }) {
  const ended = blocked !== "NEEDS_HUMAN" && why.inputs?.retries_ended;
  return ended ? translate(ended) : named("reason", blocked);
}

/** Why no re-run from the run branch follows, where the reason does not say it. */
function noRerunNote(blocked, { why = {}, reason }) {
  if (["NEEDS_HUMAN", "MAX_RETRIES_INTEGRATION"].includes(blocked)) return null;
  if (why.rule === "8.4") return ["rerun", { why: translate(reason.description) }];
  return blocked === "CONFLICT" && ["conflict", {}];
}

const translateReason = (words) => serverWords(`why.${words}`) || line(words);

const PARTS = {
  AGENT_FINISHED: ({ exit, changed = 0, by_person: byPerson, person_file_count: n = changed }) => {
    if (byPerson) return [n ? ".person" : ".unchanged", { n }];
    const unstarted = exit.code === undefined || exit.code === null;
    const how = exit.ended_by ? ".ended" : exit.signal ? ".signal" : unstarted ? ".unstarted" : ".code";
    return [how, { by: exit.ended_by, signal: exit.signal, code: String(exit.code), time: duration(exit.seconds || 0), n: changed }];
  },
  ATTEMPT_STARTED: ({ fresh, agent, account }) => [agent === "person" ? ".person" : `${fresh ? ".fresh" : ""}${account || agent ? ".agent" : ""}`, { agent: account || agent }],
  BUDGET_WARNING: ({ message }) => ["", { message }],
  CANDIDATE_FAILED: ({ failure }) => ["", { failure: describeFailure(failure) }],
  CANDIDATE_RETIRED: ({ won, saved_ref: saved }) => [won ? ".won" : "", {}, [saved && ["saved", { ref: shortCommit(saved) }]]],
  CANDIDATE_SETTLED: ({ name, agent, outcome, message }) => [agent ? ".agent" : "", { name, agent, outcome: named("ended", outcome.toUpperCase()) }, [messageNote(message && translate(message))]],
  CHECKOUT_CHANGED: ({ message }) => ["", { message: translate(message) }],
  CHECKOUT_FILES_ADDED: ({ message }) => ["", { message: translate(message) }],
  CHECKS_REVISED: ({ revision, proof_is_void: again }) => ["", { revision: revision.number }, [again && ["again"]]],
  CHECK_FINISHED: ({ check, outcome, seconds, rerun_seconds: reruns = [], required = true, ...data }) => [required ? "" : ".optional", { check, outcome: named("outcome", outcome), time: [seconds || 0, ...reruns].map(duration).join(" + ") }, checkNotes(data)],
  ESCALATE_DECISION: ({ failure, blocked, ...data }) => ["", { failure: describeFailure(failure), reason: endOfRetries(blocked, data) }, [noRerunNote(blocked, data)]],
  ESCALATION_ANSWERED: ({ choice, check, words, how }) => ["", { choice: line([named("choice", choice), check, words].filter(Boolean).join(" ")) }, [channelNote(how)]],
  JOINT_PROOF_FAILED: ({ tasks, why }) => ["", { n: tasks.length, names: tasks.join(t("comma")), why: line(why) }],
  JUDGE_CALLED: ({ agent, works }) => ["", { agent, n: works.length, names: works.map(({ name }, at) => `${String.fromCharCode(65 + at)} = ${name}`).join(t("comma")) }],
  JUDGE_ENDED: ({ judgment = {}, failure }) => [judgment.choice ? ".chose" : failure ? "" : ".stopped", { ...judgment, failure: failure && describeFailure(failure) }],
  JUDGE_SETTLED: ({ agent, judgment = {}, message }) => [judgment.choice ? ".chose" : "", { agent, ...judgment, message: message && translate(message) }],
  LAND_REFUSED: ({ head, why, cause = why ? "companion" : "moved" }) => [cause === "moved" ? "" : `.${cause}`, { head: shortCommit(head) }],
  LEASE_EXPIRED: (data) => ["", { why: translateReason(data.why || "the lease ran out") }],
  PHASE_REFUSED: ({ phase, defects }) => ["", { phase, defect: defects[0] }],
  PLAN_RECHECKED: ({ revision, checks, rules = {}, landed_before: landed = [] }) => ["", { revision, checks: [...checks, ...Object.keys(rules)].join(t("comma")) }, [landed.length && ["landed", { names: landed.join(t("comma")) }]]],
  QUALITY_JUDGMENT: ({ commit, unchanged, checks = {} }, words) => {
    const outcomes = Object.values(checks);
    const waived = outcomes.includes("WAIVED"), passed = outcomes.includes("PASSED");
    const ending = waived && !passed ? ".accepted" : unchanged ? ".unchanged" : "";
    return [ending, { commit: shortCommit(commit) }, [waived && passed && ["waived"], words.includes("no check tells") && ["indistinct"]]];
  },
  RACE_DECIDED: ({ winner, criterion, why }) => [winner ? ".won" : "", { winner: why.inputs.winner, reason: winner ? named("criterion", criterion) : "" }],
  RACE_STARTED: ({ candidates = [] }) => ["", { n: candidates.length }],
  MERGE_REFUSED: ({ branch, failure }) => ["", { branch, failure: translate(failure) }],
  RECONCILED: ({ mismatch = "mismatch", repair = "repaired", tasks = [] }) => [tasks.length ? ".tasks" : "", { mismatch: translate(mismatch), repair: translate(repair), n: tasks.length }],
  RECOVERY_COMPLETE: ({ strategy, left_out_subtasks: left = [] }) => [left.length ? ".partial" : "", { strategy, n: left.length }],
  RECOVERY_START: ({ strategy, failed_subtasks: lost = [] }) => ["", { strategy, n: lost.length }],
  RERUN_GRANTED: ({ head }) => ["", { head: shortCommit(head) }],
  RERUN_HELD: ({ failure, blocked, why = {} }) => {
    const byLimit = blocked !== "MAX_RETRIES" || (why.rule || "5.1") === "5.1";
    return ["", { failure: describeFailure(failure), reason: byLimit ? named("reason", blocked) : translate(why.inputs.reasoning) }];
  },
  RESULT_NOTED: ({ status, summary, question }) => ["", { status, words: line(summary || question) }],
  RETRY_DECISION: ({ failure, delay_ms: delay, strategy }) => {
    const other = ["fresh", "next-agent"].includes(strategy);
    const waits = !other && failure.account_problem && !delay;
    const ending = failure.stopped_on_request ? ".stopped" : failure.kind === "LOST" ? ".lost" : other ? `.${strategy}` : waits ? ".account" : "";
    return [ending, { failure: describeFailure(failure), time: duration(delay / 1000) }];
  },
  RUN_FORECAST: ({ seconds, agent_runs: runs }) => ["", { time: duration(seconds.middle), late: duration(seconds.high), n: Math.round(runs.middle), most: Math.round(runs.high) }],
  RUN_MERGED: ({ branch, commit, how, unproven }) => [unproven ? ".unproven" : "", { branch, commit: shortCommit(commit), how }],
  RUN_RESUMED: ({ was, how }) => ["", { was }, [channelNote(how)]],
  SNAPSHOT_RESTORE: ({ snapshot_id: snapshot }) => ["", { snapshot }],
  TASKS_PLANNED: ({ names = [] }) => ["", { n: names.length, names: line(names.slice(0, 10).join(", ")) }],
  TASK_BLAMED: ({ culprit, partners = [], looked: n }) => [partners.length ? ".partners" : "", { culprit, partners: partners.join(", "), n }],
  TASK_BLOCKED: ({ dependents: n }) => ["", { n }],
  TASK_CANCELLED: ({ kept }) => [kept ? ".kept" : "", { kept: kept && shortCommit(kept) }],
  TASK_LANDED: ({ commit, already, taken_along_by, is_verification }) => [
    is_verification ? ".verified" : taken_along_by ? ".together" : already ? ".already" : "",
    { commit: shortCommit(commit), leader: taken_along_by },
    [already && taken_along_by && !is_verification && ["unchanged"]],
  ],
  TASK_REPLACED: ({ by, why = "" }) => [by ? "" : ".why", { by, why }],
  TASK_REVIVED: ({ dependents: n }) => ["", { n }],
  WAIT_ENDED: ({ account, retried_task: retried, words, how }) => [retried ? ".account" : "", { account }, [channelNote(how), !retried && messageNote(words)]],
};

/** What a check found besides its outcome. */
function checkNotes({ tests, known = [], known_count: knownCount = known.length, reused, fail_to_pass: red = [], mutants, quarantined = [], hidden }) {
  return [
    typeof tests === "number" && tests > 0 && ["tests", { n: tests }],
    knownCount > 0 && ["known", { n: knownCount }],
    red.length > 0 && ["red", { n: red.length }],
    reused && ["reused", { commit: shortCommit(reused.commit), task: reused.task }],
    mutants && ["mutants", mutants],
    quarantined.length > 0 && ["quarantined", { tests: quarantined.map((one) => fillPattern("quarantined", one)).join(t("comma")) }],
    hidden && ["hidden", {}],
  ];
}

// ---------------------------------------------------------------- tasks

/** What a task waits for. */
export function waitWords({ waits, waits_for: words }) {
  if (language === "en" || !waits) return words || "";
  const joined = waits.names.join(t("comma"));
  const names = waits.names_left_out ? fillPattern("more", { words: joined, n: waits.names_left_out }) : joined;
  return fillPattern(`waits.${waits.cause}`, { names, account: waits.account, time: waits.seconds === null ? null : duration(waits.seconds) }) || words || "";
}

/** Details of a task's state, beside the word for it. */
export function headline({ headline: words, task }) {
  if (language === "en") return words;
  const values = { commit: task.landed && shortCommit(task.landed), reason: named("reason", task.reason), stage: named("stage", task.stage), attempt: task.attempt, cause: task.waits?.names[0] };
  if (task.state === "WAITING") return task.reason === "DEPENDENCY_FAILED" ? fillPattern("headline.BLOCKED", values) : waitWords(task);
  const undone = task.state === "CANCELLED" && task.reason === "MANUAL";
  const ending = undone ? ".undone" : task.state === "ACTIVE" && task.cancel_wanted ? ".ending" : "";
  return fillPattern(`headline.${task.state}${ending}`, values);
}
