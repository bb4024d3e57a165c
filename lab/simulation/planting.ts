import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Library } from "./library.js";
import type { Patch, PlantedBug } from "./planted-bugs.js";

const SOURCES = new URL("../../packages/hapax/src/", import.meta.url);
/** Ignored by git, and inside the repository so that the copies find their dependencies. */
const COPIES = new URL("../../.mutants/", import.meta.url);

export interface Planted {
  readonly library: Library;
  /** Deletes the copy. */
  remove(): Promise<void>;
}

/** Copies the sources, plants the bug in the copy, and loads it. */
export async function plant(bug: PlantedBug): Promise<Planted> {
  const name = bug.name.replaceAll(/[^a-zA-Z]+/g, "-");
  const copy = new URL(`${process.pid}-${name}/`, COPIES);
  const remove = () => rm(copy, { recursive: true, force: true });
  await remove();
  await mkdir(COPIES, { recursive: true });
  await cp(SOURCES, copy, { recursive: true });
  try {
    for (const patch of bug.patches) await apply(copy, patch, bug.name);
    return { library: await load(copy), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function apply(copy: URL, { file, find, replace }: Patch, name: string): Promise<void> {
  const path = fileURLToPath(new URL(file, copy));
  const source = await readFile(path, "utf8");
  const times = source.split(find).length - 1;
  if (times !== 1) {
    throw new Error(`The bug "${name}" cannot be planted: ${JSON.stringify(find)} occurs ${times} times in ${file}.`);
  }
  await writeFile(
    path,
    source.replace(find, () => replace),
  );
}

async function load(copy: URL): Promise<Library> {
  const href = (file: string) => pathToFileURL(fileURLToPath(new URL(file, copy))).href;
  const entry = (await import(/* @vite-ignore */ href("index.ts"))) as Omit<Library, "memoryStore">;
  const memory = (await import(/* @vite-ignore */ href("stores/memory/index.ts"))) as Pick<Library, "memoryStore">;
  const { createHapax, permanent, HapaxError } = entry;
  return { createHapax, permanent, HapaxError, memoryStore: memory.memoryStore };
}
