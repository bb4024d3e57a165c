import { importsOf, resolveImport } from "./imports.js";
import type { RepositoryFile } from "./repository-files.js";

export interface PublicFunction {
  readonly name: string;
  readonly path: string;
  /** The comment above it, if there is one. */
  readonly comment: string | undefined;
}

const EXPORT_LIST = /^export \{([^}]*)\} from "([^"]+)"/gm;
const STAR = /^export \* from "([^"]+)"/gm;

/** The functions that an entry point exports, with their doc comments. */
export function publicFunctions(entry: RepositoryFile, files: ReadonlyMap<string, RepositoryFile>): PublicFunction[] {
  // Every re-export is in one of the two forms below, or its functions would be missed.
  const known = [...entry.text.matchAll(EXPORT_LIST), ...entry.text.matchAll(STAR)].length;
  const runtime = importsOf(entry).filter(({ typeOnly }) => !typeOnly).length;
  if (known !== runtime) throw new Error(`${entry.path} exports in a form that this reader does not know`);

  const found: PublicFunction[] = [];
  for (const [, names = "", specifier = ""] of entry.text.matchAll(EXPORT_LIST)) {
    const source = sourceOf(entry, specifier, files);
    const wanted = names
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "" && !name.startsWith("type "));
    found.push(...functionsOf(source).filter(({ name }) => wanted.includes(name)));
  }
  for (const [, specifier = ""] of entry.text.matchAll(STAR))
    found.push(...functionsOf(sourceOf(entry, specifier, files)));
  return found;
}

function sourceOf(
  entry: RepositoryFile,
  specifier: string,
  files: ReadonlyMap<string, RepositoryFile>,
): RepositoryFile {
  const source = files.get(resolveImport(entry, specifier) ?? "");
  if (source === undefined) throw new Error(`${entry.path} exports from ${specifier}, which was not found`);
  return source;
}

function functionsOf({ path, text }: RepositoryFile): PublicFunction[] {
  const declared = /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?^export (?:async )?function (\w+)/gm;
  return [...text.matchAll(declared)].map(([, comment, name = ""]) => ({ name, path, comment }));
}
