import { HapaxError, shownKey } from "../errors.js";
import { DURATION_MS_MAX } from "./limits.js";

/** Milliseconds, or a number with a unit: `"500ms" "30s" "10m" "24h" "7d"`. */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const FORM = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** Reads a duration; `option` is the name that an error shows. */
export function parseDurationMs(option: string, duration: unknown): number {
  const ms = toMs(duration);
  if (ms === undefined || Number.isNaN(ms)) {
    throw new HapaxError(
      "invalid-option",
      `${option} must be milliseconds or a duration such as "500ms", "30s", "10m", "24h", "7d"; got ${describe(duration)}.`,
    );
  }
  if (ms <= 0) throw new HapaxError("invalid-option", `${option} must be longer than zero; got ${describe(duration)}.`);
  if (ms > DURATION_MS_MAX) {
    throw new HapaxError("invalid-option", `${option} must be at most ten years; got ${describe(duration)}.`);
  }
  return Math.ceil(ms);
}

function toMs(duration: unknown): number | undefined {
  if (typeof duration === "number") return duration;
  if (typeof duration !== "string") return undefined;
  const [, amount, unit] = FORM.exec(duration) ?? [];
  if (amount === undefined || unit === undefined) return undefined;
  return Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
}

/** A wrong value as an error may show it: enough to recognise, never a payload. */
export function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(shownKey(value));
  return typeof value === "number" ? String(value) : value === null ? "null" : typeof value;
}
