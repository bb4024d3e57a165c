import { types } from "node:util";

/**
 * A prototype that says nothing about its objects: that of `{}` (in any realm: Jest and `node:vm` have their own), none
 * at all, or the empty one that fast parsers of queries, cookies and routes put in its place.
 */
export function isPlainPrototype(prototype: object | null): boolean {
  if (prototype === null || prototype === Object.prototype) return true;
  if (Object.getPrototypeOf(prototype) !== null) return false;
  return isObjectPrototype(prototype) || Reflect.ownKeys(prototype).length === 0;
}

/** Only an `Object.prototype` has `isPrototypeOf` of its own and inherits nothing. */
function isObjectPrototype(holder: object): boolean {
  return (
    holder === Object.prototype || (Object.getPrototypeOf(holder) === null && Object.hasOwn(holder, "isPrototypeOf"))
  );
}

export function hasToJson(value: object): value is { toJSON(): unknown } {
  return typeof (value as { toJSON?: unknown }).toJSON === "function";
}

/** Is there a `toString` on the object or a class of its, other than the one that every object, array or function has? */
export function hasTextOfItsOwn(value: object): boolean {
  // The common case first, without walking the chain.
  if (value.toString === Object.prototype.toString || typeof value.toString !== "function") return false;
  let holder: object | null = value;
  while (holder !== null && !isObjectPrototype(holder)) {
    if (Object.hasOwn(holder, "toString")) return holder !== Array.prototype && holder !== Function.prototype;
    holder = Object.getPrototypeOf(holder);
  }
  return false;
}

export function hasSymbolKey(value: object): boolean {
  const symbols = Object.getOwnPropertySymbols(value);
  return symbols.length > 0 && symbols.some((symbol) => Object.prototype.propertyIsEnumerable.call(value, symbol));
}

/** The primitive inside `new Number(1)` and its like; a `valueOf` of a subclass has no say. */
export function unbox(value: object): unknown {
  if (types.isNumberObject(value)) return Number.prototype.valueOf.call(value);
  if (types.isStringObject(value)) return String.prototype.valueOf.call(value);
  if (types.isBooleanObject(value)) return Boolean.prototype.valueOf.call(value);
  if (types.isBigIntObject(value)) return BigInt.prototype.valueOf.call(value);
  return Symbol.prototype.valueOf.call(value);
}
