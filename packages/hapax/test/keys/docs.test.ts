import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { canonicalText } from "../../src/keys/canonical.js";
import { contentKey } from "../../src/keys/content-key.js";
import { fileKey } from "../../src/keys/file-key.js";

const page = readFileSync(new URL("../../../../docs/keys.md", import.meta.url), "utf8");

describe("P4: the table of text forms in docs/keys.md is true", () => {
  const table = page.slice(page.indexOf("### Text forms"), page.indexOf("### What counts as the same"));
  const rows = [...table.matchAll(/^\| `(.+)` \| `(.+)` \|$/gm)];

  it("and has its rows", () => {
    expect(rows.length).toBeGreaterThan(15);
  });

  it.each(rows.map(([, value = "", text = ""]) => [value, text]))("%s is %s", (value, text) => {
    expect(canonicalText(runInThisContext(`(${value})`))).toBe(text);
  });
});

describe("P2, P3, F1: the examples in docs/keys.md are true", () => {
  const blocks = [...page.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code = ""]) => code);
  const claims = blocks.flatMap((code) => {
    const setting = code.split("\n").filter((line) => line.startsWith("const "));
    return [...code.matchAll(/^(.+); \/\/ → (.+)$/gm)].map(([, expression = "", result = ""]) => ({
      expression,
      result,
      setting: setting.join("\n"),
    }));
  });

  it("and there are some", () => {
    expect(claims.length).toBeGreaterThan(5);
  });

  it.each(claims)("$expression", async ({ expression, result, setting }) => {
    const example = runInThisContext(`async (contentKey, fileKey) => { ${setting}\n return ${expression}; }`);
    expect(await example(contentKey, fileKey)).toBe(JSON.parse(result));
  });
});
