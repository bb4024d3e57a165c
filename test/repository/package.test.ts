import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { bin, mustRun, requireBuild, run, temporaryFolder } from "./commands.js";
import { ROOT, readText, repositoryFiles } from "./repository-files.js";

// npm and the type checkers are slow where many tests run at once.
vi.setConfig({ testTimeout: 60_000 });

/** The package as npm would publish it, and a stranger's project that installs it. */
let folder: string;
let tarball: string;
let packed: readonly string[];
let consumer: string;

interface PackReport {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

const manifest = JSON.parse(readText("packages/hapax/package.json")) as {
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
};
const subpaths = Object.keys(manifest.exports)
  .filter((subpath) => subpath !== "./package.json")
  .map((subpath) => subpath.replace(/^\./, "hapax"));

beforeAll(async () => {
  requireBuild();
  folder = temporaryFolder("package");
  const report = await pack(join(ROOT, "packages/hapax"));
  tarball = join(folder, report.filename);
  packed = report.files.map(({ path }) => path).sort();
  consumer = await install();
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function pack(source: string, ...options: readonly string[]): Promise<PackReport> {
  const stdout = await mustRun(source, "npm", "pack", "--json", "--pack-destination", folder, ...options);
  // A script's own lines stand before the JSON.
  const [report] = JSON.parse(stdout.slice(stdout.indexOf("[\n"))) as PackReport[];
  if (report === undefined) throw new Error(`npm pack reported nothing:\n${stdout}`);
  return report;
}

/** Offline, and from an empty cache: the dependency comes as a tarball of what the workspace has installed. */
async function install(): Promise<string> {
  const project = join(folder, "consumer");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{ "name": "consumer", "private": true, "type": "module" }\n');
  const dependencies = await Promise.all(
    Object.keys(manifest.dependencies).map((name) => pack(join(ROOT, "node_modules", name), "--ignore-scripts")),
  );
  await mustRun(
    project,
    "npm",
    ...["install", tarball, ...dependencies.map(({ filename }) => join(folder, filename))],
    ...["--offline", "--cache", join(folder, "cache"), "--ignore-scripts", "--no-audit", "--no-fund"],
  );
  return project;
}

describe("the tarball", () => {
  it("holds the readme, the license and the compiled sources, and nothing else", () => {
    const sources = repositoryFiles("packages/hapax/src").map(({ path }) =>
      path.slice("packages/hapax/src/".length).replace(/\.ts$/, ""),
    );
    const expected = [
      ...["LICENSE", "README.md", "package.json"],
      ...sources.flatMap((source) => [".js", ".js.map", ".d.ts"].map((ending) => `dist/${source}${ending}`)),
    ];
    expect(packed, "if files are left of an older build: npm run clean && npm run build").toEqual(expected.sort());
  });

  it("has source maps that hold their sources, because src is not in it", () => {
    const maps = packed.filter((path) => path.endsWith(".js.map"));
    expect(maps.length).toBeGreaterThan(40);
    const empty = maps.filter((path) => {
      const text = readFileSync(join(consumer, "node_modules/hapax", path), "utf8");
      const { sources, sourcesContent } = JSON.parse(text) as { sources: string[]; sourcesContent?: string[] };
      return sourcesContent?.length !== sources.length;
    });
    expect(empty).toEqual([]);
  });

  it("leaves no copies behind in the package's folder", () => {
    const names = readdirSync(join(ROOT, "packages/hapax"));
    expect(names.filter((name) => name === "README.md" || name === "LICENSE" || name.endsWith(".tgz"))).toEqual([]);
  });

  it("satisfies publint", async () => {
    const bytes = readFileSync(tarball);
    const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
    const { messages } = await publint({ pack: { tarball: buffer }, strict: true });
    expect(messages).toEqual([]);
  });

  it("satisfies arethetypeswrong", async () => {
    // hapax is ESM only. The profile leaves out `node10`, which knows no `exports`, and `node16` from CommonJS, where it
    // warns that require() of an ES module is an error: since Node 20.19, our oldest, it is none. Tests below show it.
    const { code, output } = await run(folder, bin("attw"), tarball, "--profile", "esm-only", "--no-color");
    expect(code, output).toBe(0);
  });
});

describe("a stranger's project runs every subpath", () => {
  const use = `
    const hapax = createHapax({ store: memoryStore() });
    let runs = 0;
    const charge = () => hapax.run({ scope: "payments", key: "p1" }, () => ({ receipt: ++runs }));
    const outcomes = [await charge(), await charge()];
    await hapax.close();
    const ok = runs === 1 && outcomes[1].replayed && outcomes[1].value.receipt === 1 && typeof sqliteStore === "function";
    console.log(JSON.stringify({ ok, loaded: loaded.map((module) => Object.keys(module).length > 0) }));
  `;

  it("with import", async () => {
    const program = `
      ${subpaths.map((name, index) => `import * as module${index} from "${name}";`).join("\n")}
      import { createHapax } from "hapax";
      import { memoryStore } from "hapax/memory";
      import { sqliteStore } from "hapax/sqlite";
      const loaded = [${subpaths.map((_, index) => `module${index}`).join(", ")}];
      ${use}`;
    writeFileSync(join(consumer, "use.mjs"), program);
    const stdout = await mustRun(consumer, process.execPath, "use.mjs");
    expect(JSON.parse(stdout)).toEqual({ ok: true, loaded: subpaths.map(() => true) });
  });

  it("with require() from CommonJS", async () => {
    const program = `
      const loaded = ${JSON.stringify(subpaths)}.map((name) => require(name));
      const { createHapax } = require("hapax");
      const { memoryStore } = require("hapax/memory");
      const { sqliteStore } = require("hapax/sqlite");
      (async () => { ${use} })();`;
    writeFileSync(join(consumer, "use.cjs"), program);
    const stdout = await mustRun(consumer, process.execPath, "use.cjs");
    expect(JSON.parse(stdout)).toEqual({ ok: true, loaded: subpaths.map(() => true) });
  });
});

describe("a stranger's project type-checks against every subpath, its library's types included", () => {
  const statements = `
    export async function charge(cents: number): Promise<number> {
      await using hapax = createHapax({ store: memoryStore(), lease: "30s" });
      const out = await hapax.run({ scope: "payments", key: ["card", cents] }, async (ctx) => {
        ctx.signal.throwIfAborted();
        return cents;
      });
      // @ts-expect-error a value keeps its type
      const text: string = out.value;
      // @ts-expect-error a misspelt option is an error
      await hapax.run({ scope: "payments", key: "k", leese: "30s" }, () => text);
      return out.value;
    }
    export const code: HapaxError["code"] = "in-progress";
    export const parts: readonly unknown[] = [sqliteStore, manualClock];
  `;
  const imports = `
    import { createHapax, type HapaxError } from "hapax";
    import { memoryStore } from "hapax/memory";
    import { sqliteStore } from "hapax/sqlite";
    import { manualClock } from "hapax/testing";
  `;

  it.each([
    { module: "NodeNext", moduleResolution: "NodeNext", files: ["use.ts", "use.cts"] },
    { module: "ESNext", moduleResolution: "Bundler", files: ["use.ts"] },
  ])("with moduleResolution $moduleResolution", async ({ files, ...resolution }) => {
    const types = join(consumer, "node_modules/@types");
    rmSync(types, { recursive: true, force: true });
    symlinkSync(join(ROOT, "node_modules/@types"), types, "junction");
    for (const file of files) writeFileSync(join(consumer, file), imports + statements);
    const compilerOptions = {
      ...resolution,
      target: "ES2022",
      lib: ["ES2022", "ESNext.Disposable"],
      types: ["node"],
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
    };
    writeFileSync(join(consumer, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
    const { code, output } = await run(consumer, bin("tsc"), "-p", "tsconfig.json");
    expect(code, output).toBe(0);
  });
});
