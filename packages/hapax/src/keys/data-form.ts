import { types } from "node:util";
import type { HapaxError } from "../errors.js";
import { binaryKind, isBinary, toBase64 } from "./binary.js";
import { type Excluding, stepInto } from "./exclude.js";
import { hasSymbolKey, hasTextOfItsOwn, hasToJson, isPlainPrototype, unbox } from "./object-kind.js";
import { REFUSED, type Refusal, type Step, unserializable } from "./refusals.js";
import { DEPTH_MAX, escapeKey, type Json, setOwn, tagged, UNDEFINED_FORM } from "./tag.js";

/** The way back, so that whoever needs both finds both here. */
export { fromDataForm } from "./from-data-form.js";

export interface DataFormOptions {
  /** What errors call the value itself. Default: `payload`. */
  readonly root?: string;
  /** Leaves out what these patterns match, without looking at it. */
  readonly excluding?: Excluding | undefined;
  /** Puts the entries of a Map or Set in an order that does not depend on insertion. Default: as they were inserted. */
  readonly sortEntries?: (entries: Json[]) => Json[];
}

/**
 * The value as pure JSON: plain JSON stays itself, all else becomes `{"$hapax": [kind, data]}` and comes back through
 * {@link fromDataForm}. Two values that differ have forms that differ; what has no form is refused with its path.
 */
export function toDataForm(value: unknown, options: DataFormOptions = {}): Json {
  const walk: Walk = {
    root: options.root ?? "payload",
    sortEntries: options.sortEntries,
    steps: [],
    ancestors: [],
    thrown: undefined,
  };
  try {
    return formOf(walk, value, options.excluding, 1);
  } catch (error) {
    if (error === walk.thrown) throw error;
    // Not ours: a getter or a Proxy threw. The steps still stand where it happened.
    throw refuse(walk, { ...REFUSED.unreadable, cause: error });
  }
}

/** One walk's state. Steps are kept as they are and become a text only when an error needs it. */
interface Walk {
  readonly root: string;
  readonly sortEntries: ((entries: Json[]) => Json[]) | undefined;
  readonly steps: Step[];
  /** The objects around the present one: meeting one of them again is a cycle, meeting any other twice is not. */
  readonly ancestors: object[];
  /** The error that this walk threw itself. */
  thrown: HapaxError | undefined;
}

function refuse(walk: Walk, refusal: Refusal): HapaxError {
  walk.thrown = unserializable(walk.root, walk.steps, refusal);
  return walk.thrown;
}

function formOf(walk: Walk, value: unknown, excluding: Excluding | undefined, depth: number): Json {
  switch (typeof value) {
    case "string":
      if (!value.isWellFormed()) throw refuse(walk, REFUSED.loneSurrogate);
      return value;
    case "number":
      if (!Number.isFinite(value)) throw refuse(walk, Number.isNaN(value) ? REFUSED.notANumber : REFUSED.infinite);
      return value;
    case "boolean":
      return value;
    case "bigint":
      return tagged("bigint", String(value));
    case "undefined":
      return UNDEFINED_FORM;
    case "object":
      return value === null ? null : containerForm(walk, value, excluding, depth);
    default:
      throw refuse(walk, typeof value === "function" ? REFUSED.function : REFUSED.symbol);
  }
}

function containerForm(walk: Walk, value: object, excluding: Excluding | undefined, depth: number): Json {
  if (walk.ancestors.includes(value)) throw refuse(walk, REFUSED.cycle);
  if (depth > DEPTH_MAX) throw refuse(walk, REFUSED.tooDeep);
  walk.ancestors.push(value);
  const form = objectForm(walk, value, excluding, depth);
  walk.ancestors.pop();
  return form;
}

/** The order matters: a Date and a Buffer have a toJSON too, and a decimal has both a toJSON and a toString. */
function objectForm(walk: Walk, value: object, excluding: Excluding | undefined, depth: number): Json {
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype) {
    const form = builtInForm(walk, value, excluding, depth);
    if (form !== undefined) return form;
  }
  if (hasToJson(value)) return toJsonForm(walk, value, excluding, depth);
  if (Array.isArray(value)) return listForm(walk, value, excluding, depth);
  if (hasTextOfItsOwn(value)) return textForm(walk, value);
  return recordForm(walk, value, prototype, excluding, depth);
}

