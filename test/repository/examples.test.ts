import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bin, type Ended, folderWithWorkspaceModules, run } from "./commands.js";
import { type Example, examplesOf } from "./markdown-examples.js";
import { publicFunctions } from "./public-functions.js";
import { type RepositoryFile, readText, repositoryFiles } from "./repository-files.js";

const pages: readonly RepositoryFile[] = [
  { path: "README.md", text: readText("README.md") },
  ...repositoryFiles("docs").filter(({ path }) => path.endsWith(".md")),
];
const examples = pages.flatMap(examplesOf);

/** Compiles examples against the built package, as a user's strict project would, and leaves the programs in `folder`. */
async function compile(folder: string, programs: readonly Example[]): Promise<Ended> {
  const compilerOptions = {
    ...{ target: "ES2022", module: "NodeNext", moduleResolution: "NodeNext", lib: ["ES2023", "ESNext.Disposable"] },
    ...{ types: ["node"], strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
    ...{ skipLibCheck: true, rootDir: "." },
  };
  const files = programs.map(({ name }) => `${folderOf(name)}/example.ts`);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  for (const { name, program } of programs) {
    mkdirSync(join(folder, folderOf(name)));
    writeFileSync(join(folder, folderOf(name), "example.ts"), program);
  }
  return run(folder, bin("tsc"), "-p", "tsconfig.json");
}

const folderOf = (name: string): string => name.replace(/[^\w]/g, "-");

describe("the examples in README.md and docs/", () => {
  let folder: string;
  let compiled: Ended;

  beforeAll(async () => {
    folder = folderWithWorkspaceModules("examples");
    compiled = await compile(folder, examples);
  }, 60_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("are there", () => {
    expect(examples.length).toBeGreaterThan(10);
    expect(pages.filter((page) => examplesOf(page).length > 0).map(({ path }) => path)).toContain("README.md");
  });

  it("compile", () => {
    expect(compiled.code, compiled.output).toBe(0);
  });

  const runnable = examples.filter(({ notRun }) => notRun === undefined);
  it.concurrent.each(runnable.map(({ name }) => name))("%s runs, ends by itself and is as it says", async (name) => {
    const { code, output } = await run(join(folder, folderOf(name)), process.execPath, "example.js");
    expect(code, output).toBe(0);
  });
});

describe("an example that is wrong is caught", () => {
  let folder: string;
  beforeAll(() => {
    folder = folderWithWorkspaceModules("wrong-examples");
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const page = (...lines: string[]): RepositoryFile => ({ path: "docs/planted.md", text: `${lines.join("\n")}\n` });
  const start = ["<!-- examples start with", "import { contentKey } from 'hapax';", "-->"];

  it("a block goes on from the page's start, unless it imports for itself", () => {
    const found = examplesOf(page(...start, "```ts", "contentKey(1);", "```", "```ts", "import 'hapax';", "```"));
    expect(found.map(({ name }) => name)).toEqual(["docs/planted.md:4", "docs/planted.md:7"]);
    expect(found.map(({ program }) => program.includes("contentKey"))).toEqual([true, false]);
  });

  it("why a block is not run is said above it", () => {
    const [example] = examplesOf(page("<!-- compiled, not run: it needs a bank -->", "```ts", "pay();", "```"));
    expect(example?.notRun).toBe("it needs a bank");
  });

  it("a name that hapax does not export, a claim that is not so, and an error that does not come", async () => {
    const unknown = examplesOf(page("```ts", "import { createHapex } from 'hapax';", "```"));
    const claims = examplesOf(
      page(
        ...start,
        ...["```ts", "contentKey(1) === contentKey(1); // → true", "```"],
        ...["```ts", "contentKey(1) === contentKey(2); // → true", "```"],
        ...["```ts", "await Promise.resolve(contentKey(1)); // throws unserializable", "```"],
      ),
    );
    expect((await compile(folder, unknown)).output).toContain("createHapex");
    rmSync(join(folder, folderOf("docs/planted.md:1")), { recursive: true });
    expect((await compile(folder, claims)).output).toBe("");
    const ended = claims.map(({ name }) => run(join(folder, folderOf(name)), process.execPath, "example.js"));
    expect((await Promise.all(ended)).map(({ code }) => code)).toEqual([0, 1, 1]);
  });

  it("a claim that cannot be checked is an error", () => {
    expect(() => examplesOf(page("```ts", "const a = 1; // → 1", "```"))).toThrow("after an expression");
  });
});

describe("every public function has an example in its doc comment", () => {
  const sources = new Map(repositoryFiles("packages/hapax/src").map((file) => [file.path, file]));
  const { exports } = JSON.parse(readText("packages/hapax/package.json")) as {
    exports: Record<string, { default?: string }>;
  };
  const entries = Object.values(exports)
    .map((target) => target.default?.replace("./dist/", "packages/hapax/src/").replace(/\.js$/, ".ts"))
    .map((path) => sources.get(path ?? ""))
    .filter((entry) => entry !== undefined);
  const functions = entries.flatMap((entry) => publicFunctions(entry, sources));

  it("and they were found", () => {
    expect(functions.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["createHapax", "contentKey", "fileKey", "memoryStore", "sqliteStore", "manualClock"]),
    );
  });

  it("none is without", () => {
    const without = functions.filter(({ comment }) => comment?.includes("@example") !== true);
    expect(without.map(({ name, path }) => `${name} in ${path} has no @example`)).toEqual([]);
  });

  it("and one without would be found", () => {
    const entry = { path: "src/index.ts", text: 'export { a, b, type C } from "./a.js";\n' };
    const text =
      "/** @example a(); */\nexport function a() {}\n\nexport async function b() {}\nexport function d() {}\n";
    const found = publicFunctions(entry, new Map([["src/a.ts", { path: "src/a.ts", text }]]));
    expect(found.map(({ name, comment }) => [name, comment?.includes("@example") ?? false])).toEqual([
      ["a", true],
      ["b", false],
    ]);
  });
});
