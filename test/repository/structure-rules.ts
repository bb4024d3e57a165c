import { importsOf, resolveImport } from "./imports.js";
import { isCode, type RepositoryFile } from "./repository-files.js";

/** The rules of the repository. Each takes files and answers what is wrong with them, in words. */

const SOURCE = "packages/hapax/src/";
const LINES_MAX = { source: 300, other: 400 };

// --- direction ---

/** Above keys, core and errors, and beside each other. */
const OUTER: ReadonlySet<string> = new Set(["testing", "locks", "http", "webhooks", "queues", "observe"]);

/** The areas that files of `area` may import; undefined when nobody knows the area. */
function importable(area: string): readonly string[] | undefined {
  switch (area) {
    case "errors":
      return [];
    case "keys":
      return ["errors"];
    case "core":
      return ["errors", "keys"];
    case "index":
      return ["errors", "keys", "core"];
    default:
      return OUTER.has(area) || area.startsWith("stores/") ? ["errors", "keys", "core"] : undefined;
  }
}

/** `errors` and `index` are files; the other areas are folders, and every store is one of its own. */
function areaOf(path: string): string {
  const inside = path.slice(SOURCE.length);
  const [top = "", second = ""] = inside.split("/");
  return top === "stores" ? `stores/${second}` : top.replace(/\.ts$/, "");
}

/** errors ← keys ← core ← everything else, and nothing sideways. Types count: they are knowledge, too. */
export function wrongDirections(files: readonly RepositoryFile[]): string[] {
  return sourceFiles(files).flatMap((file) => {
    const area = areaOf(file.path);
    const allowed = importable(area);
    if (allowed === undefined) return [`${file.path}: ${area} has no place in the layout of ARCHITECTURE.md`];
    return importsOf(file).flatMap(({ specifier }) => {
      const target = resolveImport(file, specifier);
      if (target === undefined) return [];
      if (!target.startsWith(SOURCE)) return [`${file.path} imports ${specifier}, which is outside of the library`];
      const other = areaOf(target);
      if (other === area || allowed.includes(other)) return [];
      return [`${file.path} imports ${specifier}: ${area} may import ${allowed.join(", ") || "nothing"}, not ${other}`];
    });
  });
}

/** The library imports no driver: only what Node has and what its package.json declares. */
export function undeclaredPackages(files: readonly RepositoryFile[], declared: readonly string[]): string[] {
  return sourceFiles(files).flatMap((file) =>
    importsOf(file)
      .filter(({ specifier }) => !specifier.startsWith(".") && !specifier.startsWith("node:"))
      .filter(({ specifier }) => !declared.includes(specifier))
      .map(({ specifier }) => `${file.path} imports ${specifier}, which is neither node: nor a declared dependency`),
  );
}

/** Files that need each other to load. Each cycle is shown once, from the file that comes first. */
export function runtimeCycles(files: readonly RepositoryFile[]): string[] {
  const edges = new Map(files.filter(isCode).map((file) => [file.path, runtimeImports(file)]));
  const cycles: string[] = [];
  const finished = new Set<string>();

  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start !== -1) cycles.push([...trail.slice(start), path].join(" → "));
    if (start !== -1 || finished.has(path)) return;
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    finished.add(path);
  };
  for (const path of edges.keys()) visit(path, []);
  return cycles;
}

function runtimeImports(file: RepositoryFile): string[] {
  return importsOf(file)
    .filter(({ typeOnly }) => !typeOnly)
    .map(({ specifier }) => resolveImport(file, specifier))
    .filter((path) => path !== undefined);
}

// --- form ---

export function tooLong(files: readonly RepositoryFile[]): string[] {
  return files.filter(isCode).flatMap(({ path, text }) => {
    const max = path.startsWith(SOURCE) ? LINES_MAX.source : LINES_MAX.other;
    const lines = text.split("\n").length - 1;
    return lines > max ? [`${path} has ${lines} lines of at most ${max}: look for its second job`] : [];
  });
}

