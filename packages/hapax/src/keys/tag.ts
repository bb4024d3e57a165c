/** What JSON can say. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** The only key of an object that stands for something JSON has no word for: `{"$hapax": ["bigint", "17"]}`. */
export const TAG = "$hapax";

const LOOKS_LIKE_TAG = /^\$+hapax$/;

/** Containers inside containers that a data form may have; a Map takes four of them, a Set three, a toJSON two. */
export const DEPTH_MAX: number = 500;

export function tagged(kind: string, data: Json): Json {
  return { [TAG]: [kind, data] };
}

/** `undefined` says no more than its kind. One object for all of them: data forms are never changed. */
export const UNDEFINED_FORM: Json = Object.freeze({ [TAG]: Object.freeze(["undefined"]) });

/** A user's own key that could be taken for a tag gets one more `$`, so nothing a user writes is ever a tag. */
export function escapeKey(key: string): string {
  return looksLikeTag(key) ? `$${key}` : key;
}

export function unescapeKey(key: string): string {
  return looksLikeTag(key) ? key.slice(1) : key;
}

function looksLikeTag(key: string): boolean {
  return key.startsWith("$") && LOOKS_LIKE_TAG.test(key);
}

/** Assigning `__proto__` would change what the object inherits from, and the key would be lost. */
export function setOwn<Value>(target: Record<string, Value>, key: string, value: Value): void {
  if (key === "__proto__") {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}
