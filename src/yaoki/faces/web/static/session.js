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
