import { describe, expect, it } from "vitest";
import { readText, repositoryFiles } from "./repository-files.js";

describe("ARCHITECTURE.md is about this code", () => {
  const page = readText("ARCHITECTURE.md");
  const sources = repositoryFiles("packages/hapax/src").map(({ path }) => path.slice("packages/hapax/src/".length));

  it("names every file of the engine, and none that is not there", () => {
    const table = page.slice(page.indexOf("## The files of the engine"), page.indexOf("## The states of a record"));
    const named = [...table.matchAll(/`([\w-]+\.ts)`/g)].map(([, name]) => `core/${name}`);
    expect(named.sort()).toEqual(sources.filter((path) => path.startsWith("core/")).sort());
  });

  it("leads through files that are there", () => {
    const way = page.slice(page.indexOf("## Follow one call"), page.indexOf("## The files of the engine"));
    const steps = [...way.matchAll(/^\d\. `([^`]+)`/gm)].map(([, path]) => path);
    expect(steps).toHaveLength(5);
    expect(steps.filter((path) => !sources.includes(path ?? ""))).toEqual([]);
  });

  it("maps every folder", () => {
    const map = page.slice(page.indexOf("## Map"), page.indexOf("Imports go one way"));
    const folders = new Set(sources.filter((path) => path.includes("/")).map((path) => path.split("/")[0]));
    for (const folder of folders) expect(map).toContain(`  ${folder}/ `);
    const stores = new Set(sources.filter((path) => path.startsWith("stores/")).map((path) => path.split("/")[1]));
    for (const store of stores) expect(map).toContain(` ${store}/ `);
  });

  it.each([
    ["core/transitions.ts", "claim (new, or retention over)", "the same grant (a lost reply)"],
    ["core/held-claim.ts", "first send of the claim ", "└ signal aborts"],
  ])("draws what %s draws", (path, from, to) => {
    expect(drawing(page, from, to)).toEqual(drawing(readText(`packages/hapax/src/${path}`), from, to));
  });
});

/** The lines of a drawing without what stands before it: a comment's star, or nothing. */
function drawing(text: string, from: string, to: string): string[] {
  const lines = text.split("\n").map((line) => line.replace(/^ \*/, ""));
  const first = lines.findIndex((line) => line.includes(from));
  const last = lines.findIndex((line, index) => index > first && line.includes(to));
  const drawn = lines.slice(first, last + 1).map((line) => line.trimEnd());
  const indent = Math.min(...drawn.map((line) => line.length - line.trimStart().length));
  return drawn.map((line) => line.slice(indent));
}
