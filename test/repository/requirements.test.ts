import { describe, expect, it } from "vitest";
import { storeConformance } from "../../packages/hapax/src/testing/index.js";
import { repositoryFiles } from "./repository-files.js";

/** What this version promises: the gate, the processor, files and long work. */
const PROMISED: readonly string[] = [...ids("G", 7), ...ids("P", 10), ...ids("F", 7)];

function ids(letter: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);
}

/** Titles of tests and of the groups they stand in, `each` forms included. */
const TITLE =
  /\b(?:describe|it|test)(?:\.\w+)*(?:\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?\(\s*(["'`])((?:\\.|(?!\1).)*)\1/g;

function titlesOf(text: string): string[] {
  return [...text.matchAll(TITLE)].map(([, , title = ""]) => title);
}

/** The kit's cases are tests of every store; their titles are made of these. */
function titlesOfTheKit(): string[] {
  const cases = storeConformance(() => {
    throw new Error("only their names are looked at");
  });
  return cases.map(({ name, rule }) => `${name} (${rule})`);
}

describe("every requirement of this version is named by a test that shows it", () => {
  const written = repositoryFiles("packages/hapax/test")
    .filter(({ path }) => path.endsWith(".test.ts"))
    .flatMap(({ text }) => titlesOf(text));
  const titles = [...written, ...titlesOfTheKit()];

  it.each(PROMISED)("%s", (id) => {
    const word = new RegExp(`\\b${id}\\b`);
    expect(
      titles.some((title) => word.test(title)),
      `no test of packages/hapax/test names ${id} in its title`,
    ).toBe(true);
  });

  it("and titles are read in all their forms, and nothing else is", () => {
    const text = `
      it("A1 one", () => {}); describe('A2, A3: two', () => {}); test.skip(\`A4 three\`, () => {});
      it.each([[1, (2)], [f(3)]])("A5 %s", () => {});
      // A6 in a comment
      expect("A7").toBe("A7");
      edit("A8");`;
    expect(titlesOf(text)).toEqual(["A1 one", "A2, A3: two", "A4 three", "A5 %s"]);
  });
});
