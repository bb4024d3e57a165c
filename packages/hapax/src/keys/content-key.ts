import { hash } from "node:crypto";
import { types } from "node:util";
import { HapaxError } from "../errors.js";
import { type CanonicalOptions, canonicalText, canonicalTextOf } from "./canonical.js";
import { compileExclude, stepInto } from "./exclude.js";
import { isPlainPrototype } from "./object-kind.js";

/** A SHA-256 in hexadecimal that says so. */
export type Sha256Key = `sha256:${string}`;

/**
 * The identity of a payload by its content: equal data, equal key, whatever the order of keys in its objects.
 *
 * @example
 * contentKey({ id: 17, total: 9.5, receivedAt: new Date() }, { exclude: ["receivedAt"] });
 * // the same as contentKey({ total: 9.5, id: 17 })
 */
export function contentKey(payload: unknown, options: CanonicalOptions = {}): Sha256Key {
  return sha256(canonicalText(payload, options));
}

/**
 * The identity of a call by its arguments. One argument is its own content key; for any other number the paths of
 * `exclude` start with the argument's index (`1.receivedAt`).
 */
export function argumentsKey(args: readonly unknown[], options: CanonicalOptions = {}): Sha256Key {
  const excluding = compileExclude(options.exclude);
  if (args.length === 1) return sha256(canonicalTextOf(args[0], excluding, "arguments[0]"));

  const texts: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const inside = excluding === undefined ? undefined : stepInto(excluding, String(index));
    if (inside === "excluded") continue;
    texts.push(canonicalTextOf(args[index], inside, `arguments[${index}]`));
  }
  // No JSON text starts with a parenthesis, so two arguments never look like one array of two.
  return sha256(`(${texts.join(",")})`);
}

function sha256(text: string): Sha256Key {
  return `sha256:${hash("sha256", text, "hex")}`;
}

/** What a composite key is made of. */
export type KeyPart = string | number | bigint | boolean | Date;

export type CompositeKey = readonly KeyPart[] | { readonly [name: string]: KeyPart };

/** A composite key up to this length stays readable; a longer one becomes a hash. */
export const COMPOSITE_KEY_BYTES_MAX: number = 200;

/** The identity of a business operation by the parts that name it: `["invoice", 17]` or `{ order: 17, line: 3 }`. */
export function compositeKey(parts: CompositeKey): string {
  checkParts(parts);
  const text = canonicalText(parts);
  return Buffer.byteLength(text) <= COMPOSITE_KEY_BYTES_MAX ? text : sha256(text);
}

function checkParts(parts: unknown): void {
  if (typeof parts !== "object" || parts === null || !isArrayOrPlain(parts)) {
    throw new HapaxError("invalid-key", "A composite key must be an array of parts or a plain object of named parts.");
  }
  let count = 0;
  for (const [name, part] of Array.isArray(parts) ? parts.entries() : Object.entries(parts)) {
    const fault = faultOf(part);
    if (fault !== undefined) throw invalidPart(name, fault);
    count++;
  }
  if (count === 0) throw new HapaxError("invalid-key", "A composite key needs at least one part, or all would be one.");
}

function isArrayOrPlain(parts: object): boolean {
  return Array.isArray(parts) || isPlainPrototype(Object.getPrototypeOf(parts));
}

/** A missing part is refused: `["order", undefined]` would make one key of all orders whose number was forgotten. */
function faultOf(part: unknown): string | undefined {
  switch (typeof part) {
    case "string":
      if (part === "") return "is empty";
      return part.isWellFormed() ? undefined : "holds half a surrogate pair";
    case "number":
      return Number.isFinite(part) ? undefined : "is not a finite number";
    case "bigint":
    case "boolean":
      return undefined;
    case "undefined":
      return "is undefined";
    default:
      if (part === null) return "is null";
      if (!types.isDate(part)) return "is not a string, number, bigint, boolean or Date";
      return Number.isNaN(part.getTime()) ? "is an invalid Date" : undefined;
  }
}

function invalidPart(name: string | number, fault: string): HapaxError {
  const shown = typeof name === "number" ? `[${name}]` : JSON.stringify(name.slice(0, 40));
  return new HapaxError("invalid-key", `Part ${shown} of a composite key ${fault}. Give every part, or leave it out.`);
}
