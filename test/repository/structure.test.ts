import { describe, expect, it } from "vitest";
import { importsOf } from "./imports.js";
import { type RepositoryFile, ROOT, readText, repositoryFiles } from "./repository-files.js";
import {
  defaultExports,
  machineTraces,
  reminders,
  runtimeCycles,
  tooLong,
  undeclaredPackages,
  wrongDirections,
  wrongSubpaths,
} from "./structure-rules.js";

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

const files = repositoryFiles();
const library = files.filter(({ path }) => path.startsWith("packages/hapax/src/"));
const manifest = JSON.parse(readText("packages/hapax/package.json")) as Manifest;

describe("the repository keeps its shape", () => {
  it("has been read", () => {
    expect(library.length).toBeGreaterThan(40);
    expect(library.flatMap(importsOf).length).toBeGreaterThan(100);
  });

  it("imports go one way: errors ← keys ← core ← stores and the rest, never sideways", () => {
    expect(wrongDirections(files)).toEqual([]);
  });

  it("the library imports no driver, only node: and its declared dependencies", () => {
    expect(undeclaredPackages(files, Object.keys(manifest.dependencies))).toEqual([]);
  });

  it("no two files need each other to load", () => {
    expect(runtimeCycles(files)).toEqual([]);
  });

  it("files are short enough to have one job", () => {
    expect(tooLong(files)).toEqual([]);
  });

  it("nothing is exported without a name", () => {
    expect(defaultExports(files)).toEqual([]);
  });

  it("a subpath, its folder and its store have one name", () => {
    expect(wrongSubpaths(files, manifest.exports)).toEqual([]);
  });

  it("no file holds a path of a machine or the host of a package registry", () => {
    const { npm_config_registry: registry } = process.env;
    expect(machineTraces(files, [ROOT, ...(registry === undefined ? [] : [new URL(registry).host])])).toEqual([]);
  });

  it("nothing is put off in a comment", () => {
    expect(reminders(files)).toEqual([]);
  });
});

describe("each of these rules catches a violation that is planted", () => {
  const file = (path: string, ...lines: string[]): RepositoryFile => ({ path, text: `${lines.join("\n")}\n` });
  const source = (path: string, ...lines: string[]) => file(`packages/hapax/src/${path}`, ...lines);

  it("an import that is spread over lines, a type, a re-export, a bare and a dynamic one are all read", () => {
    const text = [
      'import {\n  a,\n  type B,\n} from "./a.js";',
      'import type { C } from "./c.js";',
      'export * from "./d.js";',
      'export type * from "./e.js";',
      'import "./f.js";',
      'const late = await import("./g.js");',
      '/**\n * import { h } from "./h.js";\n */',
      '// import { i } from "./i.js";',
    ].join("\n");
    expect(importsOf({ path: "x.ts", text })).toEqual([
      { specifier: "./a.js", typeOnly: false },
      { specifier: "./c.js", typeOnly: true },
      { specifier: "./d.js", typeOnly: false },
      { specifier: "./e.js", typeOnly: true },
      { specifier: "./f.js", typeOnly: false },
      { specifier: "./g.js", typeOnly: false },
    ]);
  });

  it.each([
    ["errors.ts", "./core/record.js", "errors may import nothing, not core"],
    ["keys/tag.ts", "../core/record.js", "keys may import errors, not core"],
    ["core/run.ts", "../stores/memory/store.js", "core may import errors, keys, not stores/memory"],
    ["stores/sqlite/store.ts", "../memory/store.js", "stores/sqlite may import errors, keys, core, not stores/memory"],
    ["testing/kit.ts", "../stores/memory/store.js", "testing may import errors, keys, core, not stores/memory"],
    ["index.ts", "./stores/memory/index.js", "index may import errors, keys, core, not stores/memory"],
    ["core/run.ts", "../../test/keys/values.js", "outside of the library"],
    ["helpers/all.ts", "../errors.js", "helpers has no place"],
  ])("direction: %s imports %s", (path, specifier, message) => {
    const violations = wrongDirections([source(path, `import type { x } from "${specifier}";`)]);
    expect(violations).toEqual([expect.stringContaining(message)]);
  });

  it("direction: what is allowed is not complained about", () => {
    const allowed = source("stores/memory/store.ts", 'import { a } from "../../core/a.js";', 'import "./b.js";');
    expect(wrongDirections([allowed])).toEqual([]);
  });

  it("a driver", () => {
    const driver = source("stores/sqlite/store.ts", 'import Database from "better-sqlite3";', 'import "node:fs";');
    expect(undeclaredPackages([driver], ["canonicalize"])).toEqual([expect.stringContaining("better-sqlite3")]);
  });

  it("a cycle of three files, but not one that types close", () => {
    const a = source("core/a.ts", 'import { b } from "./b.js";');
    const b = source("core/b.ts", 'import { c } from "./c.js";');
    expect(runtimeCycles([a, b, source("core/c.ts", 'import { type a } from "./a.js";')])).toEqual([
      "packages/hapax/src/core/a.ts → packages/hapax/src/core/b.ts → packages/hapax/src/core/c.ts → packages/hapax/src/core/a.ts",
    ]);
    expect(runtimeCycles([a, b, source("core/c.ts", 'import type { a } from "./a.js";')])).toEqual([]);
  });

  it("a line too many", () => {
    const lines = (count: number) => Array.from({ length: count }, () => "//");
    expect(tooLong([source("core/a.ts", ...lines(301)), file("lab/a.ts", ...lines(401))])).toEqual([
      expect.stringContaining("301 lines of at most 300"),
      expect.stringContaining("401 lines of at most 400"),
    ]);
    expect(tooLong([source("core/a.ts", ...lines(300)), file("lab/a.ts", ...lines(400))])).toEqual([]);
  });

  it("a default export", () => {
    expect(
      defaultExports([source("a.ts", "export default 1;"), source("b.ts", "export { a as default };")]),
    ).toHaveLength(2);
  });

  it("a subpath without a source, with another name, and a store that nobody exports", () => {
    const store = [source("stores/sqlite/store.ts"), source("stores/sqlite/index.ts")];
    const target = { default: "./dist/stores/sqlite/index.js" };
    expect(wrongSubpaths(store, { "./sqlite": target })).toEqual([]);
    expect(wrongSubpaths(store, { "./sql": target })).toEqual([expect.stringContaining("must be called sql")]);
    expect(wrongSubpaths(store, {})).toEqual(["stores/sqlite is not exported"]);
    expect(wrongSubpaths(store.slice(0, 1), { "./sqlite": target })).toEqual([
      expect.stringContaining("does not exist"),
      "stores/sqlite has no index.ts",
    ]);
  });

  it("a path of a machine, a registry's host, a tarball's address", () => {
    const planted = [
      ["", "home", "me", "hapax"].join("/"),
      ["C:", "Users"].join("\\"),
      `https://${["registry", "npmjs", "org"].join(".")}`,
      ["https://mirror.example", "-", "hapax-0.1.0.tgz"].join("/"),
      "our-mirror.example:4873",
    ];
    for (const text of planted) {
      expect(machineTraces([{ path: "a.md", text }], ["our-mirror.example"]), text).not.toEqual([]);
    }
    const harmless = "https://example.com/home/page and ~/work/x and ./work/a and packages/hapax/work/b";
    expect(machineTraces([{ path: "a.md", text: harmless }], [])).toEqual([]);
  });

  it("something put off", () => {
    const planted = file("a.ts", "ok", `// ${["TO", "DO"].join("")}: later`);
    expect(reminders([planted])).toEqual([expect.stringMatching(/^a\.ts:2 /)]);
  });
});
