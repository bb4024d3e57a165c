import { existsSync } from "node:fs";
import { join, posix } from "node:path";
import { describe, expect, it } from "vitest";
import { type RepositoryFile, ROOT, repositoryFiles } from "./repository-files.js";

/** Links from page to page. Links to the outside are not followed: a test must not need a network. */
function brokenLinks(pages: readonly RepositoryFile[], exists: (path: string) => boolean): string[] {
  const anchors = new Map(pages.map(({ path, text }) => [path, anchorsOf(text)]));
  return pages.flatMap(({ path, text }) =>
    [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = ""]) => link)
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [file = "", anchor] = link.split("#");
        const target = file === "" ? path : posix.join(posix.dirname(path), file);
        if (!exists(target)) return true;
        return anchor !== undefined && anchors.get(target)?.has(anchor) !== true;
      })
      .map((link) => `${path} links to ${link}, which is not there`),
  );
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, "").replace(/<!--[\s\S]*?-->/g, "");
}

/** As GitHub makes them of headings. */
function anchorsOf(text: string): Set<string> {
  const headings = [...withoutCode(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

describe("links between the documents", () => {
  const pages = repositoryFiles().filter(({ path }) => path.endsWith(".md"));

  it("lead somewhere", () => {
    expect(pages.length).toBeGreaterThan(10);
    expect(brokenLinks(pages, (path) => existsSync(join(ROOT, path)))).toEqual([]);
  });

  it("and one that leads nowhere is found", () => {
    const text =
      "# Two Words\n[a](#two-words) [b](#other) [c](b.md) [d](https://example.com) `[e](f)`\n```\n[g](h)\n```\n";
    expect(brokenLinks([{ path: "docs/a.md", text }], (path) => path === "docs/a.md")).toEqual([
      "docs/a.md links to #other, which is not there",
      "docs/a.md links to b.md, which is not there",
      "docs/a.md links to f, which is not there",
    ]);
  });
});
