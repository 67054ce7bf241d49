// The session: permission and repository; set once before the first view is drawn.

export const session = { may: "look", repository: "", version: "", has_store: false, newest: null, language: "en" };

export const mayAct = () => session.may === "act";

// `-` in an address is the run that was opened last, until a newer one starts.
const looked = { run: "", newest: "" };

export function looksAt(run, newest) {
  Object.assign(looked, { run, newest });
}

export const lastRun = (newest) => (looked.run && looked.newest === newest ? looked.run : newest);

/** An active run without a worker makes no progress. */
export const left = (run) => run.status === "ACTIVE" && run.carried === false;
