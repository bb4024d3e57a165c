import type { RepositoryFile } from "./repository-files.js";

/**
 * The examples of a page, as whole programs. Every block marked `ts` is one:
 *
 * - A block that imports something stands alone: it is the program.
 * - Any other block goes on from what the page says, in a comment that readers do not see, all of them start with:
 *
 *       <!-- examples start with
 *       import { createHapax } from "hapax";
 *       -->
 *
 * - `expression; // → value` is a claim, and fails if it is not so. `expression; // throws some-code` likewise.
 * - A block that cannot run without the world around it has the line `<!-- compiled, not run: why -->` above it.
 */
export interface Example {
  /** Where it stands: `docs/guide.md:42`. */
  readonly name: string;
  readonly program: string;
  /** Why it is compiled and not run. */
  readonly notRun: string | undefined;
}

const PART =
  /^<!-- examples start with\n([\s\S]*?)^-->$|(?:^<!-- compiled, not run: (.+) -->\n)?^```ts\n([\s\S]*?)^```$/gm;

const CHECKS = `import { deepStrictEqual, rejects } from "node:assert/strict";
const $is = (actual: unknown, expected: unknown): void => deepStrictEqual(actual, expected);
const $throws = (call: () => Promise<unknown>, code: string): Promise<void> => rejects(call, { code });
`;

export function examplesOf({ path, text }: RepositoryFile): Example[] {
  const examples: Example[] = [];
  let start = "";
  for (const { 0: whole, 1: newStart, 2: notRun, 3: code = "", index } of text.matchAll(PART)) {
    if (newStart !== undefined) {
      start = newStart;
      continue;
    }
    const line = text.slice(0, index + whole.indexOf("```ts")).split("\n").length;
    const standsAlone = /^import\b/m.test(code);
    examples.push({ name: `${path}:${line}`, program: CHECKS + checked(standsAlone ? code : start + code), notRun });
  }
  return examples;
}

/** Turns claims in comments into checks. */
function checked(code: string): string {
  return code
    .replace(/^( *)(.+); \/\/ → (.+)$/gm, (line, indent: string, expression: string, value: string) => {
      requireExpression(line, expression);
      return `${indent}$is(${expression}, ${value});`;
    })
    .replace(/^( *)await (.+); \/\/ throws ([a-z-]+)$/gm, '$1await $throws(async () => $2, "$3");');
}

function requireExpression(line: string, expression: string): void {
  if (!/^(const|let|return|import|export)\b/.test(expression)) return;
  throw new Error(`A claim must stand after an expression, to be checked: ${line}`);
}
