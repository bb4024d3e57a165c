import canonicalize from "canonicalize";
import { toDataForm } from "./data-form.js";
import { compileExclude, type Excluding } from "./exclude.js";
import type { Json } from "./tag.js";

export interface CanonicalOptions {
  /** What does not count: names and dotted paths, `*` for one segment. */
  readonly exclude?: readonly string[];
}

/** The one text of a value. For plain JSON it is RFC 8785's, so that any language can make the same. */
export function canonicalText(value: unknown, options: CanonicalOptions = {}): string {
  return canonicalTextOf(value, compileExclude(options.exclude), "payload");
}

/** For those who stand somewhere among the patterns already, or call the value by another name. */
export function canonicalTextOf(value: unknown, excluding: Excluding | undefined, root: string): string {
  return textOf(toDataForm(value, { root, excluding, sortEntries: byText }));
}

/** The same Map or Set, filled in another order, has the same text. */
function byText(entries: Json[]): Json[] {
  return entries
    .map((entry) => ({ entry, text: textOf(entry) }))
    .sort((left, right) => (left.text < right.text ? -1 : left.text > right.text ? 1 : 0))
    .map(({ entry }) => entry);
}

/** `canonicalize` answers `undefined` for what JSON cannot say, and a data form has none of that. */
function textOf(form: Json): string {
  return canonicalize(form) as string;
}
