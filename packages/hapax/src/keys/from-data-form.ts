import { HapaxError } from "../errors.js";
import { fromBase64 } from "./binary.js";
import { DEPTH_MAX, type Json, type JsonObject, setOwn, TAG, unescapeKey } from "./tag.js";

/** The value whose data form this is. What came from a toJSON or a toString comes back as the data it gave. */
export function fromDataForm(form: Json): unknown {
  try {
    return read(form, 1);
  } catch (error) {
    if (error instanceof HapaxError) throw error;
    // A text that BigInt, URL or a typed array does not take.
    throw unreadable("has data that does not fit its kind", error);
  }
}

function read(form: Json, depth: number): unknown {
  if (form === null || typeof form !== "object") return form;
  // One level more than what is written: a bigint in the last one is a tag below it.
  if (depth > DEPTH_MAX + 1) throw unreadable(`nests deeper than ${DEPTH_MAX} levels`);
  if (isList(form)) return form.map((item) => read(item, depth + 1));
  if (Object.hasOwn(form, TAG)) return untagged(form, depth);

  const value: Record<string, unknown> = {};
  for (const key of Object.keys(form)) setOwn(value, unescapeKey(key), read(form[key] ?? null, depth + 1));
  return value;
}

function untagged(form: JsonObject, depth: number): unknown {
  const tag = form[TAG];
  if (!isList(tag) || Object.keys(form).length !== 1) throw unreadable("has a tag of another shape");
  const [kind, data] = tag;
  switch (kind) {
    case "undefined":
      return undefined;
    case "bigint":
      return BigInt(text(data));
    case "date":
      return date(text(data));
    case "url":
      return new URL(text(data));
    case "text":
      return text(data);
    case "json":
      return read(data ?? null, depth + 2);
    case "set":
      return new Set(list(data).map((item) => read(item, depth + 3)));
    case "map":
      return new Map(list(data).map((entry) => pair(entry, depth + 4)));
    default:
      return binary(text(kind), text(data));
  }
}

function pair(entry: Json, depth: number): [unknown, unknown] {
  const [key = null, item = null] = list(entry);
  return [read(key, depth), read(item, depth)];
}

function date(iso: string): Date {
  const value = new Date(iso);
  if (Number.isNaN(value.getTime())) throw unreadable("has data that does not fit its kind");
  return value;
}

function binary(kind: string, base64: string): object {
  const value = fromBase64(kind, base64);
  if (value === undefined) throw unreadable(`has the unknown kind ${JSON.stringify(kind.slice(0, 40))}`);
  return value;
}

function isList(form: Json | undefined): form is readonly Json[] {
  return Array.isArray(form);
}

function list(data: Json | undefined): readonly Json[] {
  if (!isList(data)) throw unreadable("has a tag of another shape");
  return data;
}

function text(data: Json | undefined): string {
  if (typeof data !== "string") throw unreadable("has a tag of another shape");
  return data;
}

function unreadable(found: string, cause?: unknown): HapaxError {
  return new HapaxError(
    "unserializable",
    `The stored data ${found}, and cannot be read back. Was it written by a newer version of hapax, or by another program?`,
    { cause },
  );
}
