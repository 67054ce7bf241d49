// The session: permission and repository; set once before the first view is drawn.

export const session = { may: "look", repository: "", version: "", has_store: false, newest: null, language: "en" };

export const mayAct = () => session.may === "act";

// `-` in an address is the run that was opened last, until a newer one starts.
const remembered = { run: "", newest: "" };

export function rememberRun(run, newest) {
  Object.assign(remembered, { run, newest });
}

export const lastRun = (newest) => (remembered.run && remembered.newest === newest ? remembered.run : newest);

/** An active run without a worker makes no progress. */
export const lacksWorker = (run) => run.status === "ACTIVE" && run.carried === false;

const ENDS_IN_PART = ["DONE", "CANCELLED"];

/** The words for a run without open tasks; a part of it may have landed without the others. */
export function restKey(run) {
  const partly = ENDS_IN_PART.includes(run.status) && run.landed > 0 && run.landed < run.planned;
  return `rest.${run.status}${partly ? ".part" : ""}`;
}