function builtInForm(walk: Walk, value: object, excluding: Excluding | undefined, depth: number): Json | undefined {
  if (types.isDate(value)) {
    if (Number.isNaN(Date.prototype.getTime.call(value))) throw refuse(walk, REFUSED.invalidDate);
    return tagged("date", Date.prototype.toISOString.call(value));
  }
  if (types.isMap(value)) return mapForm(walk, value, excluding, depth);
  if (types.isSet(value)) return setForm(walk, value, depth);
  if (isBinary(value)) return binaryForm(walk, value);
  if (value instanceof URL) return tagged("url", value.href);
  if (types.isBoxedPrimitive(value)) return formOf(walk, unbox(value), undefined, depth);
  if (types.isPromise(value)) throw refuse(walk, REFUSED.promise);
  return undefined;
}

function recordForm(
  walk: Walk,
  value: object,
  prototype: object | null,
  excluding: Excluding | undefined,
  depth: number,
): Json {
  const record = value as Readonly<Record<string, unknown>>;
  const keys = Object.keys(record);
  if (hasSymbolKey(record)) throw refuse(walk, REFUSED.symbolKey);
  if (keys.length === 0 && !isPlainPrototype(prototype)) throw refuse(walk, REFUSED.noFields);

  const form: Record<string, Json> = {};
  for (const key of keys) {
    const inside = excluding === undefined ? undefined : stepInto(excluding, key);
    if (inside === "excluded") continue;
    walk.steps.push(key);
    if (!key.isWellFormed()) throw refuse(walk, REFUSED.loneSurrogateKey);
    setOwn(form, escapeKey(key), formOf(walk, record[key], inside, depth + 1));
    walk.steps.pop();
  }
  return form;
}

function listForm(walk: Walk, list: readonly unknown[], excluding: Excluding | undefined, depth: number): Json {
  const form: Json[] = [];
  // By index: a hole is an `undefined`, where an iterator's callback would skip it.
  for (let index = 0; index < list.length; index++) {
    const inside = excluding === undefined ? undefined : stepInto(excluding, String(index));
    if (inside === "excluded") continue;
    walk.steps.push(index);
    form.push(formOf(walk, list[index], inside, depth + 1));
    walk.steps.pop();
  }
  return form;
}

function mapForm(
  walk: Walk,
  map: ReadonlyMap<unknown, unknown>,
  excluding: Excluding | undefined,
  depth: number,
): Json {
  const entries: Json[] = [];
  let entry = 0;
  for (const [key, item] of Map.prototype.entries.call(map)) {
    const named = typeof key === "string";
    const inside = excluding === undefined || !named ? undefined : stepInto(excluding, key);
    if (inside !== "excluded") {
      walk.steps.push(named ? key : { entry });
      entries.push([formOf(walk, key, undefined, depth + 4), formOf(walk, item, inside, depth + 4)]);
      walk.steps.pop();
    }
    entry++;
  }
  return tagged("map", walk.sortEntries?.(entries) ?? entries);
}

function setForm(walk: Walk, set: ReadonlySet<unknown>, depth: number): Json {
  const entries: Json[] = [];
  for (const item of Set.prototype.values.call(set)) {
    walk.steps.push({ entry: entries.length });
    entries.push(formOf(walk, item, undefined, depth + 3));
    walk.steps.pop();
  }
  return tagged("set", walk.sortEntries?.(entries) ?? entries);
}

function binaryForm(walk: Walk, value: ArrayBuffer | ArrayBufferView): Json {
  const kind = binaryKind(value);
  if (kind === undefined) throw refuse(walk, REFUSED.unknownBinary);
  try {
    return tagged(kind, toBase64(value));
  } catch (cause) {
    throw refuse(walk, { ...REFUSED.transferred, cause });
  }
}

/** Exclusion goes on inside: whoever names a model's fields does not care how the model turns itself into data. */
function toJsonForm(walk: Walk, value: { toJSON(): unknown }, excluding: Excluding | undefined, depth: number): Json {
  let data: unknown;
  try {
    data = value.toJSON();
  } catch (cause) {
    throw refuse(walk, { ...REFUSED.throwingToJson, cause });
  }
  if (data === value) throw refuse(walk, REFUSED.selfReturningToJson);
  return tagged("json", formOf(walk, data, excluding, depth + 2));
}

function textForm(walk: Walk, value: object): Json {
  let text: string;
  try {
    text = String(value);
  } catch (cause) {
    throw refuse(walk, { ...REFUSED.throwingToString, cause });
  }
  if (!text.isWellFormed()) throw refuse(walk, REFUSED.loneSurrogate);
  return tagged("text", text);
}
