import { HapaxError } from "../errors.js";

/** One step into a value: a property or a Map's string key, an array's index, or an entry that has no name. */
export type Step = string | number | { readonly entry: number };

/** Why a value is refused: what it is, and what its owner can do about it. */
export interface Refusal {
  /** Follows the path: `is a function`. */
  readonly found: string;
  /** A sentence of its own. */
  readonly wayOut: string;
  readonly cause?: unknown;
}

export function unserializable(root: string, steps: readonly Step[], { found, wayOut, cause }: Refusal): HapaxError {
  return new HapaxError("unserializable", `${showPath(root, steps)} ${found}. ${wayOut}`, { cause });
}

/** A deep path shows its two ends: where to start looking, and what was found there. */
const STEPS_SHOWN_MAX = 16;
const NAME_CHARACTERS_MAX = 40;

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** `payload.items[3].total`. Names are shown, values never: they may be secret. */
function showPath(root: string, steps: readonly Step[]): string {
  if (steps.length <= STEPS_SHOWN_MAX) return root + steps.map(showStep).join("");
  const half = STEPS_SHOWN_MAX / 2;
  return `${root}${steps.slice(0, half).map(showStep).join("")} … ${steps.slice(-half).map(showStep).join("")}`;
}

function showStep(step: Step): string {
  if (typeof step === "number") return `[${step}]`;
  if (typeof step === "object") return `<entry ${step.entry}>`;
  const name = step.length <= NAME_CHARACTERS_MAX ? step : `${step.slice(0, NAME_CHARACTERS_MAX)}…`;
  return IDENTIFIER.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

/** Everything that has no form. Each of these would otherwise look like something else, or like nothing. */
export const REFUSED = {
  function: { found: "is a function, which has no text form", wayOut: "Leave it out, or pass what it returns." },
  symbol: { found: "is a symbol, which has no text form", wayOut: "Pass a string instead." },
  symbolKey: { found: "has a symbol as a key, which has no text form", wayOut: "Use string keys." },
  cycle: { found: "leads back to an object that contains it", wayOut: "Pass data without cycles." },
  tooDeep: { found: "is nested deeper than 500 levels", wayOut: "Pass a flatter value, or a hash of it." },
  notANumber: { found: "is NaN, which JSON cannot tell from null", wayOut: "Pass null or a finite number." },
  infinite: { found: "is infinite, which JSON cannot tell from null", wayOut: "Pass a string or a finite number." },
  invalidDate: { found: "is an invalid Date", wayOut: "Pass null or a valid Date." },
  promise: { found: "is a Promise", wayOut: "Await it first." },
  loneSurrogate: {
    found: "holds half a surrogate pair, which UTF-8 cannot tell from others of its kind",
    wayOut: "Repair the text with toWellFormed(), or pass its bytes.",
  },
  loneSurrogateKey: {
    found: "has half a surrogate pair in its name, which UTF-8 cannot tell from others of its kind",
    wayOut: "Repair the name with toWellFormed().",
  },
  noFields: {
    found: "is an instance of a class without enumerable fields, and would look like {}",
    wayOut: "Give its class a toJSON or a toString, or pass plain data.",
  },
  unknownBinary: {
    found: "is a kind of binary data that hapax does not know",
    wayOut: "Pass a Uint8Array over the same bytes.",
  },
  transferred: {
    found: "is memory that was transferred away, and would look empty",
    wayOut: "Take the key before the transfer, or pass a copy.",
  },
  throwingToJson: { found: "has a toJSON that throws (see `cause`)", wayOut: "Repair it, or pass plain data." },
  throwingToString: { found: "has a toString that throws (see `cause`)", wayOut: "Repair it, or pass plain data." },
  selfReturningToJson: {
    found: "has a toJSON that returns the object itself",
    wayOut: "Return plain data from it, such as { ...this }.",
  },
  unreadable: {
    found: "could not be read: a getter or a Proxy threw (see `cause`)",
    wayOut: "Pass plain data instead of a live object.",
  },
} as const;
