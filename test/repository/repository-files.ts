import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A file by its path from the repository's root, with `/` between folders. */
export interface RepositoryFile {
  readonly path: string;
  readonly text: string;
}

export const ROOT: string = fileURLToPath(new URL("../..", import.meta.url)).replace(/[\\/]$/, "");

/** What `.gitignore` leaves out. */
const IGNORED_FOLDERS: ReadonlySet<string> = new Set(["node_modules", "dist", ".git", "coverage", ".mutants"]);
const IGNORED_FILES = /\.(db|db-wal|db-shm|tgz)$|^packages\/hapax\/(README\.md|LICENSE)$/;

/** Everything that belongs to the repository under `folder`. */
export function repositoryFiles(folder: string = "."): RepositoryFile[] {
  const files: RepositoryFile[] = [];
  for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
    const path = folder === "." ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory() && !IGNORED_FOLDERS.has(entry.name)) files.push(...repositoryFiles(path));
    if (entry.isFile() && !IGNORED_FILES.test(path)) files.push({ path, text: readText(path) });
  }
  return files;
}

export function readText(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

export function isCode({ path }: RepositoryFile): boolean {
  return /\.[cm]?[jt]sx?$/.test(path);
}

/** The rows of the first Markdown table whose header starts with these cells; cells without their back-ticks. */
export function tableRows(markdown: string, ...head: readonly string[]): string[][] {
  const lines = markdown.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`| ${head.join(" | ")} |`));
  if (start === -1) throw new Error(`There is no table that starts with: | ${head.join(" | ")} |`);
  const rows: string[][] = [];
  for (const line of lines.slice(start + 2)) {
    if (!line.startsWith("|")) break;
    rows.push(
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim().replace(/^`([^`]*)`$/, "$1")),
    );
  }
  return rows;
}