/** Tools ask for one in their configuration files; nobody else does. */
export function defaultExports(files: readonly RepositoryFile[]): string[] {
  return files
    .filter(isCode)
    .filter(({ path }) => !path.endsWith(".config.ts"))
    .filter(({ text }) => /^export default\b|^export \{[^}]*\bas default\b/m.test(text))
    .map(({ path }) => `${path} has a default export: give it a name`);
}

/** One name, everywhere: `hapax/sqlite` is `src/stores/sqlite/index.ts`, and each store folder is exported. */
export function wrongSubpaths(files: readonly RepositoryFile[], exported: Readonly<Record<string, unknown>>): string[] {
  const paths = new Set(files.map(({ path }) => path));
  const wrong: string[] = [];
  const indexes = new Set<string>();
  for (const [subpath, target] of Object.entries(exported)) {
    if (subpath === "./package.json") continue;
    const index = sourceOf(target);
    indexes.add(index);
    const folder = index.split("/").at(-2);
    const name = subpath === "." ? "src" : subpath.slice(2);
    if (!paths.has(index)) wrong.push(`${subpath} is exported from ${index}, which does not exist`);
    else if (!index.endsWith("/index.ts") || folder !== name)
      wrong.push(`${subpath} is exported from ${index}: its folder must be called ${name}, its file index.ts`);
  }
  const stores = new Set([...paths].flatMap((path) => /\/src\/stores\/([^/]+)\//.exec(path)?.[1] ?? []));
  for (const store of stores) {
    for (const name of ["index.ts", "store.ts"]) {
      if (!paths.has(`${SOURCE}stores/${store}/${name}`)) wrong.push(`stores/${store} has no ${name}`);
    }
    if (!indexes.has(`${SOURCE}stores/${store}/index.ts`)) wrong.push(`stores/${store} is not exported`);
  }
  return wrong;
}

function sourceOf(target: unknown): string {
  const { default: file } = target as { readonly default: string };
  return file.replace("./dist/", SOURCE).replace(/\.js$/, ".ts");
}

// --- text ---

/** Put together here, so that this file does not hold what it looks for. */
const REGISTRY_HOSTS = [
  ["registry", "npmjs", "org"],
  ["registry", "yarnpkg", "com"],
  ["registry", "npmmirror", "com"],
  ["npm", "pkg", "github", "com"],
].map((parts) => parts.join("."));
const TARBALL_URL = /https?:\/\/[^\s"']+\/-\/[^\s"']+\.tgz/;
const MACHINE_PATH = /(?<![\w.~-])(?:\/(?:home|Users|root|work|workspaces?|mnt|private)\/|[A-Z]:\\)[\w.-]+/;
const REMINDER = new RegExp(`\\b(?:${["TO", "DO"].join("")}|${["FIX", "ME"].join("")})\\b`);

/** Paths and hosts of one machine, in a file that travels to others. `own` are those of the machine that runs this. */
export function machineTraces(files: readonly RepositoryFile[], own: readonly string[]): string[] {
  return files.flatMap(({ path, text }) => {
    const traces = [
      MACHINE_PATH.exec(text)?.[0],
      TARBALL_URL.exec(text)?.[0],
      ...[...REGISTRY_HOSTS, ...own].filter((trace) => text.includes(trace)),
    ];
    return traces.filter((trace) => trace !== undefined).map((trace) => `${path} holds ${trace}`);
  });
}

export function reminders(files: readonly RepositoryFile[]): string[] {
  return files
    .filter(({ path }) => path !== "package-lock.json")
    .flatMap(({ path, text }) =>
      text
        .split("\n")
        .flatMap((line, index) =>
          REMINDER.test(line) ? [`${path}:${index + 1} puts something off: ${line.trim()}`] : [],
        ),
    );
}

function sourceFiles(files: readonly RepositoryFile[]): RepositoryFile[] {
  return files.filter((file) => file.path.startsWith(SOURCE) && isCode(file));
}
