// Times, durations, money and sizes as people read them.

import { language, number, t } from "./words.js";
import { serverNow } from "./live.js";

const DAY = 86_400;

export function seconds(value) {
  if (value === null || value === undefined) return "";
  if (value < 10) return t("unit.s", { n: Math.round(value * 10) / 10 });
  const whole = Math.round(value);
  if (whole < 60) return t("unit.s", { n: whole });
  if (whole < 3_600) return t("unit.ms", { m: Math.floor(whole / 60), s: pad(whole % 60) });
  if (whole < DAY) return t("unit.hm", { h: Math.floor(whole / 3_600), m: pad(Math.floor(whole / 60) % 60) });
  return t("unit.dh", { d: Math.floor(whole / DAY), h: Math.floor(whole / 3_600) % 24 });
}

const pad = (value) => String(value).padStart(2, "0");

export function between(from, until) {
  return (until ? Date.parse(until) : serverNow()) / 1000 - Date.parse(from) / 1000;
}

export function ago(instant) {
  return t("ago", { time: seconds(Math.max(0, Math.round(between(instant)))) });
}

export function clock(instant) {
  const date = new Date(instant);
  const far = Math.abs(Date.now() - date) > DAY * 1000;
  const day = far ? { month: "short", day: "numeric" } : {};
  return date.toLocaleString(language, { ...day, hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}

/** Without seconds, for times that are only estimated. */
export function timeOfDay(instant) {
  const date = new Date(instant);
  const day = date.toDateString() === new Date().toDateString() ? {} : { month: "short", day: "numeric" };
  return date.toLocaleString(language, { ...day, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

export function moment(instant) {
  return new Date(instant).toLocaleString(language, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
}

/** An unreported cost is unknown; a partly reported sum is a lower bound. */
export function money(cost, untold = 0) {
  if (cost === null || cost === undefined) return t("unknown");
  const words = cost.toLocaleString(language, { style: "currency", currency: "USD", minimumFractionDigits: 2, maximumFractionDigits: cost < 1 ? 4 : 2 });
  return untold ? t("at.least", { amount: words }) : words;
}

export function tokens(count, untold = 0) {
  if (count === null || count === undefined) return t("unknown");
  const words = count >= 100_000 ? count.toLocaleString(language, { notation: "compact", maximumFractionDigits: 1 }) : number(count);
  return untold ? t("at.least", { amount: words }) : words;
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count) {
  if (count === null || count === undefined) return "";
  let power = 0;
  while (count >= 1024 && power < SIZES.length - 1) [count, power] = [count / 1024, power + 1];
  return `${number(power ? Math.round(count * 10) / 10 : count)} ${SIZES[power]}`;
}

export const percent = (share) => (share === null || share === undefined ? "" : `${Math.round(share * 100)} %`);
export const short = (commit) => (commit ? commit.slice(0, 10) : "");
