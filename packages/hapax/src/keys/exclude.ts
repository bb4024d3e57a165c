import { HapaxError } from "../errors.js";

/**
 * Where a walk stands among the patterns: every pattern that may still match below here, as nodes of one tree.
 * Several, because `a.b` and `*.c` both go on below `a`.
 */
export type Excluding = readonly PatternNode[];

interface PatternNode {
  readonly names: Map<string, PatternNode>;
  /** Where `*` leads. */
  any: PatternNode | undefined;
  /** A pattern ends here: what stands here is left out. */
  ends: boolean;
}

const ANY = Symbol("*");
type Segment = string | typeof ANY;

/**
 * Reads patterns such as `receivedAt`, `meta.*.retryCount`, `price\.eur`. A `*` stands for exactly one segment: an
 * object's key, an array's index or a Map's string key.
 */
export function compileExclude(patterns: readonly string[] | undefined): Excluding | undefined {
  if (patterns === undefined) return undefined;
  if (!Array.isArray(patterns)) {
    throw new HapaxError(
      "invalid-option",
      'exclude must be an array of patterns, such as ["receivedAt", "meta.*.at"].',
    );
  }
  const known = compiled.get(patterns);
  if (known !== undefined && isSame(known.patterns, patterns)) return known.excluding;

  const excluding = patterns.length === 0 ? undefined : [plant(patterns)];
  compiled.set(patterns, { patterns: [...patterns], excluding });
  return excluding;
}

/** A service passes the same array with every call. The copy is there because an array can be changed in place. */
const compiled = new WeakMap<readonly string[], { patterns: readonly string[]; excluding: Excluding | undefined }>();

function isSame(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((pattern, index) => pattern === right[index]);
}

/** One step down: what may still match there, `undefined` when nothing can, or `excluded`. */
export function stepInto(excluding: Excluding, segment: string): Excluding | "excluded" | undefined {
  let next: PatternNode[] | undefined;
  for (const node of excluding) {
    const named = node.names.get(segment);
    if (named?.ends || node.any?.ends) return "excluded";
    if (named !== undefined) {
      next ??= [];
      next.push(named);
    }
    if (node.any !== undefined) {
      next ??= [];
      next.push(node.any);
    }
  }
  return next;
}

function plant(patterns: readonly unknown[]): PatternNode {
  const root = newNode();
  for (const pattern of patterns) {
    let node = root;
    for (const segment of parsePattern(pattern)) node = childOf(node, segment);
    node.ends = true;
  }
  return root;
}

function newNode(): PatternNode {
  return { names: new Map(), any: undefined, ends: false };
}

function childOf(node: PatternNode, segment: Segment): PatternNode {
  if (segment === ANY) {
    node.any ??= newNode();
    return node.any;
  }
  const known = node.names.get(segment);
  if (known !== undefined) return known;
  const child = newNode();
  node.names.set(segment, child);
  return child;
}

function parsePattern(pattern: unknown): Segment[] {
  if (typeof pattern !== "string") throw invalid(pattern, "it must be a string");
  if (pattern === "") throw invalid(pattern, "it is empty");
  return splitAtDots(pattern).map((raw) => parseSegment(pattern, raw));
}

/** Splits at every dot that no backslash protects; escapes stay as they are. */
function splitAtDots(pattern: string): string[] {
  const segments: string[] = [];
  let start = 0;
  for (let index = 0; index < pattern.length; index++) {
    if (pattern[index] === "\\") index++;
    else if (pattern[index] === ".") {
      segments.push(pattern.slice(start, index));
      start = index + 1;
    }
  }
  segments.push(pattern.slice(start));
  return segments;
}

function parseSegment(pattern: string, raw: string): Segment {
  if (raw === "*") return ANY;
  if (raw === "") throw invalid(pattern, "it has an empty segment");
  let name = "";
  for (let index = 0; index < raw.length; index++) {
    const character = raw.charAt(index);
    // Read as a name it would match nothing, and the field would change the key without anybody noticing.
    if (character === "*") throw invalid(pattern, "* stands for a whole segment; for the character write \\*");
    if (character === "\\") {
      index++;
      if (index === raw.length) throw invalid(pattern, "it ends with a backslash; for the character write \\\\");
      if (!".*\\".includes(raw.charAt(index))) throw invalid(pattern, "a backslash stands only before . * or \\");
    }
    name += raw.charAt(index);
  }
  return name;
}

function invalid(pattern: unknown, reason: string): HapaxError {
  const shown = typeof pattern === "string" ? JSON.stringify(pattern.slice(0, 80)) : `of type ${typeof pattern}`;
  return new HapaxError(
    "invalid-option",
    `The exclude pattern ${shown} cannot work: ${reason}. Patterns look like "receivedAt" or "meta.*.retryCount".`,
  );
}
