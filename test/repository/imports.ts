import { posix } from "node:path";
import type { RepositoryFile } from "./repository-files.js";

export interface Import {
  /** As it is written: `./store.js`, `node:fs`, `canonicalize`. */
  readonly specifier: string;
  /** Gone once compiled. `import { type A }` is not: it leaves `import {}` behind. */
  readonly typeOnly: boolean;
}

/** The clause between `import` and `from` is made of names, braces, commas and stars, so nothing else can match. */
const FROM = /^(?:import|export)\s+(type\s+)?(?:[\w$*{][\w$*{},\s]*)\s*from\s*["']([^"']+)["']/gm;
const BARE = /^import\s*["']([^"']+)["']/gm;
const DYNAMIC = /\b(?:import|require)\(\s*["']([^"']+)["']\s*\)/g;

/** Reads a file's imports. Statements begin at the start of a line: Biome sees to that, and comments never do. */
export function importsOf({ text }: RepositoryFile): Import[] {
  const code = text.replace(/^\s*(?:\*|\/\*|\/\/).*$/gm, "");
  return [
    ...[...code.matchAll(FROM)].map(([, type, specifier = ""]) => ({ specifier, typeOnly: type !== undefined })),
    ...[...code.matchAll(BARE), ...code.matchAll(DYNAMIC)].map(([, specifier = ""]) => ({
      specifier,
      typeOnly: false,
    })),
  ];
}

/** The repository file that a relative import means; undefined for a package. */
export function resolveImport(importer: RepositoryFile, specifier: string): string | undefined {
  if (!specifier.startsWith(".")) return undefined;
  return posix.join(posix.dirname(importer.path), specifier).replace(/\.js$/, ".ts");
}
